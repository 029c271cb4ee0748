use super::*;
use crate::expr::{AggregateFn, ScalarFn, UnaryOp, WindowFn, WindowSpec};
use crate::optimizer::testing::*;
use crate::physical::JoinKind;

fn t() -> PlanRef {
    table(1, "t", 1000, &["a", "b"])
}

fn u() -> PlanRef {
    table(2, "u", 1000, &["c", "d"])
}

fn over(index: u32, value: i64) -> Expr {
    gt(col(index), lit(value))
}

#[track_caller]
fn assert_pushed(plan: &PlanRef, expected: &[&str]) {
    let pushed = push_filters(plan);
    assert_eq!(shown(&pushed), expected);
    assert_eq!(pushed.schema().len(), plan.schema().len());
    assert_eq!(push_filters(&pushed).address(), pushed.address(), "not done at once");
}

#[track_caller]
fn assert_stays(plan: &PlanRef) {
    assert_eq!(push_filters(plan).address(), plan.address(), "{:?}", shown(&push_filters(plan)));
}

#[test]
fn through_projections_and_sorts_to_the_scan() {
    let swapped = project(&t(), vec![col(1), add(col(0), lit(1_i64))]);
    let sorted = sort(&swapped, vec![key(0, false)], None);
    let plan = filter(&filter(&sorted, over(0, 1)), over(1, 2));
    assert_pushed(
        &plan,
        &["Sort [b]", "Project [b, a + 1]", "Filter b > 1 AND a + 1 > 2", "Scan t"],
    );
}

#[test]
fn never_below_what_counts_rows_or_draws_lots() {
    assert_stays(&filter(&limit(&t(), 0, Some(3)), over(0, 1)));
    assert_stays(&filter(&sort(&t(), vec![key(0, false)], Some(3)), over(0, 1)));
    let sample = LogicalPlan::Sample { input: t(), fraction: 0.5, seed: 1 };
    assert_stays(&filter(&PlanRef::new(sample, t().schema().clone()), over(0, 1)));
    let rand = Expr::Call { function: ScalarFn::Rand, args: vec![lit(1_i64).into()] };
    assert_stays(&filter(&project(&t(), vec![col(0), rand.clone()]), over(0, 1)));
    let random = gt(rand, lit(0.5));
    assert_stays(&filter(&filter(&t(), random.clone()), over(0, 1)));
    assert_stays(&filter(&project(&t(), vec![col(1), col(0)]), random));
}

#[test]
fn below_groupings_and_windows_by_their_keys_alone() {
    let sums = aggregate(&t(), vec![col(1)], vec![call(AggregateFn::Sum, col(0))]);
    assert_pushed(
        &filter(&sums, and([over(0, 1), over(1, 2)])),
        &["Filter sum(a) > 2", "Aggregate by [b] [sum(a)]", "Filter b > 1", "Scan t"],
    );
    // One group of all rows is there even if there are none.
    let all = aggregate(&t(), vec![], vec![call(AggregateFn::Count, col(0))]);
    assert_stays(&filter(&all, over(0, 1)));
    assert_stays(&filter(&all, lit(false)));
    let spec = WindowSpec { partition_by: vec![col(1).into()], ..WindowSpec::default() };
    let (function, args) = (WindowFn::Rank, vec![]);
    let rank = Expr::Window { function, args, ignore_nulls: false, window: spec };
    let mut schema = crate::logical::Schema::clone(t().schema());
    schema.fields.push(schema.fields[0].clone());
    let node = LogicalPlan::Window { input: t(), exprs: vec![named(rank, "r")] };
    let window = PlanRef::new(node, schema.into());
    let pushed = shown(&push_filters(&filter(&window, and([over(1, 1), over(0, 1), over(2, 1)]))));
    assert_eq!(pushed[0], "Filter a > 1 AND a > 1");
    assert_eq!(pushed[2..], ["Filter b > 1", "Scan t"]);
}

#[test]
fn into_all_inputs_of_unions() {
    let plan = filter(&union(vec![t(), u()]), over(0, 1));
    assert_pushed(
        &plan,
        &["Union of 2", "  Filter a > 1", "  Scan t", "  Filter c > 1", "  Scan u"],
    );
}

#[test]
fn pairs_with_a_condition_are_a_join() {
    let pairs = join(&t(), &u(), JoinKind::Cross, &[], None);
    let condition = and([eq(col(3), col(0)), over(1, 1), over(2, 2), gt(col(1), col(2))]);
    assert_pushed(
        &filter(&pairs, condition),
        &[
            "Join inner on a = d if b > c",
            "  Filter b > 1",
            "  Scan t",
            "  Filter c > 2",
            "  Scan u",
        ],
    );
}

#[test]
fn each_kind_of_join_takes_what_it_may() {
    let above =
        |kind| shown(&push_filters(&filter(&join(&t(), &u(), kind, &[(0, 1)], None), over(1, 1))));
    let left = ["Join left on a = d", "  Filter b > 1", "  Scan t", "  Scan u"];
    assert_eq!(above(JoinKind::Left), left);
    assert_eq!(above(JoinKind::LeftAnti)[1], "  Filter b > 1");
    assert_eq!(above(JoinKind::NullAwareAnti)[1], "  Filter b > 1");
    // A right row without a match has no b, and is not asked for.
    assert_eq!(above(JoinKind::Right)[0], "Join inner on a = d");
    assert_eq!(above(JoinKind::Full)[0], "Join left on a = d");
    let own = |kind| {
        let condition = and([over(1, 1), over(2, 2)]);
        let text = shown(&push_filters(&join(&t(), &u(), kind, &[(0, 1)], Some(condition))));
        let conditions = text.iter().filter(|line| line.contains('>')).cloned();
        conditions.collect::<Vec<_>>()
    };
    assert_eq!(own(JoinKind::Inner), ["  Filter b > 1", "  Filter c > 2"]);
    assert_eq!(own(JoinKind::LeftSemi), ["  Filter b > 1", "  Filter c > 2"]);
    assert_eq!(own(JoinKind::Left), ["Join left on a = d if b > 1", "  Filter c > 2"]);
    assert_eq!(own(JoinKind::LeftAnti), ["Join anti on a = d if b > 1", "  Filter c > 2"]);
    assert_eq!(own(JoinKind::Right), ["Join right on a = d if c > 2", "  Filter b > 1"]);
    assert_eq!(own(JoinKind::Full), ["Join full on a = d if b > 1 AND c > 2"]);
    assert_eq!(own(JoinKind::NullAwareAnti), ["Join not in on a = d if b > 1 AND c > 2"]);
}

#[test]
fn conditions_that_nulls_pass_keep_outer_joins() {
    let joined = |kind| join(&t(), &u(), kind, &[(0, 1)], None);
    let is_null = Expr::Unary { op: UnaryOp::IsNull, expr: col(2).into() };
    assert_stays(&filter(&joined(JoinKind::Left), is_null.clone()));
    assert_stays(&filter(&joined(JoinKind::Left), or([is_null, over(2, 1)])));
    let inner = push_filters(&filter(&joined(JoinKind::Left), over(2, 1)));
    assert_eq!(shown(&inner), ["Join inner on a = d", "  Scan t", "  Filter c > 1", "  Scan u"]);
}

#[test]
fn what_holds_for_a_key_holds_for_its_equal() {
    let above = |kind, index| {
        let plan = filter(&join(&t(), &u(), kind, &[(0, 1)], None), over(index, 1));
        shown(&push_filters(&plan))
            .into_iter()
            .filter(|line| line.contains('>'))
            .collect::<Vec<_>>()
    };
    assert_eq!(above(JoinKind::Inner, 0), ["  Filter a > 1", "  Filter d > 1"]);
    assert_eq!(above(JoinKind::Inner, 3), ["  Filter a > 1", "  Filter d > 1"]);
    assert_eq!(above(JoinKind::Left, 0), ["  Filter a > 1", "  Filter d > 1"]);
    assert_eq!(above(JoinKind::LeftAnti, 0), ["  Filter a > 1", "  Filter d > 1"]);
    // NULL on the right decides for all rows, whatever is asked of the left.
    assert_eq!(above(JoinKind::NullAwareAnti, 0), ["  Filter a > 1"]);
}

#[test]
fn alternatives_ask_something_of_each_side() {
    let x = |a: i64, c: i64| and([eq(col(0), lit(a)), eq(col(2), lit(c))]);
    let pairs = join(&t(), &u(), JoinKind::Cross, &[], None);
    assert_pushed(
        &filter(&pairs, or([x(1, 2), x(3, 4)])),
        &[
            "Join inner if a = 1 AND c = 2 OR a = 3 AND c = 4",
            "  Filter a = 1 OR a = 3",
            "  Scan t",
            "  Filter c = 2 OR c = 4",
            "  Scan u",
        ],
    );
}

#[test]
fn long_chains_on_a_small_stack() {
    on_small_stack(|| {
        let mut plan = t();
        for _ in 0..10_000 {
            let next = project(&plan, vec![named(add(col(0), lit(1_i64)), "a"), col(1)]);
            plan = filter(&next, gt(col(0), col(1)));
        }
        assert_eq!(push_filters(&plan).schema(), plan.schema());
        let mut doubled = t();
        for _ in 0..40 {
            doubled = union(vec![doubled.clone(), doubled]);
        }
        assert_eq!(push_filters(&doubled).address(), doubled.address());
    });
}
