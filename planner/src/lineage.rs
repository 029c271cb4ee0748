//! Lineage: the graph of operations a program has built, as the planner sees it.
//!
//! The front end keeps the typed handles and the code; this is a plain copy of the shape of their
//! graph: who depends on whom, over what kind of edge, with which partitioning.

use std::collections::HashMap;

use crate::ids::{NodeId, ShuffleId};
use crate::stages::Determinism;

/// How rows are spread over partitions, where that is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Partitioning {
    /// By the partition hash of the key. Two nodes with equal values are co-partitioned.
    Hash {
        /// The number of partitions.
        partitions: u32,
    },
    /// By key ranges with sampled bounds. The bounds belong to one shuffle, so that only data of the
    /// same shuffle is co-partitioned.
    Range {
        /// The number of partitions.
        partitions: u32,
        /// Whose bounds.
        shuffle: ShuffleId,
    },
    /// By a function of the user's, named by its code.
    Custom {
        /// The number of partitions.
        partitions: u32,
        /// The identity of the partitioning function and its state.
        code: u64,
    },
}

impl Partitioning {
    /// The number of partitions.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        match *self {
            Self::Hash { partitions }
            | Self::Range { partitions, .. }
            | Self::Custom { partitions, .. } => partitions,
        }
    }
}

/// An edge of the lineage, from an operation to one it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dependency {
    /// Each partition reads few, known partitions of the parent: both run in one task.
    Narrow(NodeId),
    /// Each partition may read from every partition of the parent: an exchange lies between.
    Shuffle {
        /// The exchange.
        shuffle: ShuffleId,
        /// The operation whose rows it carries.
        parent: NodeId,
    },
}

impl Dependency {
    /// The operation read.
    #[must_use]
    pub fn parent(&self) -> NodeId {
        match *self {
            Self::Narrow(parent) | Self::Shuffle { parent, .. } => parent,
        }
    }
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its identity.
    pub id: NodeId,
    /// Its name in plans, such as `map` or `reduce_by_key`.
    pub name: String,
    /// The number of partitions.
    pub partitions: u32,
    /// What it reads, in order.
    pub dependencies: Vec<Dependency>,
    /// How its rows are spread, where known.
    pub partitioning: Option<Partitioning>,
    /// What a second run of this operation alone may change, given the same input.
    pub determinism: Determinism,
    /// The persist level asked for, for plans; `None` if not persisted.
    pub persisted: Option<String>,
    /// Whether every partition has a persisted copy now.
    pub fully_persisted: bool,
}

/// The operations reachable from a target.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    /// By identity.
    pub nodes: HashMap<NodeId, Node>,
}
