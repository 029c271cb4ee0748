//! Copying the lineage below a node into the planner's form.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_planner::ids::{NodeId, ShuffleId};
use millstream_planner::lineage::{Dependency, Lineage, Node as PlanNode};

use crate::driver::Driver;
use crate::rdd::{Code, Input, Node, Prepare, Shuffle, WriteFn};

/// The lineage below a node, as the planner and the executor need it.
pub(super) struct Graph {
    pub(super) lineage: Lineage,
    pub(super) nodes: HashMap<NodeId, Arc<Node>>,
    pub(super) writers: HashMap<ShuffleId, Code<WriteFn>>,
    /// What must be computed first, innermost first.
    pub(super) prepare: Vec<Arc<dyn Prepare>>,
}

impl Graph {
    /// The shuffles that no later job can come to read, but by way of another shuffle of this graph: all
    /// that refers to the nodes which read them lies inside it.
    ///
    /// Handles come and go on other threads meanwhile. One shuffle too many does no harm, since what is
    /// missing is computed again, and one too few only takes memory.
    pub(super) fn passing(&self) -> HashSet<ShuffleId> {
        let mut inside = Inside::default();
        self.nodes.values().for_each(|node| inside.count(node));
        let from_outside = |node: &&Arc<Node>| {
            // This graph refers to it too.
            let known = inside.nodes.get(&node.id).map_or(0, |edges| *edges) + 1;
            Arc::strong_count(node) > known
        };
        let mut stack: Vec<&Arc<Node>> = self.nodes.values().filter(from_outside).collect();
        let mut readable: HashSet<NodeId> = stack.iter().map(|node| node.id).collect();
        while let Some(node) = stack.pop() {
            for input in &node.inputs {
                match input {
                    Input::Narrow(parent) if readable.insert(parent.id) => stack.push(parent),
                    Input::Narrow(_) => {}
                    Input::Shuffle(shuffle) => drop(inside.shuffles.remove(&shuffle.id)),
                }
            }
        }
        let only_inside = inside.shuffles.into_values();
        let only_inside =
            only_inside.filter(|(shuffle, edges)| Arc::strong_count(shuffle) <= *edges);
        only_inside.map(|(shuffle, _)| shuffle.id).collect()
    }
}

/// How many edges of a graph lead to each of its nodes and shuffles.
#[derive(Default)]
struct Inside<'a> {
    nodes: HashMap<NodeId, usize>,
    shuffles: HashMap<ShuffleId, (&'a Arc<Shuffle>, usize)>,
}

impl<'a> Inside<'a> {
    fn count(&mut self, node: &'a Node) {
        for input in &node.inputs {
            let parent = match input {
                Input::Narrow(parent) => parent,
                Input::Shuffle(shuffle) => {
                    let (_, edges) = self.shuffles.entry(shuffle.id).or_insert((shuffle, 0));
                    *edges += 1;
                    if *edges > 1 {
                        continue;
                    }
                    // It refers to its parent once, however many read it.
                    &shuffle.parent
                }
            };
            *self.nodes.entry(parent.id).or_default() += 1;
        }
    }
}

/// Walks iteratively from `target` to its sources.
pub(super) fn copy_lineage(target: &Arc<Node>, driver: &Driver) -> Graph {
    let mut graph = Graph {
        lineage: Lineage::default(),
        nodes: HashMap::new(),
        writers: HashMap::new(),
        prepare: Vec::new(),
    };
    let mut stack = vec![Arc::clone(target)];
    while let Some(node) = stack.pop() {
        if graph.nodes.contains_key(&node.id) {
            continue;
        }
        let level = node.persist_level();
        let plan = PlanNode {
            id: node.id,
            name: node.name.clone(),
            partitions: node.partitions,
            dependencies: node.inputs.iter().filter_map(dependency).collect(),
            partitioning: node.layout.partitioning.clone(),
            determinism: node.determinism,
            persisted: level.map(|level| level.to_string()),
            fully_persisted: level.is_some() && driver.is_persisted(node.id, node.partitions),
        };
        graph.lineage.nodes.insert(node.id, plan);
        for input in &node.inputs {
            if let Input::Shuffle(shuffle) = input {
                graph.writers.insert(shuffle.id, shuffle.write.clone());
                graph.prepare.extend(shuffle.prepare.clone());
            }
            stack.extend(input.node().map(Arc::clone));
        }
        graph.prepare.extend(node.prepare.clone());
        graph.nodes.insert(node.id, node);
    }
    graph.prepare.reverse();
    graph
}

fn dependency(input: &Input) -> Option<Dependency> {
    match input {
        Input::Narrow(parent) => Some(Dependency::Narrow(parent.id)),
        Input::Shuffle(shuffle) => {
            Some(Dependency::Shuffle { shuffle: shuffle.id, parent: shuffle.parent.id })
        }
        // Lineages are copied where they were made.
        Input::Sent { .. } => None,
    }
}
