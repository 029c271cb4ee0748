//! What plans look like: which operators, where rows move.

use super::*;
use crate::expr::{AggregateFn, Expr, WindowFn, WindowSpec};
use crate::logical::{GroupingSets, SetOperation};
use crate::optimizer::testing::*;
use crate::physical::{JoinKind, JoinStrategy, explain_physical, explain_stages, stages};

fn text_with(logical: &PlanRef, settings: &PlanSettings) -> String {
    let planned = plan(logical, settings).unwrap();
    let text = explain_physical(&planned.plan, &planned.tables);
    // Estimates and numbers are not what is tested here.
    text.lines()
        .map(|line| {
            let line = line.split("  (~").next().unwrap_or(line);
            let line = line.split(" #").next().unwrap_or(line);
            format!("{line}\n")
        })
        .collect()
}

fn text(logical: &PlanRef) -> String {
    text_with(logical, &PlanSettings { partitions: Some(3), ..PlanSettings::default() })
}

#[track_caller]
fn assert_plan(logical: &PlanRef, expected: &[&str]) {
    let text = text(logical);
    assert_eq!(text.lines().collect::<Vec<_>>(), expected, "\n{text}");
}

fn big() -> PlanRef {
    table(1, "t", 1_000_000, &["a", "b", "c"])
}

#[test]
fn a_scan_takes_columns_conditions_and_limits() {
    let columns = project(&big(), vec![col(2), col(0)]);
    let filtered = filter(&filter(&columns, gt(col(0), lit(1_i64))), gt(col(1), lit(2_i64)));
    assert_plan(&filtered, &["Scan t [c, a] where c > 1 AND a > 2, 4 partitions"]);
    let some = limit(&filtered, 5, Some(10));
    assert_plan(
        &some,
        &[
            "Limit 10, skip 5",
            "Exchange single",
            "Limit 15, skip 0",
            "Scan t [c, a] where c > 1 AND a > 2, first 15, 4 partitions",
        ],
    );
}

#[test]
fn adjacent_projections_are_one_unless_something_is_computed_twice() {
    let once =
        project(&project(&big(), vec![add(col(0), lit(1_i64))]), vec![add(col(0), lit(2_i64))]);
    assert_eq!(text(&once).matches("Project").count(), 1);
    let twice = project(&project(&big(), vec![add(col(0), lit(1_i64))]), vec![add(col(0), col(0))]);
    assert_eq!(text(&twice).matches("Project").count(), 2);
}

#[test]
fn groups_are_formed_before_and_after_the_exchange() {
    let sums = aggregate(&big(), vec![col(0)], vec![call(AggregateFn::Sum, col(1))]);
    assert_plan(
        &sums,
        &[
            "Aggregate (final) by [a] [sum]",
            "Exchange hash [a] to 3",
            "Aggregate (partial) by [a] [sum(b)]",
            "Scan t [a, b, c], 4 partitions",
        ],
    );
    let all = aggregate(&big(), vec![], vec![call(AggregateFn::Sum, col(1))]);
    assert_plan(
        &all,
        &[
            "Aggregate (final) by [] [sum]",
            "Exchange single",
            "Aggregate (partial) by [] [sum(b)]",
            "Scan t [a, b, c], 4 partitions",
        ],
    );
}

#[test]
fn groups_that_are_together_are_formed_at_once() {
    let once = aggregate(&big(), vec![col(0)], vec![call(AggregateFn::Sum, col(1))]);
    let twice = aggregate(&once, vec![col(0), col(1)], vec![]);
    assert_eq!(text(&twice).matches("Exchange").count(), 1);
    // A function of a key is not the key.
    let other = aggregate(&once, vec![add(col(0), lit(1_i64))], vec![]);
    assert_eq!(text(&other).matches("Exchange").count(), 2);
    let small = aggregate(&table(2, "s", 10, &["a"]), vec![col(0)], vec![]);
    assert_plan(&small, &["Aggregate by [a] []", "Scan s [a], 1 partition"]);
}

#[test]
fn expressions_of_aggregates_and_keys_are_computed_behind() {
    let sum = call(AggregateFn::Sum, col(1));
    let both = add(sum.clone(), col(0));
    let plan = aggregate(&big(), vec![col(0)], vec![both, sum]);
    assert_eq!(text(&plan).lines().next().unwrap(), "Project [a, sum(b) + a, sum(b)]");
    assert_eq!(text(&plan).matches("sum]").count(), 1);
}

#[test]
fn different_values_are_counted_where_equal_keys_are_together() {
    let count = Expr::Aggregate {
        function: AggregateFn::Count,
        args: vec![col(1).into()],
        distinct: true,
        filter: None,
    };
    assert_plan(
        &aggregate(&big(), vec![col(0)], vec![count]),
        &[
            "Aggregate by [a] [count(distinct b)]",
            "Exchange hash [a] to 3",
            "Project [a, b]",
            "Scan t [a, b, c], 4 partitions",
        ],
    );
}

#[test]
fn grouping_sets_expand_rows_first() {
    let plan = aggregate_sets(
        &big(),
        vec![col(0), col(1)],
        vec![call(AggregateFn::Sum, col(1))],
        GroupingSets::Rollup,
    );
    assert_plan(
        &plan,
        &[
            "Project [a, b, sum(b)]",
            "Aggregate (final) by [a, b, grouping_id, grouping_set] [sum]",
            "Exchange hash [a, b, grouping_id, grouping_set] to 3",
            "Aggregate (partial) by [a, b, grouping_id, grouping_set] [sum(b)]",
            "Expand 3 sets",
            "Scan t [a, b, c], 4 partitions",
        ],
    );
    let planned = super::plan(&plan, &PlanSettings::default()).unwrap();
    let expand = planned.plan.operators.iter().find_map(|operator| match &operator.op {
        Op::Expand { projections, .. } => Some(projections),
        _ => None,
    });
    // The argument is the column as it was, not the key that is rolled up.
    assert_eq!(expand.unwrap()[2].roots.len(), 5);
}

#[test]
fn the_smaller_side_of_a_join_is_sent_whole() {
    let small = table(2, "s", 2000, &["k", "v"]);
    let right = join(&big(), &small, JoinKind::Inner, &[(0, 0)], None);
    assert_plan(
        &right,
        &[
            "BroadcastJoin inner on a = k",
            "  Scan t [a, b, c], 4 partitions",
            "  Exchange broadcast",
            "  Scan s [k, v], 4 partitions",
        ],
    );
    let left = join(&small, &big(), JoinKind::Inner, &[(0, 0)], Some(gt(col(1), col(4))));
    assert_plan(
        &left,
        &[
            "Project [k, v, a, b, c]",
            "BroadcastJoin inner on a = k if v > c",
            "  Scan t [a, b, c], 4 partitions",
            "  Exchange broadcast",
            "  Scan s [k, v], 4 partitions",
        ],
    );
}

#[test]
fn rows_without_a_match_come_once() {
    let small = table(2, "s", 2000, &["k", "v"]);
    let first = |kind| text(&join(&big(), &small, kind, &[(0, 0)], None));
    assert!(first(JoinKind::Left).starts_with("BroadcastJoin left"));
    // Of a right join the left side is the one that may be sent whole, and it is large.
    assert!(first(JoinKind::Right).starts_with("HashJoin right"), "{}", first(JoinKind::Right));
    assert!(first(JoinKind::Full).starts_with("HashJoin full"));
    assert!(first(JoinKind::LeftSemi).starts_with("BroadcastJoin semi"));
    assert!(first(JoinKind::LeftAnti).starts_with("BroadcastJoin anti"));
    let swapped = text(&join(&small, &big(), JoinKind::Right, &[(0, 0)], None));
    assert!(swapped.contains("BroadcastJoin left"), "{swapped}");
    let other = table(3, "u", 900_000, &["x"]);
    let not_in = text(&join(&big(), &other, JoinKind::NullAwareAnti, &[(0, 0)], None));
    assert!(not_in.starts_with("BroadcastJoin not in"), "{not_in}");
}

#[test]
fn sides_that_meet_already_do_not_move() {
    let sums = aggregate(&big(), vec![col(0)], vec![call(AggregateFn::Sum, col(1))]);
    let other = table(3, "u", 900_000, &["x", "y"]);
    let hinted = plans_join_hinted(&sums, &other, JoinStrategy::Hash);
    let once = text(&hinted);
    assert_eq!(once.matches("Exchange").count(), 2, "{once}");
    // And again by the same key, with what is there already.
    let again = plans_join_hinted(&hinted, &sums, JoinStrategy::Hash);
    let twice = text(&again);
    assert_eq!(twice.matches("Exchange hash").count(), 2, "{twice}");
}

fn plans_join_hinted(left: &PlanRef, right: &PlanRef, hint: JoinStrategy) -> PlanRef {
    let on = vec![(col(0), col(0), false)];
    let sides = (left.clone(), right.clone());
    crate::optimizer::plans::join(sides, JoinKind::Inner, on, None, Some(hint))
}

#[test]
fn hints_are_honoured() {
    let small = table(2, "s", 2000, &["k", "v"]);
    let first = |hint| {
        let text = text(&plans_join_hinted(&big(), &small, hint));
        (text.lines().next().unwrap().to_owned(), text)
    };
    assert!(first(JoinStrategy::Hash).0.starts_with("HashJoin"));
    assert!(first(JoinStrategy::NestedLoop).0.starts_with("NestedLoopJoin inner if a = k"));
    let (line, merge) = first(JoinStrategy::Merge);
    assert!(line.starts_with("MergeJoin"));
    assert_eq!(merge.matches("Sort").count(), 2, "{merge}");
    let large = table(4, "l", 50_000_000, &["k"]);
    let broadcast = text(&plans_join_hinted(&big(), &large, JoinStrategy::Broadcast));
    assert!(broadcast.contains("BroadcastJoin"), "{broadcast}");
}

#[test]
fn joins_without_keys_try_every_pair() {
    let small = table(2, "s", 2000, &["k", "v"]);
    let first = |kind| {
        let plan = join(&big(), &small, kind, &[], Some(gt(col(0), col(3))));
        text(&plan)
    };
    assert!(first(JoinKind::Left).starts_with("NestedLoopJoin left if a > k"));
    assert!(first(JoinKind::Right).starts_with("Project"), "{}", first(JoinKind::Right));
    assert!(first(JoinKind::Right).contains("NestedLoopJoin left if a > k"));
    let full = first(JoinKind::Full);
    assert_eq!(full.matches("Exchange single").count(), 2, "{full}");
}

#[test]
fn order_and_first_rows() {
    let keys = vec![key(0, true)];
    assert_plan(
        &sort(&big(), keys.clone(), None),
        &["Sort [a desc]", "Exchange range [a desc] to 3", "Scan t [a, b, c], 4 partitions"],
    );
    assert_plan(
        &limit(&sort(&big(), keys, None), 2, Some(5)),
        &[
            "Limit 5, skip 2",
            "Sort [a desc], first 7",
            "Exchange single",
            "Sort [a desc], first 7",
            "Scan t [a, b, c], 4 partitions",
        ],
    );
    // An order of the first rows is not an order before them.
    let ten = limit(&table(2, "s", 10, &["x"]), 3, Some(4));
    assert_plan(
        &sort(&ten, vec![key(0, false)], None),
        &["Sort [x]", "Limit 4, skip 3", "Scan s [x], first 7, 1 partition"],
    );
    let three = sort(&table(2, "s", 10, &["x"]), vec![key(0, false)], Some(3));
    assert_plan(
        &filter(&three, gt(col(0), lit(2_i64))),
        &["Filter x > 2", "Sort [x], first 3", "Scan s [x], 1 partition"],
    );
}

#[test]
fn distinct_rows_and_first_rows_of_groups() {
    let distinct = |on: Vec<Expr>| {
        let schema = big().schema().clone();
        PlanRef::new(LogicalPlan::Distinct { input: big(), on }, schema)
    };
    assert!(text(&distinct(vec![])).starts_with("Aggregate (final) by [a, b, c] []"));
    let first = text(&distinct(vec![col(1)]));
    assert!(first.starts_with("Project [first(a) AS a, b, first(c) AS c]"), "{first}");
}

#[test]
fn set_operations_match_null_with_null() {
    let operation = |operation, all| {
        let schema = big().schema().clone();
        let other = table(3, "u", 900_000, &["x", "y", "z"]);
        let node = LogicalPlan::SetOperation { left: big(), right: other, operation, all };
        text(&PlanRef::new(node, schema))
    };
    let intersect = operation(SetOperation::Intersect, false);
    assert!(
        intersect.starts_with("HashJoin semi on a <=> x AND b <=> y AND c <=> z"),
        "{intersect}"
    );
    assert_eq!(intersect.matches("Exchange").count(), 2, "{intersect}");
    let except = operation(SetOperation::Except, true);
    assert!(except.contains("HashJoin anti on") && except.contains("row_number <=> row_number"));
    assert_eq!(except.matches("Window [row_number]").count(), 2, "{except}");
    assert_eq!(except.matches("Exchange").count(), 2, "{except}");
}

#[test]
fn windows_share_exchanges_and_orders() {
    let window = |function, order: Option<u32>| {
        let spec = WindowSpec {
            partition_by: vec![col(0).into()],
            order_by: order.map(|index| key(index, false)).into_iter().collect(),
            frame: None,
        };
        let expr = Expr::Window { function, args: vec![], window: spec, ignore_nulls: false };
        Expr::Alias { expr: expr.into(), name: "w".into() }
    };
    let exprs = vec![
        window(WindowFn::RowNumber, Some(1)),
        window(WindowFn::Rank, Some(2)),
        window(WindowFn::Rank, Some(1)),
    ];
    let mut schema = Schema::clone(big().schema());
    for name in ["x", "y", "z"] {
        let field = crate::logical::Field {
            qualifier: None,
            name: name.into(),
            data_type: arrow_schema::DataType::Int32,
            nullable: false,
        };
        schema.fields.push(field);
    }
    let plan = PlanRef::new(LogicalPlan::Window { input: big(), exprs }, Arc::new(schema));
    assert_plan(
        &plan,
        &[
            "Project [a, b, c, x, y, z]",
            "Window [rank] by [a] order [c]",
            "Sort [a, c]",
            "Window [row_number, rank] by [a] order [b]",
            "Sort [a, b]",
            "Exchange hash [a] to 3",
            "Scan t [a, b, c], 4 partitions",
        ],
    );
}

#[test]
fn equal_parts_are_computed_once() {
    let sums = || aggregate(&big(), vec![col(0)], vec![call(AggregateFn::Sum, col(1))]);
    let most = aggregate(&sums(), vec![], vec![call(AggregateFn::Max, col(1))]);
    let both = join(&sums(), &most, JoinKind::Inner, &[(1, 0)], None);
    let planned = plan(&both, &PlanSettings::default()).unwrap();
    let scans = |operator: &&crate::physical::Operator| matches!(operator.op, Op::Scan(_));
    assert_eq!(planned.plan.operators.iter().filter(scans).count(), 1);
    let pieces = stages(&planned.plan);
    assert_eq!(
        pieces.iter().filter(|piece| piece.plan.operators.iter().any(|o| scans(&o))).count(),
        1,
        "{}",
        explain_stages(&pieces, &planned.tables)
    );
}

#[test]
fn stages_are_cut_at_exchanges() {
    let small = table(2, "s", 2000, &["k", "v"]);
    let joined = join(&big(), &small, JoinKind::Inner, &[(0, 0)], None);
    let sums = aggregate(&joined, vec![col(4)], vec![call(AggregateFn::Sum, col(1))]);
    let settings = PlanSettings { partitions: Some(3), ..PlanSettings::default() };
    let planned = plan(&sums, &settings).unwrap();
    let pieces = stages(&planned.plan);
    let shape: Vec<(u32, Vec<usize>)> =
        pieces.iter().map(|p| (p.partitions, p.inputs.iter().map(|i| i.stage).collect())).collect();
    assert_eq!(shape, [(4, vec![]), (4, vec![0]), (3, vec![1])]);
    assert!(pieces[2].output.is_none());
    let text = explain_stages(&pieces, &planned.tables);
    assert!(text.contains("<- stage 0 (broadcast)"), "{text}");
    let inputs = union(vec![big(), big(), small]);
    let planned = plan(&inputs, &settings).unwrap();
    assert_eq!(stages(&planned.plan)[0].partitions, 12);
}

#[test]
fn tables_that_are_equal_are_read_by_one_number() {
    let planned = plan(&union(vec![big(), big()]), &PlanSettings::default()).unwrap();
    assert_eq!(planned.tables.len(), 1);
    let renamed = table(1, "t", 5, &["a", "b", "c"]);
    let planned = plan(&union(vec![big(), renamed]), &PlanSettings::default()).unwrap();
    assert_eq!(planned.tables.len(), 2);
}

#[test]
fn deep_and_wide_plans_are_planned_on_a_small_stack() {
    on_small_stack(|| {
        let plus_one = || named(add(col(0), lit(1_i64)), "a");
        let mut deep = table(1, "t", 1000, &["a", "b"]);
        for _ in 0..10_000 {
            deep = filter(&project(&deep, vec![plus_one(), col(1)]), gt(col(0), col(1)));
        }
        assert!(!text(&deep).is_empty());
        let inputs = (0..5000).map(|id| table(id, "t", 10, &["a"])).collect();
        assert!(text(&union(inputs)).contains("... and 4992 more"));
        let mut one_by_one = table(1, "t", 10, &["a"]);
        for id in 0..5000 {
            one_by_one = union(vec![one_by_one, table(id, "t", 10, &["a"])]);
        }
        assert!(text(&one_by_one).starts_with("Union of 5001"));
        let names: Vec<String> = (0..2000).map(|i| format!("c{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let wide = table(1, "t", 10, &names);
        let sums = (1..2000).map(|i| call(AggregateFn::Sum, col(i))).collect();
        assert!(!text(&aggregate(&wide, vec![col(0)], sums)).is_empty());
        let terms = (0..50_000_i64).map(|i| eq(col(0), add(col(1), lit(i))));
        assert!(!text(&filter(&wide, or(terms))).is_empty());
    });
}
