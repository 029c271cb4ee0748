//! The rule that makes a join of two exchanged sides a broadcast: when its right side has been written and is small,
//! the left one is not exchanged at all, and each of its tasks reads all of the right one.
//!
//! For that the left exchange has to wait for the right one, which takes time where slots would be free. It waits only
//! where the estimate of the right side is not to be trusted, and not beyond all doubt too large.

use std::collections::HashSet;

use super::rowwise::{is_rowwise, readers};
use super::{AdaptivePlan, Change, Rule};
use crate::physical::plan::{
    Distribution, JoinKind, JoinStrategy, Op, OpId, Operator, PhysicalPlan,
};
use crate::physical::planner::BROADCAST_COST_MAX;
use crate::physical::stages::partitions;
use crate::physical::statistics::column_bytes;

/// An estimate is not off by more than this.
const ERROR_MAX: u64 = 16;

/// A join that may become a broadcast, as long as its left exchange has not been written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Candidate {
    join: OpId,
    left: OpId,
    right: OpId,
}

/// The left exchanges that wait for the right ones.
pub(super) fn held(plan: &AdaptivePlan, needed: &[bool]) -> HashSet<OpId> {
    let waits = |candidate: &Candidate| {
        !plan.sizes.contains_key(&candidate.right)
            && is_doubtful(&plan.plan, candidate.right, plan.settings.broadcast_bytes_max)
    };
    candidates(plan, needed).into_iter().filter(waits).map(|candidate| candidate.left).collect()
}

/// Makes broadcasts of the joins whose right sides have turned out small.
pub(super) fn apply(plan: &mut AdaptivePlan) -> Vec<Change> {
    let needed = plan.needed();
    let counts = partitions(&plan.plan);
    let mut changes = Vec::new();
    for candidate in candidates(plan, &needed) {
        let Some(sizes) = plan.sizes.get(&candidate.right) else { continue };
        let bytes = sizes.total().bytes;
        let Some(Operator { op: Op::Exchange { input, .. }, .. }) = plan.plan.get(candidate.left)
        else {
            continue;
        };
        let input = *input;
        let tables = bytes.saturating_mul(u64::from(counts[input.0 as usize]));
        let moved = estimated_bytes(&plan.plan, input).unwrap_or(u64::MAX);
        if bytes > plan.settings.broadcast_bytes_max
            || tables > moved.saturating_mul(BROADCAST_COST_MAX)
        {
            continue;
        }
        let Op::Join(join) = &mut plan.plan.operators[candidate.join.0 as usize].op else {
            continue;
        };
        join.left = input;
        join.strategy = JoinStrategy::Broadcast;
        let (exchange, rule, read_as) = (candidate.right, Rule::Broadcast, 1);
        let partitions = counts[exchange.0 as usize];
        changes.push(Change { exchange, rule, partitions, read_as, bytes });
    }
    changes
}

fn candidates(plan: &AdaptivePlan, needed: &[bool]) -> Vec<Candidate> {
    let readers = readers(&plan.plan, |id| needed[id.0 as usize]);
    let operators = plan.plan.operators.iter().enumerate().filter(|(at, _)| needed[*at]);
    operators.filter_map(|(at, _)| candidate(plan, &readers, OpId(at as u32))).collect()
}

fn candidate(plan: &AdaptivePlan, readers: &[Vec<OpId>], id: OpId) -> Option<Candidate> {
    let Op::Join(join) = &plan.plan.get(id)?.op else { return None };
    let alone = |side: OpId| readers[side.0 as usize].len() == 1;
    let by_hash = |side: OpId| match &plan.plan.get(side)?.op {
        Op::Exchange { to: Distribution::Hash { .. }, asked, .. } => Some(asked.exchange),
        _ => None,
    };
    let free = join.strategy == JoinStrategy::Hash
        && !join.hinted
        // The others give rows of the right side by whether they have a match, which no task can know alone.
        && !join.mirrored
        && matches!(
            join.kind,
            JoinKind::Inner | JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti
        )
        && by_hash(join.left) == Some(false)
        && by_hash(join.right).is_some()
        && alone(join.left)
        && alone(join.right)
        && !plan.sizes.contains_key(&join.left)
        && may_be_spread_otherwise(&plan.plan, readers, id);
    free.then_some(Candidate { join: id, left: join.left, right: join.right })
}

/// Whether all that reads the rows of an operator, up to the next exchanges, takes them from any task.
fn may_be_spread_otherwise(plan: &PhysicalPlan, readers: &[Vec<OpId>], id: OpId) -> bool {
    let mut seen = HashSet::new();
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        for reader in &readers[id.0 as usize] {
            match plan.get(*reader).map(|operator| &operator.op) {
                Some(Op::Exchange { .. }) => {}
                Some(op) if is_rowwise(op, id) && !is_joined(op) => {
                    if seen.insert(*reader) {
                        stack.push(*reader);
                    }
                }
                _ => return false,
            }
        }
    }
    true
}

/// Whether rows have to be where those of another side are.
fn is_joined(op: &Op) -> bool {
    matches!(op, Op::Join(join) if matches!(join.strategy, JoinStrategy::Hash | JoinStrategy::Merge))
}

/// Whether what an exchange will carry is not known well, and may be as little as `bytes`.
fn is_doubtful(plan: &PhysicalPlan, exchange: OpId, bytes: u64) -> bool {
    estimated_bytes(plan, exchange).is_none_or(|estimate| {
        estimate <= bytes.saturating_mul(ERROR_MAX) && !is_counted(plan, exchange)
    })
}

/// Whether the rows below an operator are those of tables, which have been counted.
fn is_counted(plan: &PhysicalPlan, id: OpId) -> bool {
    let mut seen = HashSet::new();
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match plan.get(id).map(|operator| &operator.op) {
            Some(Op::Scan(scan)) if scan.predicate.is_none() && scan.fetch.is_none() => {}
            Some(op @ (Op::Project { .. } | Op::Exchange { .. } | Op::Union { .. })) => {
                stack.extend(op.inputs());
            }
            _ => return false,
        }
    }
    true
}

fn estimated_bytes(plan: &PhysicalPlan, id: OpId) -> Option<u64> {
    let operator = plan.get(id)?;
    let width = operator.schema.fields().iter().map(|field| column_bytes(field.data_type()));
    Some(operator.rows?.saturating_mul(width.sum::<u64>().max(1)))
}
