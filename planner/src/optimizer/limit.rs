//! Limits moved towards the rows they are of: below projections and into the inputs of unions, so that they reach
//! scans, which read no more then, and sorts, which keep no more.

use super::plans::{self, BottomUp};
use crate::logical::{LogicalPlan, PlanRef};

pub(super) fn push_limits(plan: &PlanRef) -> PlanRef {
    BottomUp::new(node).run(plan)
}

fn node(plan: PlanRef) -> PlanRef {
    let LogicalPlan::Limit { input, skip, fetch } = &*plan else { return plan };
    match &**input {
        LogicalPlan::Project { input: below, .. } => {
            let limited = node(limit(below, *skip, *fetch));
            plans::with_inputs(input, vec![limited])
        }
        LogicalPlan::Limit { input: below, skip: inner_skip, fetch: inner_fetch } => {
            let left = inner_fetch.map(|inner| inner.saturating_sub(*skip));
            let fetch = [*fetch, left].into_iter().flatten().min();
            node(limit(below, inner_skip.saturating_add(*skip), fetch))
        }
        LogicalPlan::Union { inputs } => {
            let Some(fetch) = fetch else { return plan };
            let most = fetch.saturating_add(*skip);
            let first = |input: &PlanRef| match is_within(input, most) {
                true => input.clone(),
                false => node(limit(input, 0, Some(most))),
            };
            let first = plans::with_inputs(input, inputs.iter().map(first).collect());
            plans::with_inputs(&plan, vec![first])
        }
        _ => plan,
    }
}

fn limit(input: &PlanRef, skip: u64, fetch: Option<u64>) -> PlanRef {
    let schema = input.schema().clone();
    PlanRef::new(LogicalPlan::Limit { input: input.clone(), skip, fetch }, schema)
}

/// Whether it gives no more rows than these anyway.
fn is_within(plan: &PlanRef, rows: u64) -> bool {
    match &**plan {
        LogicalPlan::Limit { fetch: Some(fetch), .. }
        | LogicalPlan::Sort { fetch: Some(fetch), .. } => *fetch <= rows,
        LogicalPlan::Project { input, .. } => is_within(input, rows),
        LogicalPlan::OneRow => rows >= 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimizer::testing::{limit, *};

    #[test]
    fn limits_reach_scans_through_projections_and_unions() {
        let input = || project(&table(1, "t", 10, &["a"]), vec![add(col(0), lit(1_i64))]);
        let plan = limit(&limit(&union(vec![input(), input()]), 3, Some(10)), 2, Some(100));
        let pushed = push_limits(&plan);
        assert_eq!(
            shown(&pushed)[..5],
            [
                "Limit 8, skip 5",
                "Union of 2",
                "  Project [a + 1]",
                "  Limit 13, skip 0",
                "  Scan t",
            ]
        );
        assert_eq!(push_limits(&pushed).address(), pushed.address());
    }

    #[test]
    fn limits_do_not_pass_what_drops_or_orders_rows() {
        let input = table(1, "t", 10, &["a"]);
        let plan = limit(&filter(&input, gt(col(0), lit(1_i64))), 0, Some(1));
        assert_eq!(push_limits(&plan).address(), plan.address());
        let plan = limit(&sort(&input, vec![key(0, true)], None), 0, Some(1));
        assert_eq!(push_limits(&plan).address(), plan.address());
    }
}
