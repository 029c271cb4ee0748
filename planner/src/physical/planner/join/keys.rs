//! Equal keys of a join, and whether sides are spread by them.

use super::Sides;
use crate::error::PlanError;
use crate::expr::Expr;
use crate::logical::Schema;
use crate::optimizer::exprs;
use crate::physical::planner::built::Built;
use crate::types::coerce::common_type;
use crate::types::infer;

/// The keys.
#[derive(Clone)]
pub(super) struct Keys {
    /// Over the left columns.
    pub(super) left: Vec<Expr>,
    /// Over the right columns, of the same types.
    pub(super) right: Vec<Expr>,
    /// NULL matches NULL.
    pub(super) null_safe: Vec<bool>,
    /// Whether the sides are the other way round than the program has them.
    pub(super) swapped: bool,
}

impl Keys {
    pub(super) fn new(
        on: &[(Expr, Expr, bool)],
        left: &Schema,
        right: &Schema,
    ) -> Result<Self, PlanError> {
        let mut keys =
            Self { left: Vec::new(), right: Vec::new(), null_safe: Vec::new(), swapped: false };
        for (a, b, null_safe) in on {
            let (a, b) = of_one_type((exprs::unalias(a), left), (exprs::unalias(b), right))?;
            keys.left.push(a);
            keys.right.push(b);
            keys.null_safe.push(*null_safe);
        }
        Ok(keys)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub(super) fn none(&self) -> Self {
        Self { left: Vec::new(), right: Vec::new(), null_safe: Vec::new(), ..*self }
    }

    pub(super) fn swapped(self) -> Self {
        Self {
            left: self.right,
            right: self.left,
            null_safe: self.null_safe,
            swapped: !self.swapped,
        }
    }

    /// The keys as conditions over the left columns, then the right ones.
    pub(super) fn conditions(&self, shift: u32) -> Vec<Expr> {
        let pairs = self.left.iter().zip(&self.right).zip(&self.null_safe);
        pairs
            .map(|((left, right), null_safe)| {
                let right = exprs::remap(right, |index| index + shift);
                exprs::equality(left.clone(), right, *null_safe)
            })
            .collect()
    }

    /// The keys at these places, of one side.
    pub(super) fn chosen(&self, places: &[usize], of_left: bool) -> Vec<Expr> {
        let keys = if of_left { &self.left } else { &self.right };
        places.iter().map(|place| keys[*place].clone()).collect()
    }

    /// The places of the keys that a side is spread by.
    pub(super) fn spread_of(&self, side: &Built, is_left: bool) -> Option<Vec<usize>> {
        self.ways(side, is_left).into_iter().next()
    }

    /// The places of the keys that both sides are spread by alike; none for one partition each.
    pub(super) fn meet(&self, sides: &Sides) -> Option<Vec<usize>> {
        let partitions = sides.left.spread.partitions;
        if partitions != sides.right.spread.partitions {
            return None;
        }
        if partitions == 1 {
            return Some(Vec::new());
        }
        let right = self.ways(&sides.right, false);
        self.ways(&sides.left, true).into_iter().find(|way| right.contains(way))
    }

    fn ways(&self, side: &Built, is_left: bool) -> Vec<Vec<usize>> {
        let keys = if is_left { &self.left } else { &self.right };
        let place = |wanted: &Expr| keys.iter().position(|key| key == wanted);
        let hashed = side.spread.hashed.iter();
        hashed.filter_map(|list| list.iter().map(place).collect()).collect()
    }
}

/// Both keys as the type they are compared as.
fn of_one_type(
    (a, left): (&Expr, &Schema),
    (b, right): (&Expr, &Schema),
) -> Result<(Expr, Expr), PlanError> {
    let (a_type, b_type) = (infer(a, left)?.0, infer(b, right)?.0);
    if a_type == b_type {
        return Ok((a.clone(), b.clone()));
    }
    let hint = "cast one of the join keys";
    let mismatch = || PlanError::mismatch("compare", (&a_type, &b_type), (a, left), hint);
    let to = common_type(&a_type, &b_type).ok_or_else(mismatch)?;
    let cast = |key: &Expr, from| match from == to {
        true => key.clone(),
        false => Expr::Cast { expr: key.clone().into(), to: to.clone(), lenient: false },
    };
    Ok((cast(a, a_type.clone()), cast(b, b_type.clone())))
}
