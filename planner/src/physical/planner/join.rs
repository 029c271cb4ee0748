//! Joins: which algorithm, which side is the table, which rows move.
//!
//! The right side is the table (build), the left one is looked up (probe). Sides are swapped, and columns put back in
//! order behind, where the smaller one is on the left. A broadcast moves the table alone, whole to every task: for
//! kinds that give unmatched rows of the table it would give them once a task, so that those never use it.

mod keys;

use std::sync::Arc;

use super::built::{Built, Spread};
use super::{Planner, compile};
use crate::error::PlanError;
use crate::expr::{Expr, SortKey};
use crate::logical::{PlanRef, Schema};
use crate::optimizer::exprs;
use crate::physical::plan::{Join, JoinKind, JoinStrategy, Op};

use keys::Keys;

/// A join as it is asked for.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) kind: JoinKind,
    pub(super) on: &'a [(Expr, Expr, bool)],
    pub(super) condition: Option<&'a Expr>,
    pub(super) hint: Option<JoinStrategy>,
}

/// A join whose sides have been planned.
#[derive(Clone)]
struct Sides {
    left: Built,
    right: Built,
    kind: JoinKind,
    keys: Keys,
    /// Over the left columns, then the right ones.
    residual: Option<Expr>,
    rows: Option<u64>,
    /// The strategy was asked for.
    hinted: bool,
}

impl Planner<'_> {
    pub(super) fn join(
        &mut self,
        plan: &PlanRef,
        left: &PlanRef,
        right: &PlanRef,
        ask: Ask<'_>,
    ) -> Result<Built, PlanError> {
        let rows = self.rows(plan);
        let (left, right) = (self.lower(left)?, self.lower(right)?);
        let built = self.join_built(left, right, ask, rows)?;
        self.named(built, plan.schema())
    }

    pub(super) fn join_built(
        &mut self,
        left: Built,
        right: Built,
        ask: Ask<'_>,
        rows: Option<u64>,
    ) -> Result<Built, PlanError> {
        let keys = Keys::new(ask.on, &left.schema, &right.schema)?;
        let residual = ask.condition.cloned();
        // With keys, all pairs that match are those of an inner join.
        let kind = match ask.kind {
            JoinKind::Cross => JoinKind::Inner,
            kind => kind,
        };
        let hinted = ask.hint.is_some();
        let mut sides = Sides { left, right, kind, keys, residual, rows, hinted };
        if ask.hint == Some(JoinStrategy::NestedLoop) && kind != JoinKind::NullAwareAnti {
            sides = sides.without_keys();
        }
        if sides.keys.is_empty() {
            return self.nested_loop(sides);
        }
        match (ask.hint, kind) {
            (_, JoinKind::NullAwareAnti) => self.against_whole(sides),
            (Some(JoinStrategy::Merge), _) => self.merge(sides),
            (Some(JoinStrategy::Broadcast), _) => self.hinted_broadcast(sides),
            (Some(JoinStrategy::Hash), _) => self.partitioned(sides),
            _ => self.by_size(sides),
        }
    }

    /// Chooses from what the sides are thought to hold.
    fn by_size(&mut self, sides: Sides) -> Result<Built, PlanError> {
        // A right join is a left one with its sides swapped, which may be a broadcast.
        let flip = sides.kind == JoinKind::Right
            || (sides.kind == JoinKind::Inner && smaller(&sides.left, &sides.right));
        let sides = if flip { sides.swapped() } else { sides };
        let together = sides.left.spread.partitions == 1 || sides.keys.meet(&sides).is_some();
        if !together && can_broadcast(sides.kind) && self.is_small(&sides.right, &sides.left) {
            return self.broadcast_join(sides);
        }
        self.partitioned(sides)
    }

    /// Whether it pays to build the table of `build` in every task of `probe`.
    fn is_small(&self, build: &Built, probe: &Built) -> bool {
        let Some(bytes) = build.bytes() else { return false };
        let tables = bytes.saturating_mul(u64::from(probe.spread.partitions));
        // What exchanging the other side would move; where that is not known, it is taken for large.
        let moved = probe.bytes().unwrap_or(u64::MAX);
        bytes <= self.settings.broadcast_bytes_max
            && tables <= moved.saturating_mul(self.settings.broadcast_cost_max)
    }

    fn hinted_broadcast(&mut self, sides: Sides) -> Result<Built, PlanError> {
        let sides = match sides.kind {
            JoinKind::Right => sides.swapped(),
            JoinKind::Inner if smaller(&sides.left, &sides.right) => sides.swapped(),
            _ => sides,
        };
        if can_broadcast(sides.kind) { self.broadcast_join(sides) } else { self.partitioned(sides) }
    }

    fn broadcast_join(&mut self, mut sides: Sides) -> Result<Built, PlanError> {
        if sides.left.spread.partitions == 1 {
            sides.right = self.gather(&sides.right);
            return self.joined(sides, JoinStrategy::Hash);
        }
        sides.right = self.broadcast(&sides.right);
        self.joined(sides, JoinStrategy::Broadcast)
    }

    /// `NOT IN`: every task must see all of the right side, for one NULL in it decides for all rows.
    fn against_whole(&mut self, sides: Sides) -> Result<Built, PlanError> {
        self.broadcast_join(sides)
    }

    /// Equal keys of both sides in the same partition, the smaller side as the table.
    fn partitioned(&mut self, sides: Sides) -> Result<Built, PlanError> {
        let swap = matches!(
            sides.kind,
            JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full
        ) && smaller(&sides.left, &sides.right);
        let sides = if swap { sides.swapped() } else { sides };
        let sides = self.meet(sides)?;
        self.joined(sides, JoinStrategy::Hash)
    }

    fn merge(&mut self, sides: Sides) -> Result<Built, PlanError> {
        let mut sides = self.meet(sides)?;
        let order = |keys: &[Expr]| -> Vec<SortKey> {
            let key = |expr: &Expr| SortKey {
                expr: expr.clone().into(),
                descending: false,
                nulls_first: true,
            };
            keys.iter().map(key).collect()
        };
        let (left, right) = (order(&sides.keys.left), order(&sides.keys.right));
        sides.left = self.sort_partitions(&sides.left, &left, None, sides.left.rows)?;
        sides.right = self.sort_partitions(&sides.right, &right, None, sides.right.rows)?;
        self.joined(sides, JoinStrategy::Merge)
    }

    /// Moves what must be moved for equal keys to be in the same partition of both sides.
    fn meet(&mut self, mut sides: Sides) -> Result<Sides, PlanError> {
        if sides.keys.meet(&sides).is_some() {
            return Ok(sides);
        }
        let wanted = self.partitions(&[&sides.left, &sides.right]);
        // A side that is spread by some of the keys stays, if it is the larger one.
        let left_first = !smaller(&sides.left, &sides.right);
        for is_left in [left_first, !left_first] {
            let side = if is_left { &sides.left } else { &sides.right };
            let enough = side.spread.partitions >= wanted.div_ceil(2) && side.spread.partitions > 1;
            if let Some(by) = sides.keys.spread_of(side, is_left).filter(|_| enough) {
                let partitions = side.spread.partitions;
                let other = sides.keys.chosen(&by, !is_left);
                if is_left {
                    sides.right = self.hash(&sides.right, &other, partitions)?;
                } else {
                    sides.left = self.hash(&sides.left, &other, partitions)?;
                }
                return Ok(sides);
            }
        }
        sides.left = self.hash(&sides.left, &sides.keys.left, wanted)?;
        sides.right = self.hash(&sides.right, &sides.keys.right, wanted)?;
        Ok(sides)
    }

    /// Without keys: each task has its part of the left side and all of the right one.
    fn nested_loop(&mut self, sides: Sides) -> Result<Built, PlanError> {
        let flip = sides.kind == JoinKind::Right
            || (sides.kind == JoinKind::Inner && smaller(&sides.left, &sides.right));
        let mut sides = if flip { sides.swapped() } else { sides };
        if sides.kind == JoinKind::Full {
            sides.left = self.gather(&sides.left);
        }
        sides.right = match sides.left.spread.partitions {
            1 => self.gather(&sides.right),
            _ => self.broadcast(&sides.right),
        };
        self.joined(sides, JoinStrategy::NestedLoop)
    }

    /// The join itself, and its columns in the order of the program where the sides have been swapped.
    fn joined(&mut self, sides: Sides, strategy: JoinStrategy) -> Result<Built, PlanError> {
        let schema = Arc::new(sides.schema());
        let both = Schema { fields: sides.all_fields() };
        let residual = sides
            .residual
            .as_ref()
            .map(|residual| compile(std::slice::from_ref(residual), &both))
            .transpose()?;
        let op = Op::Join(Join {
            left: sides.left.id,
            right: sides.right.id,
            kind: sides.kind,
            strategy,
            hinted: sides.hinted,
            left_keys: compile(&sides.keys.left, &sides.left.schema)?,
            right_keys: compile(&sides.keys.right, &sides.right.schema)?,
            null_safe: sides.keys.null_safe.clone(),
            residual,
        });
        let spread = sides.spread(strategy);
        let id = self.operators.push(op, &schema, sides.rows);
        let scanned = sides.left.scanned.zip(sides.right.scanned);
        let scanned = scanned.map(|(left, right)| left.saturating_add(right));
        let built = Built { id, schema, spread, rows: sides.rows, scanned };
        if !sides.keys.swapped {
            return Ok(built);
        }
        let (left, right) = (sides.left.schema.len() as u32, sides.right.schema.len() as u32);
        let order: Vec<u32> = (left..left + right).chain(0..left).collect();
        self.pick(&built, &order)
    }
}

/// Kinds that give no row for an unmatched row of the right side.
fn can_broadcast(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Right | JoinKind::Full)
}

/// Whether `a` is known to be smaller than `b`, or known while `b` is not.
fn smaller(a: &Built, b: &Built) -> bool {
    match (a.bytes(), b.bytes()) {
        (Some(a), Some(b)) => a < b,
        (a, b) => a.is_some() && b.is_none(),
    }
}

impl Sides {
    /// The same join with the sides the other way round. Kinds that give rows of the left side alone have none.
    fn swapped(self) -> Self {
        let (left, right) = (self.left.schema.len() as u32, self.right.schema.len() as u32);
        let kind = match self.kind {
            JoinKind::Left => JoinKind::Right,
            JoinKind::Right => JoinKind::Left,
            kind => kind,
        };
        let moved = |index: u32| if index < left { index + right } else { index - left };
        Self {
            kind,
            keys: self.keys.swapped(),
            residual: self.residual.map(|residual| exprs::remap(&residual, moved)),
            left: self.right,
            right: self.left,
            rows: self.rows,
            hinted: self.hinted,
        }
    }

    /// The same with its keys as a condition.
    fn without_keys(mut self) -> Self {
        let shift = self.left.schema.len() as u32;
        let mut terms = self.keys.conditions(shift);
        terms.extend(self.residual.take());
        self.residual = exprs::all_of(terms);
        self.keys = self.keys.none();
        self
    }

    fn all_fields(&self) -> Vec<crate::logical::Field> {
        self.left.schema.fields.iter().chain(&self.right.schema.fields).cloned().collect()
    }

    /// The columns it gives.
    fn schema(&self) -> Schema {
        let (left_null, right_null) = match self.kind {
            JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::NullAwareAnti => {
                return Schema::clone(&self.left.schema);
            }
            JoinKind::Inner | JoinKind::Cross => (false, false),
            JoinKind::Left => (false, true),
            JoinKind::Right => (true, false),
            JoinKind::Full => (true, true),
        };
        let mut fields = self.all_fields();
        let (left, right) = fields.split_at_mut(self.left.schema.len());
        left.iter_mut().for_each(|field| field.nullable |= left_null);
        right.iter_mut().for_each(|field| field.nullable |= right_null);
        Schema { fields }
    }

    /// How the rows it gives are spread: as those of the sides that it does not fill with NULLs.
    fn spread(&self, strategy: JoinStrategy) -> Spread {
        let left = self.left.spread.clone();
        let with_table = matches!(strategy, JoinStrategy::Hash | JoinStrategy::Merge);
        let right = || self.right.spread.shifted(self.left.schema.len() as u32);
        match self.kind {
            JoinKind::Inner | JoinKind::Cross if with_table => left.and(right()),
            JoinKind::Right if with_table => right(),
            JoinKind::Right | JoinKind::Full => Spread::of(left.partitions),
            _ => left,
        }
    }
}
