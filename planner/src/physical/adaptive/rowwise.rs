//! Which operators take rows however they are spread over tasks.

use crate::physical::plan::{AggregateMode, Join, JoinKind, JoinStrategy, Op, OpId, PhysicalPlan};

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
        Op::Join(join) => may_be_dealt(join, from),
        // The drawn rows depend on the partition.
        Op::Sample { .. } | Op::Window(_) | Op::Exchange { .. } => false,
        Op::Scan(_) | Op::OneRow | Op::Input { .. } => false,
    }
}

/// Whether the rows of one side of a join may come to other tasks. A row that is given by whether it has a match is
/// given by whoever has seen all of the other side, once.
fn may_be_dealt(join: &Join, from: OpId) -> bool {
    let (by_left, by_right) = match join.kind {
        JoinKind::Inner | JoinKind::Cross => (false, false),
        JoinKind::Left => (true, false),
        JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::NullAwareAnti => {
            (!join.mirrored, join.mirrored)
        }
        JoinKind::Right => (false, true),
        JoinKind::Full => (true, true),
    };
    match (join.strategy, from == join.left, from == join.right) {
        (JoinStrategy::Hash | JoinStrategy::Merge, true, false) => !by_right,
        (JoinStrategy::Hash | JoinStrategy::Merge, false, true) => !by_left,
        (JoinStrategy::Broadcast | JoinStrategy::NestedLoop, true, false) => !by_right,
        _ => false,
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
