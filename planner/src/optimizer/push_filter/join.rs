//! Conditions and joins. What kinds allow:
//!
//! | Kind          | Above, of the left | Above, of the right | In the condition, of the left | ..of the right |
//! |---------------|--------------------|---------------------|-------------------------------|----------------|
//! | inner, cross  | left side          | right side          | left side                     | right side     |
//! | left          | left side          | stays               | stays                         | right side     |
//! | right         | stays              | right side          | left side                     | stays          |
//! | full          | stays              | stays               | stays                         | stays          |
//! | semi          | left side          | -                   | left side                     | right side     |
//! | anti          | left side          | -                   | stays                         | right side     |
//! | NOT IN        | left side          | -                   | stays                         | stays          |
//!
//! A condition above that no row filled with NULLs passes makes an outer join an inner one, before anything else.

use super::Push;
use crate::expr::Expr;
use crate::logical::{LogicalPlan, PlanRef, Schema};
use crate::optimizer::{NoFold, exprs, plans, simplify};
use crate::physical::JoinKind;

/// Of which side's columns a condition is.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
    Both,
}

/// A join taken apart.
struct Parts {
    /// The number of left columns.
    columns: u32,
    kind: JoinKind,
    on: Vec<(Expr, Expr, bool)>,
    condition: Vec<Expr>,
    to_left: Vec<Expr>,
    /// Over the right columns alone.
    to_right: Vec<Expr>,
    stay: Vec<Expr>,
}

impl Push {
    pub(super) fn join(&mut self, plan: &PlanRef, terms: Vec<Expr>) -> PlanRef {
        let LogicalPlan::Join { left, right, kind, on, condition, hint } = &**plan else {
            return plan.clone();
        };
        let columns = left.schema().len() as u32;
        let old = condition.as_ref().map(exprs::conjuncts).unwrap_or_default();
        let mut parts = Parts {
            columns,
            kind: stronger(*kind, &terms, columns),
            on: on.clone(),
            condition: Vec::new(),
            to_left: Vec::new(),
            to_right: Vec::new(),
            stay: Vec::new(),
        };
        for term in old.iter().cloned() {
            parts.own(term);
        }
        for term in terms {
            parts.above(term);
        }
        parts.take_keys();
        parts.imply_by_branches();
        parts.imply_by_keys(left, right);
        let left = self.push(left, parts.to_left);
        let right = self.push(right, parts.to_right);
        let same = parts.kind == *kind && parts.on.len() == on.len() && parts.condition == old;
        let new = match same {
            true => plans::with_inputs(plan, vec![left, right]),
            false => {
                let condition = exprs::all_of(parts.condition);
                plans::join((left, right), parts.kind, parts.on, condition, *hint)
            }
        };
        plans::filter(new, parts.stay)
    }
}

/// The kind of join that is left when rows filled with NULLs do not pass `terms`.
fn stronger(kind: JoinKind, terms: &[Expr], columns: u32) -> JoinKind {
    let rejects = |is_of: &dyn Fn(u32) -> bool| {
        terms.iter().any(|term| !exprs::is_volatile(term) && exprs::rejects_nulls(term, is_of))
    };
    match kind {
        JoinKind::Left if rejects(&|field| field >= columns) => JoinKind::Inner,
        JoinKind::Right if rejects(&|field| field < columns) => JoinKind::Inner,
        JoinKind::Full => {
            match (rejects(&|field| field < columns), rejects(&|field| field >= columns)) {
                (true, true) => JoinKind::Inner,
                (true, false) => JoinKind::Left,
                (false, true) => JoinKind::Right,
                (false, false) => JoinKind::Full,
            }
        }
        kind => kind,
    }
}

impl Parts {
    fn side(&self, term: &Expr) -> Side {
        let (mut left, mut right) = (false, false);
        exprs::each_field(
            term,
            |field| {
                if field < self.columns { left = true } else { right = true }
            },
        );
        match (left, right) {
            (true, false) => Side::Left,
            (false, true) => Side::Right,
            // One of no column says the same of every pair.
            _ => Side::Both,
        }
    }

    fn send(&mut self, term: Expr, to: Side) {
        match to {
            Side::Left => exprs::add_new(&mut self.to_left, term),
            Side::Right => {
                let columns = self.columns;
                exprs::add_new(&mut self.to_right, exprs::remap(&term, |field| field - columns));
            }
            Side::Both => exprs::add_new(&mut self.condition, term),
        }
    }

    /// A condition of the join's own.
    fn own(&mut self, term: Expr) {
        let side = self.side(&term);
        let goes = match (self.kind, side) {
            _ if exprs::is_volatile(&term) => false,
            (JoinKind::Inner | JoinKind::Cross | JoinKind::LeftSemi, _) => true,
            (JoinKind::Left | JoinKind::LeftAnti, Side::Right) => true,
            (JoinKind::Right, Side::Left) => true,
            _ => false,
        };
        self.send(term, if goes { side } else { Side::Both });
    }

    /// A condition above the join.
    fn above(&mut self, term: Expr) {
        if exprs::is_volatile(&term) {
            return self.stay.push(term);
        }
        let side = self.side(&term);
        let goes = match (self.kind, side) {
            (JoinKind::Inner | JoinKind::Cross, _) => true,
            (JoinKind::Right, Side::Right) => true,
            (JoinKind::Right | JoinKind::Full, _) => false,
            (_, Side::Left) => true,
            _ => false,
        };
        if goes { self.send(term, side) } else { self.stay.push(term) }
    }

    /// Equalities of the two sides are keys.
    fn take_keys(&mut self) {
        if self.kind == JoinKind::NullAwareAnti {
            return;
        }
        let columns = self.columns;
        for term in std::mem::take(&mut self.condition) {
            let sides = exprs::as_equality(&term).filter(|_| !exprs::is_volatile(&term)).and_then(
                |(a, b, null_safe)| match (self.side(a), self.side(b)) {
                    (Side::Left, Side::Right) => Some((a, b, null_safe)),
                    (Side::Right, Side::Left) => Some((b, a, null_safe)),
                    _ => None,
                },
            );
            let Some((left, right, null_safe)) = sides else {
                self.condition.push(term);
                continue;
            };
            let right = exprs::remap(right, |field| field - columns);
            let key = ((**left).clone(), right, null_safe);
            if !self.on.contains(&key) {
                self.on.push(key);
            }
        }
        let restricted = !self.on.is_empty() || !self.condition.is_empty();
        if self.kind == JoinKind::Cross && restricted {
            self.kind = JoinKind::Inner;
        }
    }

    /// Of `(a = 1 AND b = 2) OR (a = 3 AND b = 4)`, each side passes `a = 1 OR a = 3`, `b = 2 OR b = 4`. Without those that
    /// may fail: what kept them from rows may be of the other side.
    fn imply_by_branches(&mut self) {
        const BRANCHES_MAX: usize = 32;
        if !matches!(self.kind, JoinKind::Inner | JoinKind::LeftSemi) {
            return;
        }
        for term in self.condition.clone() {
            if !matches!(term, Expr::Or(_)) || exprs::is_volatile(&term) {
                continue;
            }
            let branches = exprs::disjuncts(&term);
            if branches.len() > BRANCHES_MAX {
                continue;
            }
            for side in [Side::Left, Side::Right] {
                let of_side = |branch: &Expr| {
                    let terms = exprs::conjuncts(branch).into_iter();
                    let passes = |term: &Expr| self.side(term) == side && !exprs::may_fail(term);
                    exprs::all_of(terms.filter(passes).collect())
                };
                let implied: Option<Vec<Expr>> = branches.iter().map(of_side).collect();
                if let Some(implied) = implied {
                    let mut different = Vec::new();
                    implied.into_iter().for_each(|term| exprs::add_new(&mut different, term));
                    let any = match different.len() {
                        1 => different.remove(0),
                        _ => Expr::Or(different.into_iter().map(Into::into).collect()),
                    };
                    // In the form in which it will be found again where it ends up.
                    let any =
                        simplify::expression(&any, &Schema::default(), &NoFold).unwrap_or(any);
                    self.send(any, side);
                }
            }
        }
    }

    /// What holds for a key holds for the equal key of the other side. For floats it need not: 0.0 and -0.0 are
    /// equal, and not the same.
    fn imply_by_keys(&mut self, left: &PlanRef, right: &PlanRef) {
        let same = |(l, r, null_safe): &(Expr, Expr, bool)| {
            let (l, r) = (exprs::as_field(l)?, exprs::as_field(r)?);
            let left = &left.schema().fields.get(l as usize)?.data_type;
            let right = &right.schema().fields.get(r as usize)?.data_type;
            let exact = left == right && !left.is_floating() && !left.is_nested();
            (exact && !null_safe).then_some((l, r))
        };
        let pairs: Vec<(u32, u32)> = self.on.iter().filter_map(same).collect();
        if pairs.is_empty() {
            return;
        }
        let to_right = |field: u32| pairs.iter().find(|pair| pair.0 == field).map(|pair| pair.1);
        let to_left = |field: u32| pairs.iter().find(|pair| pair.1 == field).map(|pair| pair.0);
        let simple = |term: &&Expr| {
            !exprs::has_udf(term)
                && exprs::size(term, super::NODES_MAX) < super::NODES_MAX
                && exprs::any(term, |expr| matches!(expr, Expr::Field(_)))
        };
        let of_left: Vec<Expr> = self
            .to_left
            .iter()
            .filter(simple)
            .filter_map(|term| exprs::try_remap(term, to_right))
            .collect();
        let of_right: Vec<Expr> = self
            .to_right
            .iter()
            .filter(simple)
            .filter_map(|term| exprs::try_remap(term, to_left))
            .collect();
        let (both, left_only, right_only) = match self.kind {
            JoinKind::Inner | JoinKind::LeftSemi => (true, false, false),
            JoinKind::Left | JoinKind::LeftAnti => (false, true, false),
            JoinKind::Right => (false, false, true),
            _ => (false, false, false),
        };
        if both || left_only {
            of_left.into_iter().for_each(|term| exprs::add_new(&mut self.to_right, term));
        }
        if both || right_only {
            of_right.into_iter().for_each(|term| exprs::add_new(&mut self.to_left, term));
        }
    }
}
