use std::sync::Arc;

use DataType::{
    Boolean, Date32, Decimal128, Float32, Float64, Int8, Int16, Int32, Int64, UInt64, Utf8View,
};
use arrow_schema::{DataType, Field as ArrowField, IntervalUnit, TimeUnit};

use super::{coerce_call, infer};
use crate::expr::functions_api::*;
use crate::expr::{
    AggregateFn, Expr, FrameBound, IntoColumn, Scalar, ScalarFn, WindowFn, col, date, decimal,
    interval_days, interval_hours, lit, preceding, when, window,
};
use crate::logical::{Field, Schema};

fn micros(zone: Option<&str>) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into))
}

fn list(item: DataType) -> DataType {
    DataType::new_list(item, true)
}

/// Columns that cannot be NULL, but for `n`.
fn schema() -> Schema {
    let point = vec![ArrowField::new("x", Float64, false), ArrowField::new("y", Float64, true)];
    let entry =
        vec![ArrowField::new("key", Utf8View, false), ArrowField::new("value", Int32, true)];
    let entries = ArrowField::new("entries", DataType::Struct(entry.into()), false);
    let columns = [
        ("i8", Int8),
        ("i16", Int16),
        ("i32", Int32),
        ("i64", Int64),
        ("u64", UInt64),
        ("f32", Float32),
        ("f64", Float64),
        ("money", Decimal128(15, 2)),
        ("wide", Decimal128(38, 18)),
        ("b", Boolean),
        ("s", Utf8View),
        ("d", Date32),
        ("t", micros(None)),
        ("utc", micros(Some("UTC"))),
        ("ints", list(Int32)),
        ("point", DataType::Struct(point.into())),
        ("map", DataType::Map(Arc::new(entries), false)),
        ("n", Int32),
        ("span", DataType::Interval(IntervalUnit::MonthDayNano)),
        ("old", DataType::Utf8),
    ];
    let field = |(name, data_type): (&str, DataType)| Field {
        qualifier: None,
        name: name.into(),
        data_type,
        nullable: name == "n",
    };
    Schema { fields: columns.into_iter().map(field).collect() }
}

#[track_caller]
fn is(expr: impl IntoColumn, data_type: DataType) {
    let (found, nullable) = infer(&expr.into_column(), &schema()).unwrap();
    assert_eq!((found, nullable), (data_type, false));
}

#[track_caller]
fn may_be_null(expr: impl IntoColumn, data_type: DataType) {
    let (found, nullable) = infer(&expr.into_column(), &schema()).unwrap();
    assert_eq!((found, nullable), (data_type, true));
}

#[track_caller]
fn fails(expr: impl IntoColumn, message: &str) {
    let error = infer(&expr.into_column(), &schema()).unwrap_err().to_string();
    assert_eq!(error, message);
}

#[test]
fn integers_keep_the_wider_type_and_divide_to_doubles() {
    is(col("i8") + col("i8"), Int8);
    is(col("i8") + col("i64"), Int64);
    is(col("i16") + 1, Int32);
    is(col("i64") * 2, Int64);
    is(col("i64") / 2, Float64);
    is(col("i32").int_div(2), Int64);
    is(col("i32") % 2, Int32);
    is(col("i64") + col("u64"), Decimal128(21, 0));
    is(-col("i32"), Int32);
    is(-col("u64"), Decimal128(20, 0));
    is(col("i64").bit_and(1), Int64);
    is(col("i64") << 3, Int64);
    may_be_null(col("n") + 1, Int32);
}

#[test]
fn floats_and_decimals() {
    is(col("f32") + col("f32"), Float32);
    is(col("f32") / col("f32"), Float64);
    is(col("f32") + 1, Float64);
    is(col("money") + col("f64"), Float64);
    is(col("money") + col("money"), Decimal128(16, 2));
    is(lit(1) - col("money"), Decimal128(16, 2));
    is(col("money") * (lit(1) - col("money")), Decimal128(32, 4));
    is(col("money") * 2, Decimal128(17, 2));
    is(col("money") * col("i32"), Decimal128(26, 2));
    is(col("money") / col("money"), Decimal128(33, 18));
    is(col("wide") * col("wide"), Decimal128(38, 6));
    is(col("money") * decimal("0.2"), Decimal128(17, 3));
    is(col("money").int_div(3), Int64);
}

#[test]
fn dates_and_times() {
    let span = DataType::Interval(IntervalUnit::MonthDayNano);
    let duration = DataType::Duration(TimeUnit::Microsecond);
    is(col("d") + 1, Date32);
    is(lit(1) + col("d"), Date32);
    is(col("d") - col("d"), Int32);
    is(col("d") - "1998-12-01", Int32);
    is(col("d") - interval_days(90), Date32);
    is(interval_days(90) + col("d"), Date32);
    is(col("d") + interval_hours(1), micros(None));
    is(col("d") + col("span"), Date32);
    is(col("utc") + interval_hours(1), micros(Some("UTC")));
    is(col("t") - col("t"), duration.clone());
    is(col("utc") - col("t"), duration.clone());
    is(col("t") - col("d"), duration);
    is(col("t") + (col("t") - col("t")), micros(None));
    is((col("t") - col("t")).gt(interval_hours(1)), Boolean);
    is(col("span") * 3, span.clone());
    is(-col("span"), span);
    fails(
        col("t") + 1,
        "cannot add timestamp and int in `t + 1`: use an interval, such as `interval_days(1)` or `interval_hours(1)`",
    );
}

#[test]
fn conditions_are_of_what_can_be_compared() {
    is(col("i8").eq(1), Boolean);
    is(col("s").eq(1), Boolean);
    is(col("d").gt_eq("1994-01-01"), Boolean);
    is(col("old").eq(col("s")), Boolean);
    is(col("n").null_safe_eq(1), Boolean);
    may_be_null(col("n").eq(1), Boolean);
    is(col("n").is_null(), Boolean);
    is(col("b").and(col("i32").gt(1)), Boolean);
    is(col("s").like("a%"), Boolean);
    is(col("i32").in_list([1, 2, 3]), Boolean);
    may_be_null(col("i32").in_list([Some(1), None]), Boolean);
    fails(
        col("i32").eq(col("d")),
        "cannot compare int and date in `i32 = d`: cast one of them with `.cast(..)`",
    );
    fails(
        col("map").eq(col("map")),
        "cannot compare map<string, int> and map<string, int> in `map = map`: values of this type have no order",
    );
    fails(
        col("i32").and(col("b")),
        "each side of AND must be a boolean, but `i32` is int: compare it with something",
    );
    fails(
        col("i32").like("a"),
        "LIKE takes a string as argument 1, not int, in `i32 LIKE 'a'`: cast it with `.cast(..)`",
    );
}

#[test]
fn errors_say_what_does_not_go_together() {
    fails(
        col("s") + "x",
        "cannot add string and string in `s + 'x'`: join strings with `concat(..)`, or cast to a number with \
         `.cast(..)`",
    );
    fails(
        col("b") * 2,
        "cannot multiply boolean and int in `b * 2`: cast to a number with `.cast(..)`",
    );
    fails(
        col("f64").bit_or(1),
        "cannot combine the bits of double and int in `f64 | 1`: cast to a number with `.cast(..)`",
    );
    fails(col("ints").cast(Int32), "cannot cast list<int> to int in `CAST(ints AS int)`");
    fails(col("i32").cast(Date32), "cannot cast int to date in `CAST(i32 AS date)`");
    fails(col("d").try_cast(Int64), "cannot cast date to bigint in `TRY_CAST(d AS bigint)`");
    fails(
        when(col("b"), 1).otherwise(col("d")),
        "cannot mix in CASE int and date in `CASE WHEN b THEN 1 ELSE d END`: cast one of them with `.cast(..)`",
    );
    fails(
        when(col("i32"), 1),
        "the condition of `when` must be a boolean, but `i32` is int: compare it with something",
    );
    fails(
        lower("i32"),
        "lower takes a string as argument 1, not int, in `lower(i32)`: cast it with `.cast(..)`",
    );
    let call = Expr::Call { function: ScalarFn::Lower, args: vec![] };
    fails(call, "lower takes 1 argument, not 0, in `lower()`");
    let call = Expr::Call { function: ScalarFn::Substring, args: vec![col("s").into()] };
    fails(call, "substring takes 2 to 3 arguments, not 1, in `substring(s)`");
    fails(
        col("s_").eq(1),
        "no column `s_`; did you mean `s`?; the columns are i8, i16, i32, i64, u64, f32, f64, money and 12 more",
    );
    fails(col("*") + 1, "`*` cannot be used in an expression: it stands for several columns");
    fails(
        col("point").field("z"),
        "the struct has no field `z`; its fields are x, y, in `get_field(point, 'z')`",
    );
}

#[test]
fn cases_and_choices_have_a_common_type() {
    is(when(col("b"), 1).otherwise(col("i64")), Int64);
    may_be_null(when(col("b"), 1), Int32);
    is(when(col("b"), col("money")).otherwise(0), Decimal128(15, 2));
    may_be_null(when(col("b"), Scalar::Null(DataType::Null)).otherwise("x"), Utf8View);
    is(coalesce([col("n"), lit(0)]), Int32);
    may_be_null(coalesce([col("n"), col("n")]), Int32);
    is(coalesce([col("n"), col("f64")]), Float64);
    is(greatest([col("n"), col("i64")]), Int64);
    may_be_null(null_if("i32", 0), Int32);
    is(nanvl("f64", 0.0), Float64);
    is(col("s").cast(Int32), Int32);
    may_be_null(col("s").try_cast(Int32), Int32);
    is(col("i32").try_cast(Int32), Int32);
}

#[test]
fn functions_by_family() {
    is(abs("money"), Decimal128(15, 2));
    is(floor("f64"), Int64);
    is(floor("money"), Decimal128(14, 0));
    is(round("money", 1), Decimal128(15, 1));
    is(round("f64", 2), Float64);
    is(sqrt("i32"), Float64);
    may_be_null(ln("f64"), Float64);
    is(pmod("i64", 3), Int64);
    may_be_null(try_divide("i32", 0), Float64);
    may_be_null(try_add("money", 1), Decimal128(16, 2));
    is(length("s"), Int32);
    is(concat([col("s"), col("i32")]), Utf8View);
    may_be_null(concat([col("s"), col("n")]), Utf8View);
    is(concat_ws(",", [col("s"), col("n")]), Utf8View);
    is(split("s", ","), list(Utf8View));
    is(contains("old", "x"), Boolean);
    is(hash(["n"]), Int64);
    is(year("d"), Int32);
    is(hour("t"), Int32);
    is(date_trunc("month", "d"), Date32);
    is(date_trunc("month", "utc"), micros(Some("UTC")));
    is(date_add("t", 3), Date32);
    is(to_zone("utc", "Asia/Tokyo"), micros(Some("Asia/Tokyo")));
    is(timestamp_seconds("i64"), micros(Some("UTC")));
    is(year(date("2020-01-01")), Int32);
    is(make_list([col("i8"), col("i64")]), list(Int64));
    may_be_null(list_get("ints", 0), Int32);
    may_be_null(list_sum("ints"), Int64);
    is(list_sort("ints"), list(Int32));
    is(sequence("i32", "i64", 1), list(Int64));
    is(col("point").field("x"), Float64);
    may_be_null(col("point").field("y"), Float64);
    may_be_null(map_get("map", "k"), Int32);
    is(map_keys("map"), list(Utf8View));
    let pair = vec![ArrowField::new("a", Int32, true), ArrowField::new("b", Utf8View, false)];
    is(make_struct([("a", "n"), ("b", "s")]), DataType::Struct(pair.into()));
    is(rand(1), Float64);
    fails(to_zone("t", col("s")), "argument 2 of to_zone must be a constant, in `to_zone(t, s)`");
}

#[test]
fn aggregates_widen_what_they_add_up() {
    may_be_null(sum("i8"), Int64);
    may_be_null(sum("u64"), Decimal128(30, 0));
    may_be_null(sum("f32"), Float64);
    may_be_null(sum("money"), Decimal128(25, 2));
    may_be_null(sum("wide"), Decimal128(38, 18));
    may_be_null(avg("i64"), Float64);
    may_be_null(avg("money"), Decimal128(19, 6));
    is(count("n"), Int64);
    is(count_star(), Int64);
    is(count_distinct(["n", "s"]), Int64);
    may_be_null(min("old"), Utf8View);
    may_be_null(max_by("s", "i32"), Utf8View);
    is(collect_list("n"), list(Int32));
    may_be_null(quantile("i32", 0.5), Float64);
    may_be_null(corr("i32", "f64"), Float64);
    may_be_null(bool_and("b"), Boolean);
    fails(
        sum("s"),
        "sum takes a number as argument 1, not string, in `sum(s)`: cast it with `.cast(..)`",
    );
    fails(quantile("f64", 2.0), "a quantile is a share from 0 to 1, in `quantile(f64, 2.0)`");
    fails(
        sum("i32").filter(col("i32")),
        "the filter of an aggregate must be a boolean, but `i32` is int: compare it with something",
    );
}

#[test]
fn window_functions_and_their_frames() {
    let ordered = || window().partition_by(["s"]).order_by(["d"]);
    is(row_number().over(ordered()), Int64);
    is(cume_dist().over(ordered()), Float64);
    may_be_null(lag("i32", 1).over(ordered()), Int32);
    may_be_null(lag_or("i32", 1, 0.5).over(ordered()), Float64);
    may_be_null(sum("i32").over(window()), Int64);
    is(count_distinct(["s"]).over(window()), Int64);
    may_be_null(nth_value("s", 2).over(ordered()), Utf8View);
    may_be_null(
        sum("i32").over(ordered().range(
            preceding(Scalar::Interval { months: 1, days: 0, nanos: 0 }),
            FrameBound::CurrentRow,
        )),
        Int64,
    );
    fails(rank(), "rank needs an order: `window().order_by(..)`, in `rank() OVER ()`");
    fails(
        sum("i32").over(ordered().range(preceding(1), FrameBound::CurrentRow)),
        "the distance of a range frame does not go with its order key: use a number from 0 for numbers, an interval for \
         dates and timestamps, in `sum(i32) OVER (PARTITION BY s ORDER BY d RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)`",
    );
    fails(
        sum("i32").over(ordered().rows(FrameBound::CurrentRow, preceding(1))),
        "the frame ends before it starts, in `sum(i32) OVER (PARTITION BY s ORDER BY d ROWS BETWEEN CURRENT ROW AND 1 \
         PRECEDING)`",
    );
    fails(
        ntile(0).over(ordered()),
        "the number of parts must be at least 1, in `ntile(0) OVER (PARTITION BY s ORDER BY d)`",
    );
}

#[test]
fn arguments_are_cast_to_what_the_code_takes() {
    let call = coerce_call(&sum("i8"), &schema()).unwrap();
    assert_eq!(call.args, [col("i8").cast(Int64)]);
    assert_eq!((call.arg_types, call.result), (vec![Int64], Int64));
    let call = coerce_call(&sum("i64").filter(col("b")), &schema()).unwrap();
    assert_eq!((call.args, call.arg_types), (vec![col("i64")], vec![Int64]));
    let call = coerce_call(&lag("i8", 2).over(window().order_by(["d"])), &schema()).unwrap();
    assert_eq!(call.args, [col("i8"), lit(2).cast(Int64)]);
    assert!(coerce_call(&col("i8"), &schema()).is_err());
}

/// No combination of a function and arguments is a panic, and every function takes something.
#[test]
fn every_function_has_a_signature() {
    let names: Vec<Expr> = schema().fields.iter().map(|field| col(&*field.name)).collect();
    let constants = [lit(1), lit("x"), lit(0.5), interval_days(1)];
    let all: Vec<Expr> = names.into_iter().chain(constants.clone()).collect();
    let takes_something = |make: &dyn Fn(Vec<Expr>) -> Expr| {
        let taken = |args: Vec<Expr>| infer(&make(args), &schema()).is_ok();
        let pairs = || all.iter().flat_map(|a| all.iter().map(move |b| vec![a.clone(), b.clone()]));
        let parameters = || constants.iter().flat_map(|b| constants.iter().map(move |c| (b, c)));
        let triples = || {
            all.iter()
                .flat_map(|a| parameters().map(move |(b, c)| vec![a.clone(), b.clone(), c.clone()]))
        };
        taken(vec![])
            || all.iter().any(|a| taken(vec![a.clone()]))
            || pairs().any(&taken)
            || triples().any(&taken)
            || taken(vec![lit(1.0), lit(1.0), lit(1.0), lit(1)])
    };
    let refs = |args: Vec<Expr>| args.into_iter().map(Into::into).collect();
    for &function in ScalarFn::ALL {
        let make = |args| Expr::Call { function, args: refs(args) };
        assert!(takes_something(&make), "{}", function.name());
    }
    for &function in AggregateFn::ALL {
        let make =
            |args| Expr::Aggregate { function, args: refs(args), distinct: false, filter: None };
        assert!(takes_something(&make), "{}", function.name());
        if function != AggregateFn::GroupingId {
            let make = |args| Expr::Window {
                function: WindowFn::Aggregate(function),
                args: refs(args),
                window: window(),
                ignore_nulls: false,
            };
            assert!(takes_something(&make), "{} over a window", function.name());
        }
    }
}
