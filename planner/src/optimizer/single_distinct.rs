//! Aggregates of different values, as two groupings: by the keys and the argument first, then by the keys. States
//! move then, and no set of values is kept anywhere.
//!
//! Possible where all such aggregates are of one argument, and the others can be put together from their own results
//! without a change of type or of rounding.

use std::sync::Arc;

use super::exprs;
use super::plans::BottomUp;
use crate::error::PlanError;
use crate::expr::{AggregateFn, Expr, ExprRef};
use crate::logical::{Field, GroupingSets, LogicalPlan, PlanRef, Schema};
use crate::types::infer;

pub(super) fn rewrite(plan: &PlanRef) -> Result<PlanRef, PlanError> {
    let mut failed = None;
    let new = BottomUp::new(|plan| match two_steps(&plan) {
        Ok(new) => new.unwrap_or(plan),
        Err(error) => {
            failed.get_or_insert(error);
            plan
        }
    })
    .run(plan);
    failed.map_or(Ok(new), Err)
}

fn two_steps(plan: &PlanRef) -> Result<Option<PlanRef>, PlanError> {
    let LogicalPlan::Aggregate { input, keys, aggregates, sets: GroupingSets::Plain } = &**plan
    else {
        return Ok(None);
    };
    let calls = calls(aggregates);
    let Some(argument) = distinct_argument(&calls) else { return Ok(None) };
    let keys: Vec<Expr> = keys.iter().map(|key| exprs::unalias(key).clone()).collect();
    let outer_keys: Vec<Expr> = (0..keys.len() as u32).map(Expr::Field).collect();
    // By the keys and the argument, with the other aggregates.
    let mut inner_keys = keys.clone();
    inner_keys.push(exprs::unalias(argument).clone());
    let inner_calls: Vec<Expr> = calls.iter().filter(|call| !is_distinct(call)).cloned().collect();
    let inner = grouped(input, inner_keys, inner_calls.clone())?;
    // By the keys alone.
    let first = keys.len() + 1;
    let outer = |expr: &Expr| {
        exprs::rewrite(expr, &mut |expr| match expr {
            Expr::Aggregate { .. } if is_distinct(expr) => {
                Some(over(expr, Expr::Field(keys.len() as u32)))
            }
            Expr::Aggregate { .. } => {
                let place = inner_calls.iter().position(|call| call == expr)?;
                combined(expr, Expr::Field((first + place) as u32))
            }
            Expr::Literal(_) => None,
            other => keys.iter().position(|key| key == other).map(|at| Expr::Field(at as u32)),
        })
    };
    let aggregates: Vec<Expr> = aggregates.iter().map(outer).collect();
    let node = LogicalPlan::Aggregate {
        input: inner,
        keys: outer_keys,
        aggregates,
        sets: GroupingSets::Plain,
    };
    Ok(Some(PlanRef::new(node, plan.schema().clone())))
}

/// The different aggregates in expressions.
fn calls(aggregates: &[Expr]) -> Vec<Expr> {
    let mut calls: Vec<Expr> = Vec::new();
    for expr in aggregates {
        exprs::any(expr, |expr| {
            if matches!(expr, Expr::Aggregate { .. }) && !calls.contains(expr) {
                calls.push(expr.clone());
            }
            false
        });
    }
    calls
}

fn is_distinct(call: &Expr) -> bool {
    matches!(call, Expr::Aggregate { distinct: true, .. })
}

/// The one argument of the aggregates of different values, if there are any and two steps are possible.
fn distinct_argument(calls: &[Expr]) -> Option<&ExprRef> {
    let mut argument: Option<&ExprRef> = None;
    for call in calls {
        let Expr::Aggregate { function, args, distinct, filter } = call else { return None };
        if !distinct {
            // Combined from results, which must not round, wrap or change their type on the way.
            combined(call, Expr::Field(0))?;
            continue;
        }
        let [arg] = &args[..] else { return None };
        let same = argument.is_none_or(|known| known == arg);
        if filter.is_some() || !same || exprs::is_volatile(arg) || !takes_values(*function) {
            return None;
        }
        argument = Some(arg);
    }
    argument
}

/// Aggregates of values, whatever their order, for which a group with a NULL value alone counts as none.
fn takes_values(function: AggregateFn) -> bool {
    use AggregateFn as F;
    matches!(function, F::Count | F::Sum | F::Avg | F::Min | F::Max)
}

/// The aggregate of different values over values that are different already.
fn over(call: &Expr, value: Expr) -> Expr {
    match call {
        Expr::Aggregate { function, .. } => Expr::Aggregate {
            function: *function,
            args: vec![value.into()],
            distinct: false,
            filter: None,
        },
        other => other.clone(),
    }
}

/// The aggregate over its own results.
fn combined(call: &Expr, result: Expr) -> Option<Expr> {
    use AggregateFn as F;
    let Expr::Aggregate { function, .. } = call else { return None };
    let over = |function| Expr::Aggregate {
        function,
        args: vec![result.into()],
        distinct: false,
        filter: None,
    };
    match function {
        F::Min | F::Max | F::BoolAnd | F::BoolOr | F::BitAnd | F::BitOr => Some(over(*function)),
        // Without rows there is no sum, but a count of 0.
        F::Count => Some(Expr::Call {
            function: crate::expr::ScalarFn::Coalesce,
            args: vec![over(F::Sum).into(), Expr::Literal(0_i64.into()).into()],
        }),
        _ => None,
    }
}

fn grouped(input: &PlanRef, keys: Vec<Expr>, aggregates: Vec<Expr>) -> Result<PlanRef, PlanError> {
    let field = |expr: &Expr| {
        let (data_type, nullable) = infer(expr, input.schema())?;
        let known = exprs::as_field(expr).and_then(|at| input.schema().fields.get(at as usize));
        let name =
            known.map_or_else(|| expr.to_sql(input.schema()).into(), |known| known.name.clone());
        Ok(Field { qualifier: None, name, data_type, nullable })
    };
    let fields =
        keys.iter().chain(&aggregates).map(field).collect::<Result<Vec<_>, PlanError>>()?;
    let node = LogicalPlan::Aggregate {
        input: input.clone(),
        keys,
        aggregates,
        sets: GroupingSets::Plain,
    };
    Ok(PlanRef::new(node, Arc::new(Schema { fields })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimizer::testing::*;

    fn distinct_call(function: AggregateFn, arg: Expr) -> Expr {
        Expr::Aggregate { function, args: vec![arg.into()], distinct: true, filter: None }
    }

    #[test]
    fn different_values_are_grouped_first() {
        let input = table(1, "t", 10, &["a", "b", "c"]);
        let counts = vec![
            distinct_call(AggregateFn::Count, col(1)),
            call(AggregateFn::Max, col(2)),
            call(AggregateFn::Count, col(2)),
        ];
        let plan = aggregate(&input, vec![col(0)], counts);
        let new = rewrite(&plan).unwrap();
        let text = shown(&new);
        assert_eq!(text[1..], ["Aggregate by [a, b] [max(c), count(c)]", "Scan t"]);
        assert!(text[0].starts_with("Aggregate by [a] [count(b)"), "{text:?}");
        assert!(text[0].contains("coalesce(sum(count(c)), 0)"), "{text:?}");
        assert_eq!(new.schema(), plan.schema());
        assert_eq!(rewrite(&new).unwrap().address(), new.address());
    }

    #[test]
    fn sums_that_could_wrap_or_round_on_the_way_stay() {
        let input = table(1, "t", 10, &["a", "b", "c"]);
        let plan = aggregate(
            &input,
            vec![col(0)],
            vec![distinct_call(AggregateFn::Count, col(1)), call(AggregateFn::Sum, col(2))],
        );
        assert_eq!(rewrite(&plan).unwrap().address(), plan.address());
        let two = aggregate(
            &input,
            vec![],
            vec![
                distinct_call(AggregateFn::Count, col(1)),
                distinct_call(AggregateFn::Count, col(2)),
            ],
        );
        assert_eq!(rewrite(&two).unwrap().address(), two.address());
    }
}
