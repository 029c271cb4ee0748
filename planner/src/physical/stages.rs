//! Cutting a plan at its exchanges into the pieces that run as stages.

use std::collections::HashMap;

use super::plan::{Distribution, Op, OpId, PhysicalPlan};

/// A part of a plan between exchanges: one task of it for each partition.
#[derive(Clone, PartialEq, Debug)]
pub struct StagePiece {
    /// Its operators. The leaves are scans, single rows, and [`Op::Input`]s. An operator that is read twice is run
    /// twice, each time for its reader.
    pub plan: PhysicalPlan,
    /// By the index of its inputs: the place of the piece that writes it, which is an earlier one.
    pub inputs: Vec<usize>,
    /// The number of its partitions.
    pub partitions: u32,
    /// How what it gives is spread; `None` for the piece that gives the result.
    pub output: Option<Distribution>,
}

/// Cuts `plan` at its exchanges. Each piece comes behind those it reads, the result last. An exchange with several
/// readers is one piece.
#[must_use]
pub fn stages(plan: &PhysicalPlan) -> Vec<StagePiece> {
    let mut pieces = Vec::new();
    let mut written: HashMap<OpId, usize> = HashMap::new();
    for (at, operator) in plan.operators.iter().enumerate() {
        if let Op::Exchange { input, to } = &operator.op {
            written.insert(OpId(at as u32), pieces.len());
            pieces.push(piece(plan, *input, Some(to.clone()), &written));
        }
    }
    if let Some(root) = plan.root() {
        pieces.push(piece(plan, root, None, &written));
    }
    pieces
}

/// The operators from `root` down to the nearest exchanges.
fn piece(
    plan: &PhysicalPlan,
    root: OpId,
    output: Option<Distribution>,
    written: &HashMap<OpId, usize>,
) -> StagePiece {
    let mut inputs = Vec::new();
    let mut cut = PhysicalPlan::default();
    let mut moved: HashMap<OpId, OpId> = HashMap::new();
    for id in needed(plan, root) {
        let Some(operator) = plan.get(id) else { continue };
        let op = match &operator.op {
            Op::Exchange { to, .. } => {
                inputs.extend(written.get(&id));
                let broadcast = *to == Distribution::Broadcast;
                Op::Input { index: inputs.len() as u32 - 1, partitions: to.partitions(), broadcast }
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
