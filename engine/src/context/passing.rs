//! Which shuffles pass by: nothing outside of one job can come to read them, so that their outputs may go
//! before the handles do. Whether and when they go is the scheduler's decision.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_planner::ids::{NodeId, ShuffleId};

use super::lineage::Graph;
use crate::rdd::{Input, Node, Shuffle};

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
                    Input::Narrow(_) | Input::Sent { .. } => {}
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
                Input::Sent { .. } => continue,
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
