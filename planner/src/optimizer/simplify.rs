//! Expressions and nodes that say the same in less: constants are folded, conditions brought into the form that the
//! other rules look for, nodes that do nothing dropped.
//!
//! Truth is three-valued: each identity here holds for NULL too.

use super::plans::BottomUp;
use super::{Fold, exprs, plans};
use crate::expr::{BinaryOp, Expr, ExprRef, Scalar, UnaryOp, deeper};
use crate::logical::{LogicalPlan, PlanRef, Schema};

/// Equalities with one expression that are worth a set.
const SET_MIN: usize = 4;
/// Common conditions are looked for among so many alternatives at most, with so many conditions each.
const FACTORED_MAX: usize = 64;

pub(super) fn simplify(plan: &PlanRef, fold: &dyn Fold) -> PlanRef {
    BottomUp::new(|plan| node(plan, fold)).run(plan)
}

fn node(plan: PlanRef, fold: &dyn Fold) -> PlanRef {
    let simple = |expr: &Expr, schema: &Schema| expression(expr, schema, fold);
    let schema = plan.schema().clone();
    match &*plan {
        LogicalPlan::Alias { input, .. } => input.clone(),
        LogicalPlan::Filter { input, predicate } => match simple(predicate, input.schema()) {
            Some(predicate) => filter(input, predicate),
            None if matches!(predicate, Expr::Literal(_)) => filter(input, predicate.clone()),
            None => plan.clone(),
        },
        LogicalPlan::Project { input, exprs } => {
            let new: Vec<Option<Expr>> =
                exprs.iter().map(|expr| simple(expr, input.schema())).collect();
            let changed = new.iter().any(Option::is_some);
            let is_field = |(at, expr): (usize, &Expr)| exprs::as_field(expr) == Some(at as u32);
            let same_names = || {
                let names = input.schema().fields.iter().zip(&schema.fields);
                exprs.len() == input.schema().len() && names.clone().all(|(a, b)| a.name == b.name)
            };
            if exprs.iter().enumerate().all(is_field) && same_names() {
                return input.clone();
            }
            let below = matches!(**input, LogicalPlan::Project { .. });
            if !changed && !below {
                return plan.clone();
            }
            let new =
                new.into_iter().zip(exprs).map(|(new, old)| new.unwrap_or_else(|| old.clone()));
            let projected = plans::project(input.clone(), new.collect(), schema.fields.clone());
            let kept = matches!(&*projected, LogicalPlan::Project { input: i, .. } if i.address() == input.address());
            if kept && !changed { plan.clone() } else { projected }
        }
        LogicalPlan::Join { left, right, kind, on, condition: Some(condition), hint } => {
            let fields = left.schema().fields.iter().chain(&right.schema().fields);
            let both = Schema { fields: fields.cloned().collect() };
            let Some(new) = simple(condition, &both) else { return plan.clone() };
            let condition = Some(new).filter(|condition| !exprs::is_bool(condition, true));
            let (left, right) = (left.clone(), right.clone());
            let (kind, on, hint) = (*kind, on.clone(), *hint);
            PlanRef::new(LogicalPlan::Join { left, right, kind, on, condition, hint }, schema)
        }
        LogicalPlan::Aggregate { input, keys, aggregates, sets } => {
            // Expressions around aggregates stay, for in them keys are found by what they look like.
            let mut changed = false;
            let mut arguments = |expr: &Expr| {
                exprs::rewrite_up(expr, &mut |expr| {
                    let new = matches!(expr, Expr::Aggregate { .. })
                        .then(|| within(expr, input.schema(), fold))
                        .flatten();
                    changed |= new.is_some();
                    new
                })
            };
            let aggregates: Vec<Expr> = aggregates.iter().map(&mut arguments).collect();
            if !changed {
                return plan.clone();
            }
            let (input, keys, sets) = (input.clone(), keys.clone(), sets.clone());
            PlanRef::new(LogicalPlan::Aggregate { input, keys, aggregates, sets }, schema)
        }
        _ => plan,
    }
}

/// A filter as simple as its condition: none at all, or no rows.
fn filter(input: &PlanRef, predicate: Expr) -> PlanRef {
    let schema = input.schema().clone();
    if exprs::is_bool(&predicate, true) {
        return input.clone();
    }
    let never = |term: &Expr| {
        exprs::is_bool(term, false) || matches!(term, Expr::Literal(value) if value.is_null())
    };
    if exprs::conjuncts(&predicate).iter().any(never) {
        let node = LogicalPlan::Limit { input: input.clone(), skip: 0, fetch: Some(0) };
        return PlanRef::new(node, schema);
    }
    PlanRef::new(LogicalPlan::Filter { input: input.clone(), predicate }, schema)
}

/// The expression with its arguments simpler.
fn within(expr: &Expr, schema: &Schema, fold: &dyn Fold) -> Option<Expr> {
    let mut new = expr.clone();
    let mut changed = false;
    for child in new.children_mut() {
        if let Some(simple) = expression(child, schema, fold) {
            *child = simple.into();
            changed = true;
        }
    }
    changed.then_some(new)
}

/// A simpler form, if there is one.
pub(super) fn expression(expr: &Expr, schema: &Schema, fold: &dyn Fold) -> Option<Expr> {
    if expr.is_leaf() {
        return None;
    }
    let mut changed = false;
    let new = exprs::rewrite_up(expr, &mut |expr| {
        let mut new: Option<Expr> = None;
        // Each step makes it smaller, or brings it nearer to the form looked for.
        while let Some(next) = step(new.as_ref().unwrap_or(expr), schema, fold) {
            new = Some(next);
        }
        changed |= new.is_some();
        new
    });
    changed.then(|| match exprs::as_constant(&new) {
        Some(value) => Expr::Literal(value.clone()),
        None => new,
    })
}

fn step(expr: &Expr, schema: &Schema, fold: &dyn Fold) -> Option<Expr> {
    match expr {
        Expr::And(terms) => connected(terms, true),
        Expr::Or(terms) => {
            connected(terms, false).or_else(|| factored(terms)).or_else(|| as_sets(terms))
        }
        Expr::Unary { op: UnaryOp::Not, expr: inner } => negated(inner),
        Expr::Unary { op: op @ (UnaryOp::IsNull | UnaryOp::IsNotNull), expr: inner } => {
            let is_null = match &**inner {
                Expr::Literal(value) => value.is_null(),
                Expr::Field(index) if !schema.fields.get(*index as usize)?.nullable => false,
                _ => return None,
            };
            Some(truth(is_null == (*op == UnaryOp::IsNull)))
        }
        Expr::InList { expr, list, negated } if list.len() == 1 => {
            let op = if *negated { BinaryOp::NotEq } else { BinaryOp::Eq };
            Some(Expr::Binary { op, left: expr.clone(), right: list[0].clone() })
        }
        // The types of these do not depend on what is written out.
        Expr::Binary { op, .. } if op.is_comparison() => {
            constant(expr, fold).or_else(|| written_out(expr))
        }
        Expr::InList { .. } => constant(expr, fold).or_else(|| written_out(expr)),
        _ => constant(expr, fold),
    }
}

/// The expression with its constant arguments as values.
fn written_out(expr: &Expr) -> Option<Expr> {
    let mut new = expr.clone();
    let mut changed = false;
    for child in new.children_mut() {
        if let (Expr::Cast { .. }, Some(value)) = (exprs::unalias(child), exprs::as_constant(child))
        {
            *child = Expr::Literal(value.clone()).into();
            changed = true;
        }
    }
    changed.then_some(new)
}

fn constant(expr: &Expr, fold: &dyn Fold) -> Option<Expr> {
    if exprs::as_constant(expr).is_some() {
        return None;
    }
    let kind = matches!(
        expr,
        Expr::Unary { .. }
            | Expr::Binary { .. }
            | Expr::Case { .. }
            | Expr::Cast { .. }
            | Expr::InList { .. }
            | Expr::Like { .. }
            | Expr::Call { .. }
    );
    let children = expr.children();
    let constants =
        !children.is_empty() && children.iter().all(|child| exprs::as_constant(child).is_some());
    let known = kind && constants && !exprs::is_volatile(expr);
    if known { fold.fold(expr).map(exprs::settled) } else { None }
}

fn truth(value: bool) -> Expr {
    Expr::Literal(Scalar::Boolean(value))
}

/// AND (`neutral` is true) or OR (false) of terms without those that say nothing.
fn connected(terms: &[ExprRef], neutral: bool) -> Option<Expr> {
    let nested = |term: &ExprRef| match (neutral, exprs::unalias(term)) {
        (true, Expr::And(_)) | (false, Expr::Or(_)) => true,
        (_, Expr::Literal(Scalar::Boolean(_))) => true,
        _ => matches!(**term, Expr::Alias { .. }),
    };
    let doubled = || {
        let few = &terms[..terms.len().min(32)];
        few.iter().enumerate().any(|(at, term)| few[..at].contains(term))
    };
    if terms.len() > 1 && !terms.iter().any(nested) && !doubled() {
        return None;
    }
    let whole = match neutral {
        true => Expr::And(terms.to_vec()),
        false => Expr::Or(terms.to_vec()),
    };
    let flat = if neutral { exprs::conjuncts(&whole) } else { exprs::disjuncts(&whole) };
    let mut kept = Vec::new();
    for term in flat {
        if exprs::is_bool(&term, !neutral) {
            return Some(truth(!neutral));
        }
        if !exprs::is_bool(&term, neutral) {
            exprs::add_new(&mut kept, term);
        }
    }
    Some(match kept.len() {
        0 => truth(neutral),
        1 => kept.remove(0),
        _ => {
            let kept = kept.into_iter().map(Into::into).collect();
            if neutral { Expr::And(kept) } else { Expr::Or(kept) }
        }
    })
}

/// `(k AND x) OR (k AND y)` as `k AND (x OR y)`.
fn factored(terms: &[ExprRef]) -> Option<Expr> {
    if terms.len() > FACTORED_MAX {
        return None;
    }
    let mut branches: Vec<Vec<Expr>> = terms.iter().map(|term| exprs::conjuncts(term)).collect();
    if branches.iter().any(|branch| branch.len() > FACTORED_MAX) {
        return None;
    }
    let (first, others) = branches.split_first()?;
    // What stands behind another condition may be kept by it from rows on which it fails.
    let leads =
        |(at, term): (usize, &Expr)| others.iter().all(|branch| branch.get(at) == Some(term));
    let leading = first.iter().enumerate().take_while(|(at, term)| leads((*at, term))).count();
    let in_all = |(at, term): &(usize, &Expr)| {
        *at < leading || !exprs::may_fail(term) && others.iter().all(|branch| branch.contains(term))
    };
    let common = first.iter().enumerate().filter(in_all);
    let common: Vec<Expr> = common.map(|(_, term)| term.clone()).collect();
    if common.is_empty() || common.iter().any(exprs::is_volatile) {
        return None;
    }
    for branch in &mut branches {
        branch.retain(|term| !common.contains(term));
    }
    let mut all = common;
    // A branch that says no more than what is common holds whenever that does.
    if branches.iter().all(|branch| !branch.is_empty()) {
        let rest = branches.into_iter().filter_map(exprs::all_of).map(Into::into).collect();
        all.push(Expr::Or(rest));
    }
    exprs::all_of(all)
}

/// `x = 1 OR x = 2 OR ..` as `x IN (1, 2, ..)`.
fn as_sets(terms: &[ExprRef]) -> Option<Expr> {
    if terms.len() < SET_MIN {
        return None;
    }
    let mut sets: Vec<(ExprRef, Vec<ExprRef>)> = Vec::new();
    let mut rest: Vec<ExprRef> = Vec::new();
    for term in terms {
        match as_constant_equality(term) {
            Some((expr, value)) => {
                // One behind the other, as they come from a list.
                let same = |(known, values): &(ExprRef, Vec<ExprRef>)| {
                    *known == *expr && type_of(&values[0]) == type_of(value)
                };
                match sets.last_mut().filter(|set| same(set)) {
                    Some((_, values)) => values.push(value.clone()),
                    None => sets.push((expr.clone(), vec![value.clone()])),
                }
            }
            None => rest.push(term.clone()),
        }
    }
    if sets.iter().all(|(_, values)| values.len() < SET_MIN) {
        return None;
    }
    let set = |(expr, list): (ExprRef, Vec<ExprRef>)| -> Vec<ExprRef> {
        if list.len() >= SET_MIN {
            return vec![Expr::InList { expr, list, negated: false }.into()];
        }
        let equal =
            |value: ExprRef| Expr::Binary { op: BinaryOp::Eq, left: expr.clone(), right: value };
        list.into_iter().map(|value| equal(value).into()).collect()
    };
    let mut all: Vec<ExprRef> = sets.into_iter().flat_map(set).collect();
    all.extend(rest);
    Some(if all.len() == 1 { all.remove(0).into_inner() } else { Expr::Or(all) })
}

fn as_constant_equality(term: &Expr) -> Option<(&ExprRef, &ExprRef)> {
    let known = |expr: &ExprRef| matches!(&**expr, Expr::Literal(value) if !value.is_null());
    match exprs::as_equality(term) {
        Some((left, right, false)) if known(right) && !exprs::is_volatile(left) => {
            Some((left, right))
        }
        Some((left, right, false)) if known(left) && !exprs::is_volatile(right) => {
            Some((right, left))
        }
        _ => None,
    }
}

fn type_of(expr: &Expr) -> Option<arrow_schema::DataType> {
    match expr {
        Expr::Literal(value) => Some(value.data_type()),
        _ => None,
    }
}

/// NOT of something, moved inwards. Values have a total order, in which NaN is the largest.
fn negated(inner: &Expr) -> Option<Expr> {
    let not = |expr: &ExprRef| {
        let not = || Expr::Unary { op: UnaryOp::Not, expr: expr.clone() };
        ExprRef::from(deeper(|| negated(expr)).unwrap_or_else(not))
    };
    Some(match inner {
        Expr::Literal(Scalar::Boolean(value)) => truth(!value),
        Expr::Unary { op: UnaryOp::Not, expr } => (**expr).clone(),
        Expr::Unary { op: UnaryOp::IsNull, expr } => {
            Expr::Unary { op: UnaryOp::IsNotNull, expr: expr.clone() }
        }
        Expr::Unary { op: UnaryOp::IsNotNull, expr } => {
            Expr::Unary { op: UnaryOp::IsNull, expr: expr.clone() }
        }
        Expr::And(terms) => Expr::Or(terms.iter().map(not).collect()),
        Expr::Or(terms) => Expr::And(terms.iter().map(not).collect()),
        Expr::InList { expr, list, negated } => {
            Expr::InList { expr: expr.clone(), list: list.clone(), negated: !negated }
        }
        Expr::Like { expr, pattern, escape, ignore_case, negated } => Expr::Like {
            expr: expr.clone(),
            pattern: pattern.clone(),
            escape: *escape,
            ignore_case: *ignore_case,
            negated: !negated,
        },
        Expr::Binary { op, left, right } => {
            let op = match op {
                BinaryOp::Eq => BinaryOp::NotEq,
                BinaryOp::NotEq => BinaryOp::Eq,
                BinaryOp::Lt => BinaryOp::GtEq,
                BinaryOp::LtEq => BinaryOp::Gt,
                BinaryOp::Gt => BinaryOp::LtEq,
                BinaryOp::GtEq => BinaryOp::Lt,
                _ => return None,
            };
            Expr::Binary { op, left: left.clone(), right: right.clone() }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimizer::NoFold;
    use crate::optimizer::testing::{filter, *};

    /// Adds numbers; fails for all else.
    struct Adds;

    impl Fold for Adds {
        fn fold(&self, expr: &Expr) -> Option<Scalar> {
            let Expr::Binary { op: BinaryOp::Add, left, right } = expr else { return None };
            match (exprs::as_constant(left)?, exprs::as_constant(right)?) {
                (Scalar::Int64(a), Scalar::Int64(b)) => a.checked_add(*b).map(Scalar::Int64),
                _ => None,
            }
        }
    }

    fn simple(expr: Expr) -> String {
        let input = table(1, "t", 10, &["a", "b", "c"]);
        let new = expression(&expr, input.schema(), &Adds);
        if let Some(new) = &new {
            assert_eq!(expression(new, input.schema(), &Adds), None, "not done at once");
        }
        new.unwrap_or(expr).to_sql(input.schema())
    }

    fn not(expr: Expr) -> Expr {
        Expr::Unary { op: UnaryOp::Not, expr: expr.into() }
    }

    #[test]
    fn terms_that_say_nothing_are_dropped() {
        let a = || gt(col(0), lit(1_i64));
        assert_eq!(simple(and([a(), lit(true)])), "a > 1");
        assert_eq!(simple(and([a(), lit(false)])), "false");
        assert_eq!(simple(or([a(), lit(false)])), "a > 1");
        assert_eq!(simple(or([a(), lit(true)])), "true");
        assert_eq!(simple(and([a(), and([a(), gt(col(1), lit(2_i64))])])), "a > 1 AND b > 2");
        // NULL AND x is NULL or false, neither of which is x.
        let null = || Expr::Literal(Scalar::Null(arrow_schema::DataType::Boolean));
        assert_eq!(simple(and([null(), a()])), "NULL AND a > 1");
    }

    #[test]
    fn not_moves_inwards() {
        assert_eq!(simple(not(not(gt(col(0), lit(1_i64))))), "a > 1");
        assert_eq!(simple(not(eq(col(0), lit(1_i64)))), "a <> 1");
        let either = or([gt(col(0), lit(1_i64)), eq(col(1), col(2))]);
        assert_eq!(simple(not(either)), "a <= 1 AND b <> c");
        let safe = binary(BinaryOp::NullSafeEq, col(0), col(1));
        assert_eq!(simple(not(safe)), "NOT a <=> b");
    }

    #[test]
    fn what_all_alternatives_demand_is_demanded_once() {
        let k = || eq(col(0), col(1));
        let x = |value: i64| eq(col(2), lit(value));
        let plan = or([and([k(), x(1)]), and([x(2), k()])]);
        assert_eq!(simple(plan), "a = b AND (c = 1 OR c = 2)");
        assert_eq!(simple(or([k(), and([k(), x(1)])])), "a = b");
        assert_eq!(simple(or([and([k(), x(1)]), x(2)])), "a = b AND c = 1 OR c = 2");
    }

    #[test]
    fn what_a_condition_guards_stays_behind_it() {
        let inverse = || gt(binary(BinaryOp::IntegerDivide, lit(10_i64), col(0)), lit(2_i64));
        let less = || binary(BinaryOp::Lt, col(0), lit(0_i64));
        let more = || gt(col(0), lit(0_i64));
        let guarded = or([and([more(), inverse()]), and([less(), inverse()])]);
        assert_eq!(simple(guarded), "a > 0 AND 10 DIV a > 2 OR a < 0 AND 10 DIV a > 2");
        let led = or([and([inverse(), more()]), and([inverse(), less()])]);
        assert_eq!(simple(led), "10 DIV a > 2 AND (a > 0 OR a < 0)");
    }

    #[test]
    fn many_equalities_are_a_set() {
        let x = |value: i64| eq(col(2), lit(value));
        assert_eq!(simple(or((1..=5).map(x))), "c IN (1, 2, 3, 4, 5)");
        assert_eq!(simple(or((1..=3).map(x))), "c = 1 OR c = 2 OR c = 3");
        let mixed = or((1..=4).map(x).chain([gt(col(0), lit(1_i64))]));
        assert_eq!(simple(mixed), "c IN (1, 2, 3, 4) OR a > 1");
    }

    #[test]
    fn constants_are_folded_where_that_does_not_fail() {
        let sum = add(lit(1_i64), add(lit(2_i64), lit(3_i64)));
        assert_eq!(simple(gt(col(0), sum)), "a > 6");
        let over = add(lit(i64::MAX), lit(1_i64));
        assert_eq!(simple(gt(col(0), over)), format!("a > {} + 1", i64::MAX));
    }

    #[test]
    fn conditions_that_are_never_true_give_no_rows() {
        let input = table(1, "t", 10, &["a"]);
        let never = filter(&input, and([gt(col(0), lit(1_i64)), lit(false)]));
        assert_eq!(shown(&simplify(&never, &NoFold)), ["Limit 0, skip 0", "Scan t"]);
        let always = filter(&input, or([gt(col(0), lit(1_i64)), lit(true)]));
        assert_eq!(shown(&simplify(&always, &NoFold)), ["Scan t"]);
    }

    #[test]
    fn grouping_columns_are_found_by_what_they_look_like() {
        let input = table(1, "t", 10, &["a"]);
        let key = not(not(gt(col(0), lit(1_i64))));
        let plan = aggregate(&input, vec![key.clone()], vec![key]);
        assert_eq!(simplify(&plan, &NoFold).address(), plan.address());
    }
}
