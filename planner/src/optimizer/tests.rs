//! What the rules do together: joins of TPC-H (scale 1) in whatever order they are written, and plans that are deep,
//! wide or long.

use super::testing::*;
use super::*;
use crate::expr::AggregateFn;
use crate::logical::{ColumnStatistics, LogicalPlan};
use crate::physical::statistics::Statistics;
use crate::physical::{JoinKind, PlanSettings, plan as lower};

/// A table's columns with how many different values they have.
fn tpch(name: &str) -> PlanRef {
    let (id, rows, columns): (u64, u64, &[(&str, u64)]) = match name {
        "lineitem" => (
            1,
            6_001_215,
            &[
                ("l_orderkey", 1_500_000),
                ("l_partkey", 200_000),
                ("l_suppkey", 10_000),
                ("l_qty", 50),
            ],
        ),
        "orders" => {
            (2, 1_500_000, &[("o_orderkey", 1_500_000), ("o_custkey", 100_000), ("o_year", 7)])
        }
        "customer" => (3, 150_000, &[("c_custkey", 150_000), ("c_nationkey", 25)]),
        "supplier" => (4, 10_000, &[("s_suppkey", 10_000), ("s_nationkey", 25)]),
        "nation" => (5, 25, &[("n_nationkey", 25), ("n_regionkey", 5), ("n_name", 25)]),
        "region" => (6, 5, &[("r_regionkey", 5), ("r_name", 5)]),
        "part" => (7, 200_000, &[("p_partkey", 200_000), ("p_type", 150)]),
        _ => (8, 800_000, &[("ps_partkey", 200_000), ("ps_suppkey", 10_000), ("ps_cost", 99_000)]),
    };
    let names: Vec<&str> = columns.iter().map(|column| column.0).collect();
    let statistics: Vec<ColumnStatistics> =
        columns.iter().map(|column| distinct(column.1)).collect();
    table_with(id, name, rows, &names, statistics)
}

/// Tables joined by equal columns, and columns that have a value, written as a selection of pairs.
fn written(tables: &[&str], equal: &[(&str, &str)], values: &[(&str, i64)]) -> PlanRef {
    let joined = tables
        .iter()
        .map(|name| tpch(name))
        .reduce(|left, right| join(&left, &right, JoinKind::Cross, &[], None))
        .unwrap();
    let place = |wanted: &str| {
        let fields = &joined.schema().fields;
        col(fields.iter().position(|field| &*field.name == wanted).unwrap() as u32)
    };
    let equal = equal.iter().map(|(a, b)| eq(place(a), place(b)));
    let values = values.iter().map(|(name, value)| eq(place(name), lit(*value)));
    filter(&joined, and(equal.chain(values)))
}

/// The order of `items` after so many steps of all orders.
fn permuted<'a>(items: &[&'a str], mut step: usize) -> Vec<&'a str> {
    let mut left = items.to_vec();
    let mut out = Vec::new();
    while !left.is_empty() {
        out.push(left.remove(step % left.len()));
        step /= left.len() + 1;
    }
    out
}

/// The most rows that a join of the plan is thought to give; an error where one has no key.
fn largest_join(plan: &PlanRef) -> f64 {
    let mut statistics = Statistics::default();
    let mut largest: f64 = 0.0;
    let mut stack = vec![plan.clone()];
    while let Some(plan) = stack.pop() {
        if let LogicalPlan::Join { on, .. } = &*plan {
            assert!(!on.is_empty(), "a join without a key");
            largest = largest.max(statistics.of(&plan).rows.unwrap());
        }
        stack.extend(plan.inputs().into_iter().cloned());
    }
    largest
}

fn assert_good_in_any_order(
    tables: &[&str],
    equal: &[(&str, &str)],
    values: &[(&str, i64)],
    rows_max: f64,
) {
    for step in [0, 1, 7, 23, 64, 119, 500, 719] {
        let order = permuted(tables, step);
        let plan = written(&order, equal, values);
        let optimized = optimize(&plan).unwrap();
        let shown = || shown(&optimized).join("\n");
        assert!(largest_join(&optimized) <= rows_max, "{order:?}\n{}", shown());
        let names = |plan: &PlanRef| -> Vec<_> {
            plan.schema().fields.iter().map(|field| field.name.clone()).collect()
        };
        assert_eq!(names(&optimized), names(&plan));
        assert_eq!(self::shown(&optimize(&optimized).unwrap()), self::shown(&optimized));
    }
}

#[test]
fn query_5_joins_small_tables_first() {
    assert_good_in_any_order(
        &["customer", "orders", "lineitem", "supplier", "nation", "region"],
        &[
            ("c_custkey", "o_custkey"),
            ("l_orderkey", "o_orderkey"),
            ("l_suppkey", "s_suppkey"),
            ("c_nationkey", "s_nationkey"),
            ("s_nationkey", "n_nationkey"),
            ("n_regionkey", "r_regionkey"),
        ],
        &[("r_name", 1), ("o_year", 1994)],
        400_000.0,
    );
}

#[test]
fn query_9_has_a_key_of_two_columns() {
    assert_good_in_any_order(
        &["part", "supplier", "lineitem", "partsupp", "orders", "nation"],
        &[
            ("s_suppkey", "l_suppkey"),
            ("ps_suppkey", "l_suppkey"),
            ("ps_partkey", "l_partkey"),
            ("p_partkey", "l_partkey"),
            ("o_orderkey", "l_orderkey"),
            ("s_nationkey", "n_nationkey"),
        ],
        &[("p_type", 1)],
        100_000.0,
    );
}

#[test]
fn query_2_joins_what_is_left_of_parts() {
    assert_good_in_any_order(
        &["part", "supplier", "partsupp", "nation", "region"],
        &[
            ("p_partkey", "ps_partkey"),
            ("s_suppkey", "ps_suppkey"),
            ("s_nationkey", "n_nationkey"),
            ("n_regionkey", "r_regionkey"),
        ],
        &[("p_type", 15), ("r_name", 3)],
        10_000.0,
    );
}

#[test]
fn conditions_reach_scans_in_the_physical_plan() {
    let plan = written(&["orders", "customer"], &[("c_custkey", "o_custkey")], &[("o_year", 1994)]);
    let sums = aggregate(&plan, vec![col(4)], vec![call(AggregateFn::Count, col(0))]);
    let optimized = optimize(&sums).unwrap();
    let planned = lower(&optimized, &PlanSettings::default()).unwrap();
    let text = crate::physical::explain_physical(&planned.plan, &planned.tables);
    assert!(
        text.contains("Scan orders [o_orderkey, o_custkey, o_year] where o_year = 1994"),
        "{text}"
    );
    assert!(!text.contains("Filter"), "{text}");
}

#[test]
fn plans_of_any_shape_are_optimised_on_a_small_stack() {
    on_small_stack(|| {
        let check = |plan: &PlanRef| {
            let new = optimize(plan).unwrap();
            assert_eq!(new.schema().len(), plan.schema().len());
            lower(&new, &PlanSettings::default()).unwrap();
        };
        let t = || table(1, "t", 1000, &["a", "b"]);
        let mut columns = t();
        let mut filters = t();
        for at in 0..10_000 {
            columns = project(&columns, vec![named(add(col(0), lit(1_i64)), "a"), col(1)]);
            filters = filter(&filters, gt(col(0), lit(at)));
        }
        check(&columns);
        check(&filters);
        let mut doubled = t();
        for _ in 0..60 {
            doubled = project(&doubled, vec![named(add(col(0), col(0)), "a"), col(1)]);
        }
        check(&doubled);
        let inputs = (0..5000).map(|id| table(id, "t", 10, &["a"])).collect();
        check(&filter(&union(inputs), gt(col(0), lit(1_i64))));
        let names: Vec<String> = (0..2000).map(|i| format!("c{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let wide = table(1, "t", 10, &names);
        check(&project(&wide, (0..2000).map(|i| add(col(i), lit(1_i64))).collect()));
        let sums = (1..2000).map(|i| call(AggregateFn::Sum, col(i))).collect();
        check(&aggregate(&wide, vec![col(0)], sums));
        let terms = |of: fn(i64) -> Expr| filter(&t(), or((0..50_000).map(of)));
        check(&terms(|value| eq(col(0), lit(value))));
        check(&terms(|value| gt(add(col(0), lit(value)), col(1))));
    });
}
