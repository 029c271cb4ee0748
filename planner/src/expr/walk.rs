//! Looking through expressions and replacing parts of them, however deep they are, in time linear in their size:
//! parts that are referred to several times are looked at once, and stay shared.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use super::{Expr, ExprRef, deeper};

/// Whether `test` holds for the expression or a part of it. Ends at the first; the order is not specified. `test` is
/// asked about a leaf as often as it is referred to, so that uses can be counted.
pub fn any(expr: &Expr, mut test: impl FnMut(&Expr) -> bool) -> bool {
    let mut seen = HashSet::new();
    let mut waiting = vec![expr];
    while let Some(expr) = waiting.pop() {
        if test(expr) {
            return true;
        }
        for child in expr.children() {
            if child.is_leaf() || !child.is_shared() || seen.insert(child.address()) {
                waiting.push(child);
            }
        }
    }
    false
}

/// The input columns that are used, each once, in increasing order.
#[must_use]
pub fn fields(expr: &Expr) -> Vec<u32> {
    let mut found = Vec::new();
    any(expr, |part| {
        if let Expr::Field(position) = part {
            found.push(*position);
        }
        false
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// The expression with parts replaced: from the outside in, by what `replace` gives for a part, which is not looked
/// into any more; a part for which it gives nothing is kept, and its own parts are asked about. What does not change
/// is not copied. `replace` is asked once about a part that is referred to several times.
///
/// # Errors
///
/// The first of `replace`.
pub fn try_rewrite<E>(
    expr: &Expr,
    replace: &mut dyn FnMut(&Expr) -> Result<Option<Expr>, E>,
) -> Result<Expr, E> {
    let order = Order::OutsideIn;
    let changed = Rewrite { replace, order, done: HashMap::new() }.expr(expr)?;
    Ok(changed.unwrap_or_else(|| expr.clone()))
}

/// [`try_rewrite`] with what cannot fail.
#[must_use]
pub fn rewrite(expr: &Expr, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
    let result: Result<Expr, Infallible> = try_rewrite(expr, &mut |part| Ok(replace(part)));
    match result {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

/// [`rewrite`] from the inside out: `replace` is asked about each part when the parts of that are done, and what it
/// gives is not looked into.
pub(crate) fn rewrite_up(expr: &Expr, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
    let mut replace = |part: &Expr| Ok::<_, Infallible>(replace(part));
    let order = Order::InsideOut;
    match (Rewrite { replace: &mut replace, order, done: HashMap::new() }.expr(expr)) {
        Ok(changed) => changed.unwrap_or_else(|| expr.clone()),
        Err(never) => match never {},
    }
}

/// The expression with columns by position replaced.
#[must_use]
pub fn map_fields(expr: &Expr, mut replace: impl FnMut(u32) -> Expr) -> Expr {
    rewrite(expr, &mut |part| match part {
        Expr::Field(position) => Some(replace(*position)),
        _ => None,
    })
}

/// Whether a part is replaced before its own parts, which are then not looked into, or after them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    OutsideIn,
    InsideOut,
}

struct Rewrite<'a, E> {
    replace: &'a mut dyn FnMut(&Expr) -> Result<Option<Expr>, E>,
    order: Order,
    /// What shared parts have become, by address; nothing for those that stay.
    done: HashMap<usize, Option<ExprRef>>,
}

impl<E> Rewrite<'_, E> {
    /// What the expression becomes, if it changes.
    fn expr(&mut self, expr: &Expr) -> Result<Option<Expr>, E> {
        match self.order {
            Order::OutsideIn => match (self.replace)(expr)? {
                Some(new) => Ok(Some(new)),
                None => self.parts(expr),
            },
            Order::InsideOut => {
                let changed = self.parts(expr)?;
                Ok((self.replace)(changed.as_ref().unwrap_or(expr))?.or(changed))
            }
        }
    }

    /// The expression with what its parts become, if one of them changes.
    fn parts(&mut self, expr: &Expr) -> Result<Option<Expr>, E> {
        let mut changes = Vec::new();
        for (place, child) in expr.children().into_iter().enumerate() {
            if let Some(new) = self.part(child)? {
                changes.push((place, new));
            }
        }
        if changes.is_empty() {
            return Ok(None);
        }
        let mut changed = expr.clone();
        let mut children = changed.children_mut();
        for (place, new) in changes {
            *children[place] = new;
        }
        Ok(Some(changed))
    }

    fn part(&mut self, part: &ExprRef) -> Result<Option<ExprRef>, E> {
        let shared = part.is_shared() && !part.is_leaf();
        if shared && let Some(known) = self.done.get(&part.address()) {
            return Ok(known.clone());
        }
        let new = deeper(|| self.expr(part))?.map(ExprRef::from);
        if shared {
            self.done.insert(part.address(), new.clone());
        }
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{col, lit};

    #[test]
    fn what_does_not_change_stays_the_same_object() {
        let kept: ExprRef = (col("a") + 1).into();
        let sum = Expr::And(vec![kept.clone(), (col("b") + 2).into()]);
        let changed = rewrite(&sum, &mut |part| (*part == lit(2)).then(|| lit(3)));
        assert_eq!(changed, Expr::And(vec![kept.clone(), (col("b") + 3).into()]));
        assert!(changed.children()[0].same(&kept));
    }

    #[test]
    fn shared_parts_are_asked_about_once() {
        // A tree of 2^60 leaves.
        let mut expr = Expr::Field(0);
        for _ in 0..60 {
            let part = ExprRef::from(expr);
            expr = Expr::And(vec![part.clone(), part]);
        }
        let mut asked = 0;
        let moved = rewrite(&expr, &mut |part| {
            asked += 1;
            matches!(part, Expr::Field(_)).then(|| Expr::Field(7))
        });
        assert!(asked <= 62, "{asked}");
        assert_eq!(fields(&moved), [7]);
    }

    #[test]
    fn from_the_inside_out_parts_are_seen_as_they_have_become() {
        let sum = |n: i64| lit(n) + col("a");
        let mut seen = Vec::new();
        let changed = rewrite_up(&Expr::And(vec![sum(1).into(), col("b").into()]), &mut |part| {
            seen.push(part.clone());
            (*part == lit(1i64)).then(|| lit(2i64))
        });
        assert_eq!(changed, Expr::And(vec![sum(2).into(), col("b").into()]));
        assert_eq!(seen, [lit(1i64), col("a"), sum(2), col("b"), changed]);
    }

    #[test]
    fn each_use_of_a_shared_leaf_is_seen() {
        let leaf = ExprRef::from(Expr::Field(0));
        let mut uses = 0;
        any(&Expr::And(vec![leaf.clone(), leaf]), |part| {
            uses += u32::from(matches!(part, Expr::Field(_)));
            false
        });
        assert_eq!(uses, 2);
    }

    #[test]
    fn fields_are_found_once_and_in_order() {
        let expr =
            Expr::And(vec![Expr::Field(3).into(), Expr::Field(1).into(), Expr::Field(3).into()]);
        assert_eq!(fields(&expr), [1, 3]);
    }
}
