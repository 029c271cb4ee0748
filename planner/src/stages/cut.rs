//! Cutting the lineage at its exchanges into stages.
//!
//! A stage holds the operations that can run in one task: the target and everything reachable from
//! it over narrow edges. Each shuffle edge leaving it starts another stage. Walks are iterative, since
//! lineages of many thousand operations are ordinary in loops.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use super::graph::{
    Determinism, Locality, Need, ResourceRequest, Stage, StageGraph, StageInput, StageOutput,
};
use crate::ids::{NodeId, ShuffleId, StageId};
use crate::lineage::{Dependency, Lineage, Node};

/// Why a lineage could not be cut.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CutError {
    /// An edge leads to a node that is not part of the lineage: the front end built it wrongly.
    #[error("the lineage names {0} but does not hold it")]
    UnknownNode(NodeId),
    /// Two shuffle edges give the same shuffle different parents or partition counts.
    #[error("{0} is written by two different operations")]
    AmbiguousShuffle(ShuffleId),
}

/// A stage graph together with the operation at the root of each stage.
#[derive(Clone, Debug)]
pub struct StagePlan {
    /// The stages.
    pub graph: StageGraph,
    /// The last operation of each stage.
    pub roots: HashMap<StageId, NodeId>,
}

/// Cuts what `target` depends on into stages. `result` and `output` describe the last stage, which
/// computes `target`; `action` is its name for people.
///
/// # Errors
/// [`CutError`] if the lineage is not closed or contradicts itself.
///
/// # Example
/// ```
/// use millstream_planner::ids::{NodeId, ShuffleId, StageId};
/// use millstream_planner::lineage::{Dependency, Lineage, Node};
/// use millstream_planner::stages::{Determinism, StageOutput, cut};
///
/// let node = |id, dependencies| Node {
///     id: NodeId(id), name: format!("op{id}"), partitions: 2, dependencies,
///     partitioning: None, determinism: Determinism::Deterministic,
///     persisted: None, fully_persisted: false,
/// };
/// let mut lineage = Lineage::default();
/// lineage.nodes.insert(NodeId(1), node(1, vec![]));
/// let exchange = Dependency::Shuffle { shuffle: ShuffleId(9), parent: NodeId(1) };
/// lineage.nodes.insert(NodeId(2), node(2, vec![exchange]));
///
/// let plan = cut(&lineage, NodeId(2), StageId(10), StageOutput::Result, "count").unwrap();
/// let ids: Vec<_> = plan.graph.stages.iter().map(|stage| stage.id).collect();
/// assert_eq!(ids, [StageId(9), StageId(10)]);
/// ```
pub fn cut(
    lineage: &Lineage,
    target: NodeId,
    result: StageId,
    output: StageOutput,
    action: &str,
) -> Result<StagePlan, CutError> {
    let mut cutter = Cutter { lineage, cuts: HashMap::new(), order: Vec::new() };
    cutter.run(target, result, output)?;
    let mut plan = StagePlan { graph: StageGraph { stages: Vec::new() }, roots: HashMap::new() };
    for id in &cutter.order {
        if let Some(cut) = cutter.cuts.get(id) {
            let action = (*id == result).then_some(action);
            plan.graph.stages.push(cutter.stage(*id, cut, action)?);
            plan.roots.insert(*id, cut.root);
        }
    }
    Ok(plan)
}

/// One stage under construction.
struct Cut {
    root: NodeId,
    output: StageOutput,
    inputs: Vec<(StageInput, NodeId, u32)>,
    /// The operations of the stage, last first.
    members: Vec<NodeId>,
}

struct Cutter<'a> {
    lineage: &'a Lineage,
    cuts: HashMap<StageId, Cut>,
    /// Topological: inputs first.
    order: Vec<StageId>,
}

impl Cutter<'_> {
    fn node(&self, id: NodeId) -> Result<&Node, CutError> {
        self.lineage.nodes.get(&id).ok_or(CutError::UnknownNode(id))
    }

    /// Depth first over stages with an explicit stack; a stage enters `order` after its inputs.
    fn run(
        &mut self,
        target: NodeId,
        result: StageId,
        output: StageOutput,
    ) -> Result<(), CutError> {
        let first = self.gather(target, output)?;
        self.cuts.insert(result, first);
        let mut stack = vec![(result, 0)];
        while let Some((id, next)) = stack.pop() {
            let Some((input, parent, partitions)) =
                self.cuts.get(&id).and_then(|cut| cut.inputs.get(next)).copied()
            else {
                self.order.push(id);
                continue;
            };
            stack.push((id, next + 1));
            let (writer, shuffle) = (input.shuffle.stage(), input.shuffle);
            let output = StageOutput::Shuffle { shuffle, partitions };
            match self.cuts.get(&writer) {
                Some(known) if known.root != parent || known.output != output => {
                    return Err(CutError::AmbiguousShuffle(shuffle));
                }
                Some(_) => {}
                None => {
                    let cut = self.gather(parent, output)?;
                    self.cuts.insert(writer, cut);
                    stack.push((writer, 0));
                }
            }
        }
        Ok(())
    }

    /// Collects the operations of one stage and the shuffles it reads, in the order of its edges.
    fn gather(&self, root: NodeId, output: StageOutput) -> Result<Cut, CutError> {
        let mut cut = Cut { root, output, inputs: Vec::new(), members: Vec::new() };
        let mut needed: HashMap<ShuffleId, usize> = HashMap::new();
        let mut seen: HashMap<NodeId, Need> = HashMap::new();
        let mut listed: HashSet<NodeId> = HashSet::new();
        let mut stack = vec![(root, Need::Always)];
        while let Some((id, need)) = stack.pop() {
            // A node is walked again only if the second path needs it more than the first did.
            if matches!(seen.get(&id), Some(known) if *known == need || *known == Need::Always) {
                continue;
            }
            seen.insert(id, need);
            let node = self.node(id)?;
            if listed.insert(id) {
                cut.members.push(id);
            }
            let need = if node.fully_persisted { Need::IfEvicted } else { need };
            for dependency in &node.dependencies {
                if let Dependency::Shuffle { shuffle, parent } = *dependency {
                    let at = *needed.entry(shuffle).or_insert_with(|| {
                        let input = StageInput { shuffle, need };
                        cut.inputs.push((input, parent, node.partitions));
                        cut.inputs.len() - 1
                    });
                    if need == Need::Always {
                        cut.inputs[at].0.need = Need::Always;
                    }
                }
            }
            for dependency in node.dependencies.iter().rev() {
                if let Dependency::Narrow(parent) = *dependency {
                    stack.push((parent, need));
                }
            }
        }
        Ok(cut)
    }

    fn stage(&self, id: StageId, cut: &Cut, action: Option<&str>) -> Result<Stage, CutError> {
        let mut determinism = Determinism::Deterministic;
        for member in &cut.members {
            determinism = determinism.max(self.node(*member)?.determinism);
        }
        Ok(Stage {
            id,
            name: self.name(cut, action)?,
            partitions: self.node(cut.root)?.partitions,
            inputs: cut.inputs.iter().map(|(input, _, _)| *input).collect(),
            output: cut.output,
            request: ResourceRequest::default(),
            locality: Locality::Any,
            determinism,
            gang: false,
        })
    }

    /// `text_file → flat_map → map`, with repeats counted and long names cut in the middle.
    fn name(&self, cut: &Cut, action: Option<&str>) -> Result<String, CutError> {
        let mut runs: Vec<(&str, usize)> = Vec::new();
        for member in cut.members.iter().rev() {
            let name = self.node(*member)?.name.as_str();
            let name = name.split([' ', '(']).next().unwrap_or(name);
            match runs.last_mut() {
                Some((last, count)) if *last == name => *count += 1,
                _ => runs.push((name, 1)),
            }
        }
        runs.extend(action.map(|action| (action, 1)));
        let mut parts: Vec<String> = runs
            .iter()
            .map(|(name, count)| match count {
                1 => (*name).to_owned(),
                _ => format!("{name} ×{count}"),
            })
            .collect();
        const PARTS_MAX: usize = 6;
        if parts.len() > PARTS_MAX {
            parts.splice(PARTS_MAX / 2..parts.len() - PARTS_MAX / 2, ["…".to_owned()]);
        }
        Ok(parts.join(" → "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u64, dependencies: Vec<Dependency>) -> Node {
        Node {
            id: NodeId(id),
            name: "op".into(),
            partitions: 4,
            dependencies,
            partitioning: None,
            determinism: Determinism::Deterministic,
            persisted: None,
            fully_persisted: false,
        }
    }

    fn lineage(nodes: Vec<Node>) -> Lineage {
        Lineage { nodes: nodes.into_iter().map(|node| (node.id, node)).collect() }
    }

    fn narrow(id: u64) -> Dependency {
        Dependency::Narrow(NodeId(id))
    }

    fn shuffle(shuffle: u64, parent: u64) -> Dependency {
        Dependency::Shuffle { shuffle: ShuffleId(shuffle), parent: NodeId(parent) }
    }

    fn stages(lineage: &Lineage, target: u64) -> Vec<(u64, Vec<(u64, Need)>)> {
        let plan =
            cut(lineage, NodeId(target), StageId(1000), StageOutput::Result, "collect").unwrap();
        plan.graph
            .stages
            .iter()
            .map(|s| (s.id.0, s.inputs.iter().map(|i| (i.shuffle.0, i.need)).collect()))
            .collect()
    }

    #[test]
    fn narrow_operations_share_a_stage() {
        let lineage = lineage(vec![node(1, vec![]), node(2, vec![narrow(1)])]);
        assert_eq!(stages(&lineage, 2), [(1000, vec![])]);
    }

    #[test]
    fn a_diamond_runs_the_shared_stage_once() {
        let lineage = lineage(vec![
            node(1, vec![]),
            node(2, vec![shuffle(20, 1)]),
            node(3, vec![narrow(2)]),
            node(4, vec![shuffle(40, 2), shuffle(41, 3)]),
        ]);
        use Need::Always;
        assert_eq!(
            stages(&lineage, 4),
            [
                (20, vec![]),
                (40, vec![(20, Always)]),
                (41, vec![(20, Always)]),
                (1000, vec![(40, Always), (41, Always)]),
            ]
        );
    }

    #[test]
    fn what_lies_behind_a_persisted_node_is_needed_only_if_evicted() {
        let mut cached = node(2, vec![shuffle(20, 1)]);
        cached.fully_persisted = true;
        let lineage = lineage(vec![node(1, vec![]), cached, node(3, vec![narrow(2)])]);
        assert_eq!(stages(&lineage, 3), [(20, vec![]), (1000, vec![(20, Need::IfEvicted)])]);
    }

    #[test]
    fn one_path_around_the_persisted_node_makes_its_input_needed() {
        let mut cached = node(3, vec![narrow(2)]);
        cached.fully_persisted = true;
        let lineage = lineage(vec![
            node(1, vec![]),
            node(2, vec![shuffle(20, 1)]),
            cached,
            node(4, vec![narrow(3), narrow(2)]),
        ]);
        assert_eq!(stages(&lineage, 4)[1], (1000, vec![(20, Need::Always)]));
    }

    #[test]
    fn a_hundred_thousand_operations_do_not_overflow_the_stack() {
        let chain = |id: u64| match id {
            0 => node(0, vec![]),
            id if id % 2 == 0 => node(id, vec![shuffle(1_000_000 + id, id - 1)]),
            id => node(id, vec![narrow(id - 1)]),
        };
        let lineage = lineage((0..100_000).map(chain).collect());
        assert_eq!(stages(&lineage, 99_999).len(), 50_000);
    }

    #[test]
    fn an_open_lineage_is_an_error() {
        let lineage = lineage(vec![node(2, vec![narrow(1)])]);
        let error = cut(&lineage, NodeId(2), StageId(9), StageOutput::Result, "count").unwrap_err();
        assert_eq!(error, CutError::UnknownNode(NodeId(1)));
    }

    #[test]
    fn names_count_repeats() {
        let mut nodes = vec![node(0, vec![])];
        nodes.extend((1..50).map(|id| node(id, vec![narrow(id - 1)])));
        let plan =
            cut(&lineage(nodes), NodeId(49), StageId(99), StageOutput::Result, "count").unwrap();
        assert_eq!(plan.graph.stages[0].name, "op ×50 → count");
    }
}
