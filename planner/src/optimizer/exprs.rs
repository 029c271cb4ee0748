//! Questions about expressions by position, and what is made of them: what the rules and the physical planner have in
//! common. How expressions of any depth are walked and rebuilt is [`crate::expr`]'s.

use crate::expr::{BinaryOp, Expr, ExprRef, Scalar, ScalarFn, UnaryOp, deeper, map_fields};

pub(crate) use crate::expr::{any, fields, rewrite, rewrite_up};

/// The number of different nodes, counted up to `limit`.
pub(crate) fn size(expr: &Expr, limit: usize) -> usize {
    let mut nodes = 0;
    any(expr, |_| {
        nodes += 1;
        nodes >= limit
    });
    nodes
}

/// Calls `see` for each input column, as often as it is used.
pub(crate) fn each_field(expr: &Expr, mut see: impl FnMut(u32)) {
    any(expr, |expr| {
        if let Expr::Field(index) = expr {
            see(*index);
        }
        false
    });
}

/// Whether `test` holds for every input column that is used.
pub(crate) fn all_fields(expr: &Expr, mut test: impl FnMut(u32) -> bool) -> bool {
    !any(expr, |expr| matches!(expr, Expr::Field(index) if !test(*index)))
}

/// Whether a second evaluation, or one at another place of the plan, may give another value.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    any(expr, |expr| match expr {
        Expr::Call { function: ScalarFn::Rand | ScalarFn::RowId, .. } => true,
        Expr::Udf { udf, .. } => !udf.deterministic,
        _ => false,
    })
}

/// Whether there may be values for which it fails. Some of those that do not fail are among them.
pub(crate) fn may_fail(expr: &Expr) -> bool {
    any(expr, |expr| match expr {
        Expr::Binary { op, .. } => !op.is_comparison(),
        Expr::Unary { op, .. } => *op == UnaryOp::Negate,
        Expr::Cast { lenient, .. } => !lenient && as_constant(expr).is_none(),
        Expr::Call { .. } | Expr::Udf { .. } => true,
        _ => false,
    })
}

/// Whether it calls code of the user's.
pub(crate) fn has_udf(expr: &Expr) -> bool {
    any(expr, |expr| matches!(expr, Expr::Udf { .. }))
}

/// The expression below its aliases.
pub(crate) fn unalias(mut expr: &Expr) -> &Expr {
    while let Expr::Alias { expr: inner, .. } = expr {
        expr = inner;
    }
    expr
}

/// The column it is a plain copy of.
pub(crate) fn as_field(expr: &Expr) -> Option<u32> {
    match unalias(expr) {
        Expr::Field(index) => Some(*index),
        _ => None,
    }
}

/// The expression with its columns moved to other positions.
pub(crate) fn remap(expr: &Expr, to: impl Fn(u32) -> u32) -> Expr {
    map_fields(expr, |index| Expr::Field(to(index)))
}

/// The expression with its columns moved to other positions, if all of them have one.
pub(crate) fn try_remap(expr: &Expr, to: impl Fn(u32) -> Option<u32>) -> Option<Expr> {
    all_fields(expr, |index| to(index).is_some())
        .then(|| remap(expr, |index| to(index).unwrap_or(index)))
}

/// The expression over what `columns` are computed from.
pub(crate) fn substitute(expr: &Expr, columns: &[Expr]) -> Expr {
    map_fields(expr, |index| match columns.get(index as usize).map(unalias) {
        Some(Expr::Literal(value)) => settled(value.clone()),
        Some(column) => column.clone(),
        None => Expr::Field(index),
    })
}

/// A value that takes the place of an operation or a column. The type of an operation may depend on whether an argument
/// is written out, as decimals have the digits of an integer beside them; so that no type changes, it is one that is
/// not: a cast to its own type.
pub(crate) fn settled(value: Scalar) -> Expr {
    let to = value.data_type();
    match to.is_numeric() || matches!(to, arrow_schema::DataType::Interval(_)) {
        true => Expr::Cast { expr: Expr::Literal(value).into(), to, lenient: false },
        false => Expr::Literal(value),
    }
}

/// The value, if it is written out or [`settled`].
pub(crate) fn as_constant(expr: &Expr) -> Option<&Scalar> {
    match unalias(expr) {
        Expr::Literal(value) => Some(value),
        Expr::Cast { expr, to, .. } => match unalias(expr) {
            Expr::Literal(value) if value.data_type() == *to => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// The columns `outer` over what the columns `inner` are computed from. `None` where something would be computed
/// more than once by that.
pub(crate) fn merge_projections(inner: &[Expr], outer: &[Expr]) -> Option<Vec<Expr>> {
    let mut uses = vec![0_u32; inner.len()];
    for column in outer {
        each_field(column, |index| {
            if let Some(uses) = uses.get_mut(index as usize) {
                *uses += 1;
            }
        });
    }
    let cheap = |column: &Expr| unalias(column).is_leaf();
    if inner.iter().zip(&uses).any(|(column, uses)| *uses > 1 && !cheap(column)) {
        return None;
    }
    Some(outer.iter().map(|column| substitute(column, inner)).collect())
}

/// The terms of a conjunction, in order.
pub(crate) fn conjuncts(expr: &Expr) -> Vec<Expr> {
    terms(expr, |expr| match expr {
        Expr::And(all) => Some(all),
        _ => None,
    })
}

/// The terms of a disjunction, in order.
pub(crate) fn disjuncts(expr: &Expr) -> Vec<Expr> {
    terms(expr, |expr| match expr {
        Expr::Or(all) => Some(all),
        _ => None,
    })
}

fn terms(expr: &Expr, inner: impl Fn(&Expr) -> Option<&Vec<ExprRef>>) -> Vec<Expr> {
    let mut out = Vec::new();
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        match inner(unalias(expr)) {
            Some(all) => stack.extend(all.iter().rev().map(|term| &**term)),
            None => out.push(unalias(expr).clone()),
        }
    }
    out
}

/// All of these; `None` where there are none.
pub(crate) fn all_of(mut terms: Vec<Expr>) -> Option<Expr> {
    match terms.len() {
        0 | 1 => terms.pop(),
        _ => Some(Expr::And(terms.into_iter().map(Into::into).collect())),
    }
}

/// Adds what is not there yet.
pub(crate) fn add_new(to: &mut Vec<Expr>, term: Expr) {
    /// Beyond this many, looking for equal ones costs more than they do.
    const COMPARED_MAX: usize = 64;
    if !to.iter().take(COMPARED_MAX).any(|known| *known == term) {
        to.push(term);
    }
}

/// The sides of `left = right` or `left <=> right`, and whether NULLs match.
pub(crate) fn as_equality(expr: &Expr) -> Option<(&ExprRef, &ExprRef, bool)> {
    match expr {
        Expr::Binary { op: BinaryOp::Eq, left, right } => Some((left, right, false)),
        Expr::Binary { op: BinaryOp::NullSafeEq, left, right } => Some((left, right, true)),
        _ => None,
    }
}

/// `left = right`, or `left <=> right` if NULLs match.
pub(crate) fn equality(left: Expr, right: Expr, null_safe: bool) -> Expr {
    let op = if null_safe { BinaryOp::NullSafeEq } else { BinaryOp::Eq };
    Expr::Binary { op, left: left.into(), right: right.into() }
}

/// Whether it is this truth value.
pub(crate) fn is_bool(expr: &Expr, value: bool) -> bool {
    matches!(expr, Expr::Literal(Scalar::Boolean(found)) if *found == value)
}

/// Whether it is NULL whenever the columns in `of` are all NULL.
pub(crate) fn is_strict(expr: &Expr, of: &dyn Fn(u32) -> bool) -> bool {
    deeper(|| match expr {
        Expr::Field(index) => of(*index),
        Expr::Literal(value) => value.is_null(),
        Expr::Alias { expr, .. } | Expr::Cast { expr, .. } => is_strict(expr, of),
        Expr::Unary { op: UnaryOp::Not | UnaryOp::Negate | UnaryOp::IsNan, expr } => {
            is_strict(expr, of)
        }
        Expr::Binary { op, left, right } => {
            *op != BinaryOp::NullSafeEq && (is_strict(left, of) || is_strict(right, of))
        }
        Expr::Like { expr, pattern, .. } => is_strict(expr, of) || is_strict(pattern, of),
        Expr::InList { expr, list, .. } => !list.is_empty() && is_strict(expr, of),
        Expr::And(all) | Expr::Or(all) => all.iter().all(|term| is_strict(term, of)),
        Expr::Call { function, args } => {
            is_strict_function(*function) && args.iter().any(|arg| is_strict(arg, of))
        }
        _ => false,
    })
}

/// Functions that are NULL for a NULL argument; those of which that is not sure are left out.
fn is_strict_function(function: ScalarFn) -> bool {
    use ScalarFn as F;
    matches!(
        function,
        F::Abs
            | F::Floor
            | F::Ceil
            | F::Sqrt
            | F::Length
            | F::Lower
            | F::Upper
            | F::Trim
            | F::Substring
            | F::Left
            | F::Right
            | F::Concat
            | F::Contains
            | F::StartsWith
            | F::EndsWith
            | F::Year
            | F::Quarter
            | F::Month
            | F::Day
            | F::Hour
            | F::DateTrunc
            | F::DateAdd
            | F::DateSub
            | F::DateDiff
    )
}

/// Whether the condition is never true when the columns in `of` are all NULL.
pub(crate) fn rejects_nulls(condition: &Expr, of: &dyn Fn(u32) -> bool) -> bool {
    deeper(|| match condition {
        Expr::Alias { expr, .. } => rejects_nulls(expr, of),
        Expr::Literal(value) => value.is_null() || is_bool(condition, false),
        Expr::Unary { op: UnaryOp::IsNotNull, expr } => is_strict(expr, of),
        Expr::And(all) => all.iter().any(|term| rejects_nulls(term, of)),
        Expr::Or(all) => all.iter().all(|term| rejects_nulls(term, of)),
        _ => is_strict(condition, of),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(index: u32) -> ExprRef {
        Expr::Field(index).into()
    }

    fn greater(index: u32, value: i64) -> Expr {
        let value = Expr::Literal(value.into()).into();
        Expr::Binary { op: BinaryOp::Gt, left: field(index), right: value }
    }

    #[test]
    fn long_chains_are_rewritten_on_a_small_stack() {
        let walk = || {
            let mut sum = Expr::Field(0);
            for _ in 0..100_000 {
                sum = Expr::Binary { op: BinaryOp::Add, left: sum.into(), right: field(1) };
            }
            let moved = remap(&sum, |index| index + 1);
            assert_eq!(fields(&moved), [1, 2]);
            assert_eq!(size(&moved, usize::MAX), 200_001);
        };
        std::thread::Builder::new().stack_size(2 << 20).spawn(walk).unwrap().join().unwrap();
    }

    #[test]
    fn conjunctions_come_apart_in_order() {
        let inner = Expr::And(vec![greater(1, 1).into(), greater(2, 2).into()]);
        let outer = Expr::And(vec![greater(0, 0).into(), inner.into(), greater(3, 3).into()]);
        let found = conjuncts(&outer);
        assert_eq!(found, (0..4).map(|i| greater(i, i64::from(i))).collect::<Vec<_>>());
    }

    #[test]
    fn what_rejects_nulls_and_what_does_not() {
        let right = |index: u32| index == 1;
        let is_null = Expr::Unary { op: UnaryOp::IsNull, expr: field(1) };
        assert!(rejects_nulls(&greater(1, 5), &right));
        assert!(!rejects_nulls(&greater(0, 5), &right));
        assert!(!rejects_nulls(&is_null, &right));
        assert!(!rejects_nulls(
            &Expr::Or(vec![greater(1, 5).into(), is_null.clone().into()]),
            &right
        ));
        assert!(rejects_nulls(&Expr::And(vec![greater(1, 5).into(), is_null.into()]), &right));
        let safe = equality(Expr::Field(1), Expr::Field(0), true);
        assert!(!rejects_nulls(&safe, &right));
        let not = |expr: Expr| Expr::Unary { op: UnaryOp::Not, expr: expr.into() };
        assert!(rejects_nulls(&not(greater(1, 5)), &right));
        // NOT (NULL AND false) is true.
        let both = Expr::And(vec![greater(1, 5).into(), greater(0, 5).into()]);
        assert!(!rejects_nulls(&not(both), &right));
    }
}
