use arrow_schema::{DataType, Field as ArrowField, TimeUnit};

use super::type_name;
use crate::expr::functions_api::{avg, coalesce, count, count_distinct, row_number, sum};
use crate::expr::{
    Expr, ExprRef, FrameBound, Scalar, col, date, decimal, interval_days, lit, preceding, when,
    window,
};
use crate::logical::{Field, Schema};

fn schema() -> Schema {
    let field = |name: &str| Field {
        qualifier: None,
        name: name.into(),
        data_type: DataType::Int64,
        nullable: true,
    };
    Schema { fields: vec![field("a"), field("b"), field("c")] }
}

fn shows(expr: Expr, text: &str) {
    assert_eq!(expr.to_sql(&schema()), text);
}

#[test]
fn columns_and_values() {
    shows(Expr::Field(1), "b");
    shows(Expr::Field(9), "#9");
    shows(col("l.a"), "l.a");
    shows(col("l.*"), "l.*");
    shows(lit("it's"), "'it''s'");
    shows(lit(1.0), "1.0");
    shows(lit(-3), "-3");
    shows(Expr::Literal(Scalar::Null(DataType::Null)), "NULL");
    shows(decimal("-0.05"), "-0.05");
    shows(decimal("120.50"), "120.50");
    shows(date("1998-12-01") - interval_days(90), "DATE '1998-12-01' - INTERVAL '90 days'");
    let noon = Scalar::Timestamp { micros: 43_200_500_000, zone: None };
    shows(Expr::Literal(noon), "TIMESTAMP '1970-01-01 12:00:00.5'");
    let before = Scalar::Timestamp { micros: -1, zone: Some("Asia/Tokyo".into()) };
    shows(Expr::Literal(before), "TIMESTAMP '1969-12-31 23:59:59.999999Z'");
}

#[test]
fn operators_have_the_parentheses_they_need() {
    let (a, b, c) = (|| col("a"), || col("b"), || col("c"));
    shows(a() + b() * c(), "a + b * c");
    shows((a() + b()) * c(), "(a + b) * c");
    shows(a() - (b() - c()), "a - (b - c)");
    shows(a() - b() - c(), "a - b - c");
    shows(-(a() + b()), "-(a + b)");
    shows(a().gt(5).and(b().like("x%")), "a > 5 AND b LIKE 'x%'");
    shows(a().gt(5).or(b().lt(1)).and(!c()), "(a > 5 OR b < 1) AND NOT c");
    shows(!(a().and(b())), "NOT (a AND b)");
    shows((a().eq(1)).eq(b()), "(a = 1) = b");
    shows((a() + 1).is_not_null(), "a + 1 IS NOT NULL");
    shows(a().eq(1).is_null(), "(a = 1) IS NULL");
    shows(a().between(1, 2), "a >= 1 AND a <= 2");
    shows(a().bit_and(b()).eq(0), "a & b = 0");
}

#[test]
fn calls_cases_and_windows() {
    shows(when(col("a").gt(0), 1).otherwise(0), "CASE WHEN a > 0 THEN 1 ELSE 0 END");
    shows(col("a").try_cast(DataType::Int32), "TRY_CAST(a AS int)");
    shows(col("a").not_in_list([1, 2]), "a NOT IN (1, 2)");
    shows(col("a").like_escape("x!%", '!'), "a LIKE 'x!%' ESCAPE '!'");
    shows(coalesce(["a", "b"]), "coalesce(a, b)");
    shows(count("*"), "count(*)");
    shows(count_distinct(["a"]), "count(DISTINCT a)");
    shows(sum("a").filter(col("b").gt(1)), "sum(a) FILTER (WHERE b > 1)");
    shows(sum("a").alias("total"), "sum(a) AS total");
    let by_b =
        window().partition_by(["b"]).order_by([col("c").desc(), col("a").asc().nulls_last()]);
    shows(
        row_number().over(by_b),
        "row_number() OVER (PARTITION BY b ORDER BY c DESC, a NULLS LAST)",
    );
    shows(
        avg("a").over(window().order_by(["c"]).rows(preceding(6), FrameBound::CurrentRow)),
        "avg(a) OVER (ORDER BY c ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)",
    );
}

#[test]
fn long_ones_are_cut_off() {
    let terms: Vec<ExprRef> = (0..50_000).map(|i| col("a").eq(i).into()).collect();
    shows(Expr::Or(terms), "a = 0 OR a = 1 OR a = 2 OR a = 3 OR a = 4 OR a = 5 OR ... 49994 more");
    shows(col("a").in_list(0..10_000), "a IN (0, 1, 2, 3, 4, 5, ... 9994 more)");
    let deep = (0..20_000).fold(col("a"), |sum, i| sum + i);
    let text = deep.to_sql(&schema());
    assert!(text.starts_with("... + ") && text.ends_with(" + 19999"), "{text}");
    assert!(text.len() < 500, "{text}");
    let mut doubled = col("a");
    for _ in 0..60 {
        let part = ExprRef::from(doubled);
        doubled = Expr::Or(vec![part.clone(), part]);
    }
    assert!(doubled.to_sql(&schema()).len() < 2_000);
    let text = lit("x".repeat(1_000)).to_sql(&schema());
    assert!(text.len() < 120, "{text}");
}

#[test]
fn types_are_those_of_sql() {
    let shows = |data_type: DataType, name: &str| assert_eq!(type_name(&data_type), name);
    shows(DataType::Int64, "bigint");
    shows(DataType::Utf8View, "string");
    shows(DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()), "string");
    shows(DataType::Decimal128(15, 2), "decimal(15,2)");
    shows(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), "timestamp(UTC)");
    shows(DataType::new_list(DataType::Float64, true), "list<double>");
    let fields = vec![ArrowField::new("x", DataType::Int32, true)];
    shows(DataType::Struct(fields.into()), "struct<x: int>");
}
