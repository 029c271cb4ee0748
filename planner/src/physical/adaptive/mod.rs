//! Changing a plan while it runs, by the exact sizes of exchanges that have been written.
//!
//! ```text
//!  plan ─> ready: exchanges that a decision hangs on, and whose inputs are there
//!   ^        │ written by whoever runs the plan
//!   │        v
//!   └── learn their sizes ─> rules
//!          broadcast   a join whose right side turns out small: its left side is not exchanged at all
//!          coalesce    small partitions that lie side by side are read by one task
//!          split       a partition of a join that is far larger than the others is read by several
//! ```
//!
//! The first changes the plan, the others how a stage reads its exchanges when it is cut ([`AdaptivePlan::stage`]).
//! A rule looks at the plan and at sizes, which follow from the data, and at nothing else: not at slots, memory or
//! time. So the order of rows stays a function of the input. Applied twice, a rule changes nothing more.

mod aligned;
mod broadcast;
mod coalesce;
mod regroup;
mod rowwise;
mod settings;
mod sizes;
mod split;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use super::plan::{Distribution, JoinStrategy, Op, OpId, PhysicalPlan};
use super::stages::{StagePiece, piece};

pub use settings::Adaptive;
pub use sizes::{ExchangeSizes, PartSize};

/// Exchanges of more partitions are not measured: their figures would be many, and so would be the tasks anyway.
const PARTITIONS_MAX: u32 = 1 << 15;

/// A plan that is being run.
#[derive(Clone, Debug)]
pub struct AdaptivePlan {
    plan: PhysicalPlan,
    settings: Adaptive,
    /// Of the exchanges that have been written.
    sizes: HashMap<OpId, ExchangeSizes>,
}

/// What a rule has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The exchange that is read in another way.
    pub exchange: OpId,
    /// Which rule.
    pub rule: Rule,
    /// The partitions of the exchange.
    pub partitions: u32,
    /// The parts that it is read as.
    pub read_as: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// A rule, by what it does to an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Its partitions are read several by one task.
    Coalesce,
    /// It is read whole by every task of a join.
    Broadcast,
    /// Some of its partitions are read by several tasks.
    Split,
}

impl AdaptivePlan {
    /// A plan of which nothing has been run.
    #[must_use]
    pub fn new(plan: PhysicalPlan, settings: Adaptive) -> Self {
        Self { plan, settings, sizes: HashMap::new() }
    }

    /// The exchanges to write next: those that a decision hangs on, where everything below them is decided. None are
    /// left when the rest of the plan can be run in one go.
    #[must_use]
    pub fn ready(&self) -> Vec<OpId> {
        if !self.settings.enabled {
            return Vec::new();
        }
        let needed = self.needed();
        let joined = self.joined(&needed);
        let held = broadcast::held(self, &needed);
        let mut ready = Vec::new();
        // Whether something at or below an operator is yet to be decided.
        let mut open = vec![false; self.plan.operators.len()];
        for (at, operator) in self.plan.operators.iter().enumerate().filter(|(at, _)| needed[*at]) {
            let id = OpId(at as u32);
            let below = operator.op.inputs().iter().any(|input| open[input.0 as usize]);
            let decides = self.decides(&operator.op, joined[at]) && !self.sizes.contains_key(&id);
            if decides && !below && !held.contains(&id) {
                ready.push(id);
            }
            open[at] = below || decides;
        }
        ready
    }

    /// Takes in what has been written over an exchange.
    pub fn learn(&mut self, exchange: OpId, sizes: ExchangeSizes) {
        self.sizes.insert(exchange, sizes);
    }

    /// Changes the plan by what has been learned.
    pub fn decide(&mut self) -> Vec<Change> {
        match self.settings.enabled {
            true => broadcast::apply(self),
            false => Vec::new(),
        }
    }

    /// The exchanges that the result needs, each after those below it.
    #[must_use]
    pub fn exchanges(&self) -> Vec<OpId> {
        let needed = self.needed();
        let is_exchange =
            |id: &OpId| matches!(self.plan.get(*id).map(|o| &o.op), Some(Op::Exchange { .. }));
        let ids = (0..needed.len() as u32).map(OpId);
        ids.filter(|id| needed[id.0 as usize]).filter(is_exchange).collect()
    }

    /// The exchanges that lie below these and themselves, each after those below it.
    #[must_use]
    pub fn below(&self, exchanges: &[OpId]) -> Vec<OpId> {
        let needed = self.reachable(exchanges.to_vec());
        self.exchanges().into_iter().filter(|id| needed[id.0 as usize]).collect()
    }

    /// The exchanges that are read by stages yet to be cut; `cut` says of which exchanges the writing stage has been.
    #[must_use]
    pub fn unread(&self, cut: impl Fn(OpId) -> bool) -> HashSet<OpId> {
        let mut stack: Vec<OpId> = self.plan.root().into_iter().collect();
        for id in self.exchanges().into_iter().filter(|id| !cut(*id)) {
            stack.extend(self.plan.get(id).into_iter().flat_map(|operator| operator.op.inputs()));
        }
        let mut seen = vec![false; self.plan.operators.len()];
        let mut unread = HashSet::new();
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id.0 as usize], true) {
                continue;
            }
            match self.plan.get(id).map(|operator| &operator.op) {
                Some(Op::Exchange { .. }) => drop(unread.insert(id)),
                Some(op) => stack.extend(op.inputs()),
                None => {}
            }
        }
        unread
    }

    /// The stage that writes an exchange, or the one that gives the result. Its inputs are exchanges, by the number of
    /// the operator. With what has been decided on how they are read.
    #[must_use]
    pub fn stage(&self, exchange: Option<OpId>) -> (StagePiece, Vec<Change>) {
        let place = |id: OpId| id.0 as usize;
        let operator = exchange.and_then(|id| self.plan.get(id)).map(|operator| &operator.op);
        let mut stage = match (operator, self.plan.root()) {
            (Some(Op::Exchange { input, to, .. }), _) => {
                piece(&self.plan, *input, Some(to.clone()), place)
            }
            (_, Some(root)) => piece(&self.plan, root, None, place),
            (_, None) => piece(&self.plan, OpId(0), None, place),
        };
        let changes = match self.settings.enabled && !self.sizes.is_empty() {
            true => regroup::apply(self, &mut stage),
            false => Vec::new(),
        };
        (stage, changes)
    }

    /// Whether a decision hangs on the size of an exchange.
    fn decides(&self, op: &Op, joined: bool) -> bool {
        let Op::Exchange { to, asked, .. } = op else { return false };
        let measured = (2..=PARTITIONS_MAX).contains(&to.partitions());
        measured
            && match to {
                Distribution::Hash { .. } => joined || !asked.partitions,
                Distribution::Range { .. } => !asked.partitions,
                Distribution::Single
                | Distribution::Broadcast
                | Distribution::RoundRobin { .. } => false,
            }
    }

    /// By operator: whether the result needs it.
    fn needed(&self) -> Vec<bool> {
        self.reachable(self.plan.root().into_iter().collect())
    }

    fn reachable(&self, mut stack: Vec<OpId>) -> Vec<bool> {
        let mut needed = vec![false; self.plan.operators.len()];
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut needed[id.0 as usize], true)
                && let Some(operator) = self.plan.get(id)
            {
                stack.extend(operator.op.inputs());
            }
        }
        needed
    }

    /// By operator: whether its rows come to a join of two sides without another exchange between.
    fn joined(&self, needed: &[bool]) -> Vec<bool> {
        let mut joined = vec![false; needed.len()];
        for (at, operator) in self.plan.operators.iter().enumerate().rev() {
            let joins = match &operator.op {
                _ if !needed[at] => false,
                Op::Join(join) => {
                    joined[at] || matches!(join.strategy, JoinStrategy::Hash | JoinStrategy::Merge)
                }
                Op::Exchange { .. } => false,
                _ => joined[at],
            };
            if joins {
                operator.op.inputs().iter().for_each(|input| joined[input.0 as usize] = true);
            }
        }
        joined
    }
}
