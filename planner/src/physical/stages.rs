//! Cutting a plan at its exchanges into the pieces that run as stages.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::plan::{Distribution, JoinStrategy, Op, OpId, PhysicalPlan};

/// A part of a plan between exchanges: one task of it for each partition.
#[derive(Clone, PartialEq, Debug)]
pub struct StagePiece {
    /// Its operators. The leaves are scans, single rows, and [`Op::Input`]s. An operator that is read twice is run
    /// twice, each time for its reader.
    pub plan: PhysicalPlan,
    /// By the index of its inputs.
    pub inputs: Vec<StageInput>,
    /// The number of its partitions.
    pub partitions: u32,
    /// How what it gives is spread; `None` for the piece that gives the result.
    pub output: Option<Distribution>,
}

/// What a piece reads over an exchange.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageInput {
    /// The place of the piece that writes it, which is an earlier one.
    pub stage: usize,
    /// What each partition of the input is of those of the exchange; `None` if they are the same.
    pub groups: Option<Vec<Group>>,
}

impl StageInput {
    /// The exchange that is read, of a piece whose inputs are named by exchanges and not by places.
    #[must_use]
    pub fn exchange(&self) -> OpId {
        OpId(u32::try_from(self.stage).unwrap_or(u32::MAX))
    }
}

/// What of an exchange one task reads: some of its partitions whole, or of one what some map tasks wrote.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// The partitions, one after the other.
    pub partitions: Range<u32>,
    /// The map tasks; `None` for all.
    pub maps: Option<Range<u32>>,
}

/// Cuts `plan` at its exchanges. Each piece comes behind those it reads, the result last. An exchange with several
/// readers is one piece.
#[must_use]
pub fn stages(plan: &PhysicalPlan) -> Vec<StagePiece> {
    let mut pieces = Vec::new();
    let mut written: HashMap<OpId, usize> = HashMap::new();
    let place = |written: &HashMap<OpId, usize>, id| written.get(&id).copied().unwrap_or_default();
    for (at, operator) in plan.operators.iter().enumerate() {
        if let Op::Exchange { input, to, .. } = &operator.op {
            written.insert(OpId(at as u32), pieces.len());
            pieces.push(piece(plan, *input, Some(to.clone()), |id| place(&written, id)));
        }
    }
    if let Some(root) = plan.root() {
        pieces.push(piece(plan, root, None, |id| place(&written, id)));
    }
    pieces
}

/// The operators from `root` down to the nearest exchanges, each of which is the stage that `place` says.
pub(super) fn piece(
    plan: &PhysicalPlan,
    root: OpId,
    output: Option<Distribution>,
    place: impl Fn(OpId) -> usize,
) -> StagePiece {
    let mut inputs = Vec::new();
    let mut cut = PhysicalPlan::default();
    let mut moved: HashMap<OpId, OpId> = HashMap::new();
    let needed = needed(plan, root);
    let whole = read_whole(plan, &needed);
    for id in needed {
        let Some(operator) = plan.get(id) else { continue };
        let op = match &operator.op {
            Op::Exchange { to, .. } => {
                let partitions = to.partitions();
                let gathered = whole.contains(&id) && partitions > 1;
                let all = Group { partitions: 0..partitions, maps: None };
                inputs.push(StageInput { stage: place(id), groups: gathered.then(|| vec![all]) });
                Op::Input {
                    index: inputs.len() as u32 - 1,
                    partitions: if gathered { 1 } else { partitions },
                    broadcast: gathered || *to == Distribution::Broadcast,
                }
            }
            op => {
                let mut op = op.clone();
                for input in op.inputs_mut() {
                    *input = moved.get(input).copied().unwrap_or(*input);
                }
                op
            }
        };
        moved.insert(id, cut.push(op, operator.schema.clone(), operator.rows));
    }
    let partitions = partitions(&cut).last().copied().unwrap_or(0);
    StagePiece { plan: cut, inputs, partitions, output }
}

/// What tasks read whole, as the tables of their broadcast joins. An exchange by hash is among them where a join has
/// become a broadcast after its right side had been written.
fn read_whole(plan: &PhysicalPlan, needed: &[OpId]) -> HashSet<OpId> {
    let right = |id: &OpId| match &plan.get(*id)?.op {
        Op::Join(join) if join.strategy == JoinStrategy::Broadcast => Some(join.right),
        _ => None,
    };
    needed.iter().filter_map(right).collect()
}

/// The operators that `root` needs down to exchanges, in the order of the plan.
fn needed(plan: &PhysicalPlan, root: OpId) -> Vec<OpId> {
    let mut needed = vec![false; root.0 as usize + 1];
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if std::mem::replace(&mut needed[id.0 as usize], true) {
            continue;
        }
        match plan.get(id).map(|operator| &operator.op) {
            Some(Op::Exchange { .. }) | None => {}
            Some(op) => stack.extend(op.inputs()),
        }
    }
    (0..=root.0).map(OpId).filter(|id| needed[id.0 as usize]).collect()
}

/// The number of partitions of each operator of a piece.
#[must_use]
pub fn partitions(piece: &PhysicalPlan) -> Vec<u32> {
    let mut counts: Vec<u32> = Vec::with_capacity(piece.operators.len());
    for operator in &piece.operators {
        let of = |id: OpId| counts.get(id.0 as usize).copied().unwrap_or(0);
        counts.push(match &operator.op {
            Op::Scan(scan) => scan.partitions,
            Op::OneRow => 1,
            Op::Input { partitions, .. } => *partitions,
            Op::Exchange { to, .. } => to.partitions(),
            Op::Union { inputs } => {
                inputs.iter().fold(0, |sum, input| sum.saturating_add(of(*input)))
            }
            // Of a join, the right side is as the left one, or whole in every task.
            op => op.inputs().first().map_or(0, |input| of(*input)),
        });
    }
    counts
}

impl Distribution {
    /// The number of partitions. A broadcast is one, which every task reads.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        match self {
            Self::Single | Self::Broadcast => 1,
            Self::Hash { partitions, .. }
            | Self::Range { partitions, .. }
            | Self::RoundRobin { partitions } => *partitions,
        }
    }
}
