//! Copying the lineage below a node into the planner's form.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_planner::ids::{NodeId, ShuffleId};
use millstream_planner::lineage::{Dependency, Lineage, Node as PlanNode};

use crate::driver::Driver;
use crate::rdd::{Code, Input, Node, Prepare, WriteFn};

/// The lineage below a node, as the planner and the executor need it.
pub(super) struct Graph {
    pub(super) lineage: Lineage,
    pub(super) nodes: HashMap<NodeId, Arc<Node>>,
    pub(super) writers: HashMap<ShuffleId, Code<WriteFn>>,
    /// What must be computed first, innermost first.
    pub(super) prepare: Vec<Arc<dyn Prepare>>,
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
