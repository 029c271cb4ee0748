use super::super::*;
use super::{fails, gives, people};
use crate::expr::functions_api::{avg, count, count_star, grouping, grouping_id, rank, sum};
use crate::expr::{Expr, Scalar, col, when, window};
use crate::logical::{GroupingSets, LogicalPlan};

fn by_city(aggregates: Vec<Expr>) -> Result<PlanRef, crate::error::PlanError> {
    aggregate(people(), vec![col("city")], aggregates, GroupingSets::Plain)
}

#[test]
fn plain_aggregates_need_no_projection() {
    let plan = by_city(vec![count_star().alias("n"), avg("age")]).unwrap();
    gives(&plan, "city: string, n: bigint!, avg(age): double");
    let LogicalPlan::Aggregate { keys, aggregates, .. } = &*plan else { panic!("{plan:?}") };
    assert_eq!(*keys, [Expr::Field(3)]);
    assert_eq!(*aggregates, [count_star(), avg(Expr::Field(2))]);
}

#[test]
fn each_aggregate_is_computed_once() {
    let plan = by_city(vec![
        (sum("age") / sum("id") + 1).alias("x"),
        (sum("age") * 100).alias("y"),
        (sum(when(col("age").gt(18), 1).otherwise(0)) / count("age")).alias("z"),
        col("city").alias("again"),
    ])
    .unwrap();
    gives(&plan, "city: string, x: double, y: bigint, z: double, again: string");
    let LogicalPlan::Project { input, exprs } = &*plan else { panic!("{plan:?}") };
    assert_eq!(exprs[1], Expr::Field(1) / Expr::Field(2) + 1);
    assert_eq!(exprs[2], Expr::Field(1) * 100);
    assert_eq!(exprs[4], Expr::Field(0));
    let LogicalPlan::Aggregate { aggregates, .. } = &**input else { panic!("{input:?}") };
    assert_eq!(aggregates.len(), 4);
}

#[test]
fn keys_may_be_expressions() {
    let decade = || col("age").int_div(10);
    let plan = aggregate(
        people(),
        vec![decade()],
        vec![(decade() * 10).alias("from"), count_star()],
        GroupingSets::Plain,
    );
    gives(&plan.unwrap(), "age DIV 10: bigint, from: bigint, count(*): bigint!");
}

#[test]
fn what_does_not_belong_into_an_aggregation_is_refused() {
    fails(
        by_city(vec![sum("age") + col("id")]),
        "`id` is neither a grouping column nor in an aggregate: group by it, or use an aggregate such as `first(id)`",
    );
    fails(
        by_city(vec![sum(avg("age") + 1)]),
        "aggregate `avg(age)` inside of aggregate `sum(avg(age) + 1)`: aggregate in two steps",
    );
    fails(
        by_city(vec![rank().over(window().order_by(["age"]))]),
        "window function `rank() OVER (ORDER BY age)` cannot be used in an aggregation: compute it as a column with \
         `with_column` first",
    );
    fails(
        aggregate(people(), vec![sum("age")], vec![], GroupingSets::Plain),
        "aggregate `sum(age)` cannot be used in a grouping column: use it in `agg`, or over a window with `.over(..)`",
    );
    fails(
        by_city(vec![sum("age").alias("city")]),
        "duplicate column `city` in the aggregation: rename with `.alias(..)`",
    );
    fails(
        by_city(vec![grouping_id()]),
        "grouping_id needs `rollup`, `cube` or `grouping_sets`, in `grouping_id()`",
    );
}

#[test]
fn grouping_sets_leave_keys_out() {
    let keys = || vec![col("id"), col("city")];
    let plan = aggregate(
        people(),
        keys(),
        vec![grouping_id(), grouping("city").alias("g"), count_star()],
        GroupingSets::Rollup,
    );
    let plan = plan.unwrap();
    gives(&plan, "id: bigint, city: string, grouping_id(): bigint!, g: bigint!, count(*): bigint!");
    let sets = GroupingSets::Sets(vec![vec![0, 1], vec![0]]);
    let plan = aggregate(people(), keys(), vec![count_star()], sets).unwrap();
    gives(&plan, "id: bigint!, city: string, count(*): bigint!");
    let sets = GroupingSets::Sets(vec![vec![2]]);
    fails(
        aggregate(people(), keys(), vec![], sets),
        "a grouping set has column 2, but there are 2",
    );
}

#[test]
fn a_pivot_has_one_column_for_each_value() {
    let value = |text: &str| PivotValue { value: Scalar::from(text), name: text.into() };
    let values = || vec![value("Rome"), value("Oslo")];
    let plan =
        pivot(people(), vec![col("age")], col("city"), values(), vec![count_star()]).unwrap();
    gives(&plan, "age: int, Rome: bigint!, Oslo: bigint!");
    let LogicalPlan::Aggregate { aggregates, .. } = &*plan else { panic!("{plan:?}") };
    assert_eq!(aggregates[0], count_star().filter(Expr::Field(3).null_safe_eq("Rome")));
    let two = vec![sum("id").alias("s"), count_star().alias("n")];
    let plan = pivot(people(), vec![], col("city"), values(), two).unwrap();
    gives(&plan, "Rome_s: bigint, Rome_n: bigint!, Oslo_s: bigint, Oslo_n: bigint!");
}
