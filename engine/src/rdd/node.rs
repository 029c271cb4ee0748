//! The untyped lineage graph behind the typed handles.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};

use millstream_planner::ids::{NodeId, ShuffleId};
use millstream_planner::lineage::Partitioning;
use millstream_planner::stages::Determinism;

use super::op::{Code, OpenFn, WriteFn};
use super::persist::PersistLevel;
use super::prepare::Prepare;
use super::spent::Spent;
use crate::context::ContextInner;

/// One operation: who it reads and the code that does it.
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) name: String,
    pub(crate) partitions: u32,
    pub(crate) inputs: Vec<Input>,
    pub(crate) code: Code<OpenFn>,
    pub(crate) layout: Layout,
    pub(crate) determinism: Determinism,
    /// The number of narrow operations below this one in the same task, itself included.
    pub(crate) depth: u32,
    /// A `PersistLevel` as a number; 0 is none.
    persist: AtomicU8,
    /// What must be computed before a partition can be opened.
    pub(crate) prepare: Option<Arc<dyn Prepare>>,
    pub(crate) spent: Spent,
    pub(crate) context: Weak<ContextInner>,
}

/// How the rows of a node lie.
#[derive(Clone, Default, Debug)]
pub(crate) struct Layout {
    /// Over partitions, where known.
    pub(crate) partitioning: Option<Partitioning>,
    /// Within a partition: in the order of the partition hash of their keys. Such data joins by
    /// merging. Implies that equal keys share a partition.
    pub(crate) hash_ordered: bool,
}

/// An edge to what a node reads.
#[derive(Clone)]
pub(crate) enum Input {
    Narrow(Arc<Node>),
    Shuffle(Arc<Shuffle>),
    /// A shuffle as a node knows it that was sent to an executor: what lies behind it stayed with the
    /// driver.
    Sent {
        shuffle: ShuffleId,
        maps: u32,
    },
}

/// An exchange: the node it carries the rows of, and the code of its map side. Dropped with its last
/// reader, and its outputs with it.
pub(crate) struct Shuffle {
    pub(crate) id: ShuffleId,
    pub(crate) parent: Arc<Node>,
    pub(crate) write: Code<WriteFn>,
    /// What must be computed before the map side can run.
    pub(crate) prepare: Option<Arc<dyn Prepare>>,
    pub(crate) context: Weak<ContextInner>,
}

/// What a new node is made of, apart from its identity.
pub(crate) struct NodeSpec {
    pub(crate) name: String,
    pub(crate) partitions: u32,
    pub(crate) inputs: Vec<Input>,
    pub(crate) code: Code<OpenFn>,
    pub(crate) layout: Layout,
    pub(crate) determinism: Determinism,
    pub(crate) prepare: Option<Arc<dyn Prepare>>,
}

impl NodeSpec {
    /// The parts of an existing node, to make one like it.
    pub(crate) fn like(node: &Node) -> Self {
        Self {
            name: node.name.clone(),
            partitions: node.partitions,
            inputs: node.inputs.clone(),
            code: node.code.clone(),
            layout: node.layout.clone(),
            determinism: node.determinism,
            prepare: node.prepare.clone(),
        }
    }
}

impl Node {
    pub(crate) fn new(spec: NodeSpec, id: NodeId, context: Weak<ContextInner>) -> Arc<Self> {
        let below = spec.inputs.iter().map(|input| match input {
            Input::Narrow(parent) => parent.depth,
            Input::Shuffle(_) | Input::Sent { .. } => 0,
        });
        let depth = below.max().unwrap_or(0) + 1;
        let NodeSpec { name, partitions, inputs, code, layout, determinism, prepare } = spec;
        let persist = AtomicU8::new(0);
        Arc::new(Self {
            id,
            name,
            partitions,
            inputs,
            code,
            layout,
            determinism,
            depth,
            persist,
            prepare,
            spent: Spent::default(),
            context,
        })
    }

    /// The narrow parent at `index`.
    pub(crate) fn parent(&self, index: usize) -> Option<&Arc<Node>> {
        match self.inputs.get(index) {
            Some(Input::Narrow(parent)) => Some(parent),
            _ => None,
        }
    }

    /// The shuffle read at `index`, and how many map outputs it has.
    pub(crate) fn shuffle(&self, index: usize) -> Option<(ShuffleId, u32)> {
        match self.inputs.get(index)? {
            Input::Narrow(_) => None,
            Input::Shuffle(shuffle) => Some((shuffle.id, shuffle.parent.partitions)),
            Input::Sent { shuffle, maps } => Some((*shuffle, *maps)),
        }
    }

    pub(crate) fn persist_level(&self) -> Option<PersistLevel> {
        PersistLevel::from_code(self.persist.load(Ordering::Relaxed))
    }

    pub(crate) fn set_persist_level(&self, level: Option<PersistLevel>) {
        self.persist.store(level.map_or(0, PersistLevel::code), Ordering::Relaxed);
    }
}

impl Input {
    /// The node whose rows arrive over this edge; not known of what was sent.
    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Narrow(parent) => Some(parent),
            Self::Shuffle(shuffle) => Some(&shuffle.parent),
            Self::Sent { .. } => None,
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.name)
    }
}

/// Lineages of many thousand operations are ordinary, and dropping such a chain link by link would
/// recurse as deep: the links are taken apart in a loop instead.
impl Drop for Node {
    fn drop(&mut self) {
        if self.persist_level().is_some()
            && let Some(context) = self.context.upgrade()
        {
            context.drop_persisted(self.id);
        }
        let mut loose = std::mem::take(&mut self.inputs);
        while let Some(input) = loose.pop() {
            match input {
                Input::Narrow(node) => {
                    if let Some(mut node) = Arc::into_inner(node) {
                        loose.append(&mut node.inputs);
                    }
                }
                // The parent is kept over the shuffle's own drop, which then does not recurse.
                Input::Shuffle(shuffle) => loose.push(Input::Narrow(Arc::clone(&shuffle.parent))),
                Input::Sent { .. } => {}
            }
        }
    }
}

impl Drop for Shuffle {
    fn drop(&mut self) {
        if let Some(context) = self.context.upgrade() {
            context.release_shuffle(self.id);
        }
    }
}
