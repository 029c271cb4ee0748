use std::time::{Duration, Instant};

use arrow_schema::{DataType, Field as ArrowField};

use super::super::*;
use super::{fails, gives, people, table};
use crate::expr::functions_api::{count_star, lower, rank, row_number, sum};
use crate::expr::{Expr, Scalar, ScalarFn, col, lit, window};
use crate::logical::LogicalPlan;

#[test]
fn columns_are_called_by_alias_name_or_text() {
    let plan = project(
        people(),
        vec![col("name"), (col("age") + 1).alias("next"), col("age") * 2, lit("x"), lower("city")],
    );
    gives(
        &plan.unwrap(),
        "name: string, next: int, age * 2: int, 'x': string!, lower(city): string",
    );
    let plan = project(people(), vec![col("*"), (col("age") + 1).alias("next")]).unwrap();
    gives(&plan, "id: bigint!, name: string, age: int, city: string, next: int");
    let LogicalPlan::Project { exprs, .. } = &*plan else { panic!("{plan:?}") };
    assert_eq!(exprs[4], Expr::Field(2) + 1);
}

#[test]
fn a_selection_of_everything_is_the_input() {
    let plan = project(people(), vec![col("*")]).unwrap();
    assert!(matches!(&*plan, LogicalPlan::Scan(_)));
}

#[test]
fn names_may_be_qualified_quoted_or_fields_of_structs() {
    let point = vec![ArrowField::new("x", DataType::Int32, false)];
    let input = table(&[
        ("a.b!", DataType::Int8),
        ("p!", DataType::Struct(point.into())),
        ("a", DataType::Int16),
    ]);
    let plan = project(input.clone(), vec![col("a.b"), col("p.x"), col("`a`")]).unwrap();
    gives(&plan, "a.b: tinyint!, x: int!, a: smallint");
    let plan = project(alias(input, "t"), vec![col("t.`a.b`"), col("t.a"), col("t.p").field("x")])
        .unwrap();
    gives(&plan, "t.a.b: tinyint!, t.a: smallint, x: int!");
}

#[test]
fn wrong_names_are_told() {
    fails(
        project(people(), vec![col("nmae")]),
        "no column `nmae`; did you mean `name`?; the columns are id, name, age, city",
    );
    fails(
        project(people(), vec![col("name"), lower("name").alias("name")]),
        "duplicate column `name` in the selection: rename with `.alias(..)`",
    );
    fails(
        filter(people(), col("x.name").eq("a")),
        "no column `x.name`; did you mean `name`?; the columns are id, name, age, city",
    );
    fails(
        project(people(), vec![col("x.*")]),
        "no column `x.*`; the columns are id, name, age, city",
    );
}

#[test]
fn filters_are_conditions_of_one_row() {
    let plan = filter(people(), col("age").gt(18).and(col("name").is_not_null())).unwrap();
    let LogicalPlan::Filter { predicate, .. } = &*plan else { panic!("{plan:?}") };
    assert_eq!(*predicate, Expr::Field(2).gt(18).and(Expr::Field(1).is_not_null()));
    fails(
        filter(people(), col("age")),
        "a filter must be a boolean, but `age` is int: compare it with something",
    );
    fails(
        filter(people(), sum("age").gt(1)),
        "aggregate `sum(age)` cannot be used in a filter: use it in `agg`, or over a window with `.over(..)`",
    );
    let first = row_number().over(window().order_by(["id"])).eq(1);
    fails(
        filter(people(), first),
        "window function `row_number() OVER (ORDER BY id)` cannot be used in a filter: compute it as a column with \
         `with_column` first",
    );
}

#[test]
fn columns_are_replaced_in_place_and_appended() {
    let plan =
        with_columns(people(), vec![lower("name").alias("name"), lit(1).alias("one")]).unwrap();
    gives(&plan, "id: bigint!, name: string, age: int, city: string, one: int!");
    let twice = vec![lit(1).alias("x"), lit(2).alias("x")];
    fails(
        with_columns(people(), twice),
        "duplicate column `x` in `with_columns`: rename with `.alias(..)`",
    );
    let plan =
        rename(people(), vec![(col("id"), "name".into()), (col("name"), "id".into())]).unwrap();
    gives(&plan, "name: bigint!, id: string, age: int, city: string");
    fails(
        rename(people(), vec![(col("id"), "age".into())]),
        "duplicate column `age` in `rename`: rename with `.alias(..)`",
    );
    gives(&drop(people(), vec![col("id"), col("city")]).unwrap(), "name: string, age: int");
    let plan = cast_columns(people(), vec![(col("age"), DataType::Int64)]).unwrap();
    gives(&plan, "id: bigint!, name: string, age: bigint, city: string");
}

#[test]
fn window_functions_are_computed_once_by_a_node_of_their_own() {
    let by_city = || window().partition_by(["city"]).order_by(["age"]);
    let plan = project(
        people(),
        vec![
            col("name"),
            (rank().over(by_city()) + rank().over(by_city())).alias("twice"),
            (col("age") / sum("age").over(window())).alias("share"),
        ],
    )
    .unwrap();
    gives(&plan, "name: string, twice: bigint!, share: double");
    let LogicalPlan::Project { input, exprs } = &*plan else { panic!("{plan:?}") };
    assert_eq!(exprs[1], Expr::Field(4) + Expr::Field(4));
    assert_eq!(exprs[2], Expr::Field(2) / Expr::Field(5));
    let LogicalPlan::Window { exprs, .. } = &**input else { panic!("{input:?}") };
    assert_eq!(exprs.len(), 2);
    let plan =
        super::super::window(people(), vec![row_number().over(by_city()).alias("n")]).unwrap();
    gives(&plan, "id: bigint!, name: string, age: int, city: string, n: bigint!");
    let nested = sum(rank().over(by_city())).over(window());
    assert!(
        project(people(), vec![nested])
            .unwrap_err()
            .to_string()
            .contains("cannot be used in a window function")
    );
    let distinct = crate::expr::functions_api::avg("age").distinct().over(window());
    assert!(
        project(people(), vec![distinct]).unwrap_err().to_string().contains("takes no DISTINCT")
    );
}

#[test]
fn rows_are_sorted_limited_sampled_and_spread() {
    let plan = sort(people(), vec![col("age").desc(), "name".into()]).unwrap();
    let LogicalPlan::Sort { keys, .. } = &*plan else { panic!("{plan:?}") };
    assert_eq!(
        (keys[0].expr.clone(), keys[0].descending, keys[0].nulls_first),
        (Expr::Field(2).into(), true, false)
    );
    assert!(sample(people(), 1.5, 0).unwrap_err().to_string().contains("from 0 to 1"));
    assert!(sample(people(), f64::NAN, 0).is_err());
    assert!(repartition(people(), vec![], true, None).is_err());
    assert!(repartition(people(), vec![col("id")], false, Some(0)).is_err());
    gives(
        &alias(distinct(people(), vec![col("id")]).unwrap(), "p"),
        "p.id: bigint!, p.name: string, p.age: int, p.city: string",
    );
    let limited = limit(sort(people(), vec!["id".into()]).unwrap(), 3, Some(4));
    assert!(matches!(&*limited, LogicalPlan::Limit { skip: 3, fetch: Some(4), .. }));
}

#[test]
fn nulls_are_filled_by_kind_and_dropped() {
    let plan = fill_null(people(), Scalar::from(0), vec![]).unwrap();
    gives(&plan, "id: bigint!, name: string, age: int!, city: string");
    let plan = fill_null(people(), Scalar::from("?"), vec![col("city")]).unwrap();
    gives(&plan, "id: bigint!, name: string, age: int, city: string!");
    fails(
        fill_null(people(), Scalar::from(0), vec![col("city")]),
        "cannot fill column `city`, which is string, with 0, which is int",
    );
    let plan = drop_nulls(people(), vec![col("age"), col("city")], false).unwrap();
    let LogicalPlan::Filter { predicate, .. } = &*plan else { panic!("{plan:?}") };
    assert_eq!(*predicate, Expr::Field(2).is_not_null().and(Expr::Field(3).is_not_null()));
}

#[test]
fn lists_become_rows_and_columns_become_rows() {
    let lists =
        table(&[("k!", DataType::Int32), ("v", DataType::new_list(DataType::Utf8View, true))]);
    let plan = explode(lists.clone(), col("v"), false, Some("at".into())).unwrap();
    gives(&plan, "k: int!, at: int!, v: string");
    gives(
        &explode(lists, col("v"), true, Some("at".into())).unwrap(),
        "k: int!, at: int, v: string",
    );
    fails(
        explode(people(), col("age"), false, None),
        "`explode` takes a list or a map, and column `age` is int",
    );
    let plan = unpivot(
        people(),
        vec![col("name")],
        vec![col("age"), col("id")],
        "what".into(),
        "value".into(),
    );
    gives(&plan.unwrap(), "name: string, what: string, value: bigint");
    let error = unpivot(people(), vec![], vec![col("age"), col("name")], "n".into(), "v".into());
    gives(&error.unwrap(), "n: string, v: bigint");
}

#[test]
fn a_selection_of_aggregates_is_of_all_rows() {
    let plan = project(people(), vec![count_star().alias("n"), sum("age")]).unwrap();
    gives(&plan, "n: bigint!, sum(age): bigint");
    fails(
        project(people(), vec![count_star(), col("age")]),
        "`age` is neither a grouping column nor in an aggregate: group by it, or use an aggregate such as `first(age)`",
    );
}

#[test]
fn wide_and_long_plans_are_built_in_linear_time() {
    let names: Vec<String> = (0..2_000).map(|i| format!("column_{i}")).collect();
    let fields: Vec<(&str, DataType)> =
        names.iter().map(|name| (&**name, DataType::Int64)).collect();
    let wide = table(&fields);
    let body = move || {
        let start = Instant::now();
        let exprs = names.iter().map(|name| (col(name) + 1).alias(&**name)).collect();
        let plan = with_columns(wide.clone(), exprs).unwrap();
        let sums: Vec<Expr> = names.iter().map(sum).collect();
        let plan = aggregate(plan, vec![], sums, crate::logical::GroupingSets::Plain).unwrap();
        assert_eq!(plan.schema().len(), 2_000);
        let terms = (0..50_000).map(|i| col("column_7").eq(i)).reduce(Expr::or).unwrap();
        filter(wide.clone(), terms).unwrap();
        filter(wide, col("column_9").in_list(0..10_000)).unwrap();
        let mut rows = one_row();
        for _ in 0..2_000 {
            rows = union_by_position(vec![rows, one_row()]).unwrap();
        }
        union_by_position(vec![rows; 5_000]).unwrap();
        let deep = (0..20_000).fold(lit(0), |sum, i| sum + i);
        project(one_row(), vec![deep.alias("sum")]).unwrap();
        start.elapsed()
    };
    let took = std::thread::Builder::new().stack_size(2 << 20).spawn(body).unwrap().join().unwrap();
    // Far more than it takes on the busiest machine, and less than anything quadratic would.
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn struct_fields_are_calls() {
    let point = vec![ArrowField::new("x", DataType::Int32, false)];
    let input = table(&[("p!", DataType::Struct(point.into()))]);
    let plan = project(input, vec![col("p.x")]).unwrap();
    let LogicalPlan::Project { exprs, .. } = &*plan else { panic!("{plan:?}") };
    assert!(matches!(&exprs[0], Expr::Call { function: ScalarFn::GetField, .. }));
}
