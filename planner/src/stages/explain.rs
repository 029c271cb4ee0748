//! Plans for people: the stages of a job, last first, with the operations inside each.

use std::collections::HashSet;
use std::fmt::Write;

use super::cut::StagePlan;
use super::graph::{Need, Stage, StageOutput};
use crate::ids::NodeId;
use crate::lineage::{Dependency, Lineage, Node, Partitioning};

/// Prints the stages of `plan`, the result stage first and each reader above what it reads. Within a
/// stage operations are listed from the last to the first, indented below their reader.
#[must_use]
pub fn explain(lineage: &Lineage, plan: &StagePlan) -> String {
    let mut out = String::new();
    for stage in plan.graph.stages.iter().rev() {
        heading(&mut out, stage);
        if let Some(root) = plan.roots.get(&stage.id) {
            operations(&mut out, lineage, *root);
        }
    }
    out
}

fn heading(out: &mut String, stage: &Stage) {
    let tasks = count(stage.partitions, "task");
    // Writing to a String cannot fail.
    let _ = match stage.output {
        StageOutput::Shuffle { shuffle, partitions } => {
            writeln!(
                out,
                "{}: {tasks}, writes {shuffle} ({})",
                stage.id,
                count(partitions, "partition")
            )
        }
        StageOutput::Result => writeln!(out, "{}: {tasks}, result", stage.id),
        StageOutput::Commit => writeln!(out, "{}: {tasks}, commits files", stage.id),
    };
    for input in stage.inputs.iter().filter(|input| input.need == Need::IfEvicted) {
        let _ = writeln!(out, "  (skips {} while the persisted copy lasts)", input.shuffle.stage());
    }
}

fn operations(out: &mut String, lineage: &Lineage, root: NodeId) {
    let mut seen = HashSet::new();
    let mut stack = vec![(root, 1)];
    while let Some((id, depth)) = stack.pop() {
        let Some(node) = lineage.nodes.get(&id) else { continue };
        let indent = "  ".repeat(depth.min(40));
        if !seen.insert(id) {
            let _ = writeln!(out, "{indent}{} (as above)", node.name);
            continue;
        }
        let _ = writeln!(out, "{indent}{}{}", node.name, notes(node));
        // A chain stays at its depth; only a fork indents.
        let deeper = if node.dependencies.len() > 1 { depth + 1 } else { depth };
        for dependency in node.dependencies.iter().rev() {
            match *dependency {
                Dependency::Narrow(parent) => stack.push((parent, deeper)),
                Dependency::Shuffle { .. } => {}
            }
        }
        for dependency in &node.dependencies {
            if let Dependency::Shuffle { shuffle, .. } = dependency {
                let _ = writeln!(out, "{}<- {shuffle}", "  ".repeat((depth + 1).min(41)));
            }
        }
    }
}

fn notes(node: &Node) -> String {
    let mut notes = Vec::new();
    if let Some(partitioning) = &node.partitioning {
        notes.push(match partitioning {
            Partitioning::Hash { partitions } => format!("hash {partitions}"),
            Partitioning::Range { partitions, .. } => format!("range {partitions}"),
            Partitioning::Custom { partitions, .. } => format!("custom {partitions}"),
        });
    }
    if let Some(level) = &node.persisted {
        notes.push(match node.fully_persisted {
            true => format!("persisted: {level}"),
            false => format!("to persist: {level}"),
        });
    }
    match notes.is_empty() {
        true => String::new(),
        false => format!("  [{}]", notes.join(", ")),
    }
}

fn count(n: u32, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ShuffleId, StageId};
    use crate::stages::{Determinism, cut};

    #[test]
    fn word_count_reads_well() {
        let node = |id, name: &str, dependencies, partitioning| Node {
            id: NodeId(id),
            name: name.into(),
            partitions: 4,
            dependencies,
            partitioning,
            determinism: Determinism::Deterministic,
            persisted: None,
            fully_persisted: false,
        };
        let edge = |id| vec![Dependency::Narrow(NodeId(id))];
        let exchange = Dependency::Shuffle { shuffle: ShuffleId(7), parent: NodeId(2) };
        let nodes = [
            node(1, "text_file words.txt", vec![], None),
            node(2, "flat_map", edge(1), None),
            node(3, "reduce_by_key", vec![exchange], Some(Partitioning::Hash { partitions: 4 })),
        ];
        let lineage = Lineage { nodes: nodes.into_iter().map(|n| (n.id, n)).collect() };
        let plan = cut(&lineage, NodeId(3), StageId(8), StageOutput::Result, "collect").unwrap();
        assert_eq!(
            explain(&lineage, &plan),
            "stage 8: 4 tasks, result\n  reduce_by_key  [hash 4]\n    <- shuffle 7\n\
             stage 7: 4 tasks, writes shuffle 7 (4 partitions)\n  flat_map\n  text_file words.txt\n"
        );
    }
}
