//! Which operators take rows however they are spread over tasks.

use crate::physical::plan::{AggregateMode, JoinKind, JoinStrategy, Op, OpId, PhysicalPlan};

/// Whether `op` gives the right rows if those of its input `from` come to other tasks than planned. What else it reads
/// has to come to all of these tasks.
pub(super) fn is_rowwise(op: &Op, from: OpId) -> bool {
    match op {
        Op::Filter { .. }
        | Op::Project { .. }
        | Op::Expand { .. }
        | Op::Explode { .. }
        | Op::Union { .. }
        // Of each partition alone: the whole is made behind an exchange.
        | Op::Sort { .. }
        | Op::Limit { .. } => true,
        Op::Aggregate(aggregate) => aggregate.mode == AggregateMode::Partial,
        // A row without a match is given by whoever has seen all of the other side, once.
        Op::Join(join) => match (join.strategy, from == join.left, from == join.right) {
            (JoinStrategy::Broadcast | JoinStrategy::NestedLoop, true, false) => {
                join.kind != JoinKind::Full
            }
            (JoinStrategy::Hash | JoinStrategy::Merge, true, false) => matches!(
                join.kind,
                JoinKind::Inner | JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti
            ),
            (JoinStrategy::Hash | JoinStrategy::Merge, false, true) => {
                matches!(join.kind, JoinKind::Inner | JoinKind::Right)
            }
            _ => false,
        },
        // The drawn rows depend on the partition.
        Op::Sample { .. } | Op::Window(_) | Op::Exchange { .. } => false,
        Op::Scan(_) | Op::OneRow | Op::Input { .. } => false,
    }
}

/// By operator, those that read it.
pub(super) fn readers(plan: &PhysicalPlan, needed: impl Fn(OpId) -> bool) -> Vec<Vec<OpId>> {
    let mut readers = vec![Vec::new(); plan.operators.len()];
    for (at, operator) in plan.operators.iter().enumerate() {
        let id = OpId(at as u32);
        if needed(id) {
            operator.op.inputs().iter().for_each(|input| readers[input.0 as usize].push(id));
        }
    }
    readers
}
