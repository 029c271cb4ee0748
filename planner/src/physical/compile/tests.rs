use std::time::{Duration, Instant};

use arrow_schema::{DataType, TimeUnit};

use super::compile;
use crate::expr::functions_api::{coalesce, concat, rand, sum, upper};
use crate::expr::{
    Expr, ExprRef, IntoColumn, Scalar, ScalarFn, Udf, col, date, decimal, interval_hours, lit,
    when, window,
};
use crate::logical::{Field, Schema};
use crate::physical::{ExprId, ExprOp, Program};
use crate::types::infer;

fn schema() -> Schema {
    let columns = [
        ("a", DataType::Int64),
        ("small", DataType::Int8),
        ("f", DataType::Float64),
        ("money", DataType::Decimal128(15, 2)),
        ("s", DataType::Utf8View),
        ("d", DataType::Date32),
        ("t", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("b", DataType::Boolean),
        ("old", DataType::Utf8),
    ];
    let field = |(name, data_type): (&str, DataType)| Field {
        qualifier: None,
        name: name.into(),
        data_type,
        nullable: true,
    };
    Schema { fields: columns.into_iter().map(field).collect() }
}

/// A program as text: one line an expression, then the roots.
fn text(program: &Program) -> Vec<String> {
    let line = |op: &ExprOp, data_type: &DataType| {
        let id = |id: &ExprId| format!("%{}", id.0);
        let ids = |ids: &[ExprId]| ids.iter().map(id).collect::<Vec<_>>().join(", ");
        match op {
            ExprOp::Column(at) => schema().fields[*at as usize].name.to_string(),
            ExprOp::Literal(value) => format!("{value}: {data_type}"),
            ExprOp::Unary(op, of) => format!("{op:?} {}", id(of)),
            ExprOp::Binary(op, left, right) => {
                format!("{} {} {}", id(left), op.symbol(), id(right))
            }
            ExprOp::And(terms) => format!("and {}", ids(terms)),
            ExprOp::Or(terms) => format!("or {}", ids(terms)),
            ExprOp::Case { branches, otherwise } => {
                let pairs: Vec<_> =
                    branches.iter().map(|(c, v)| format!("{} -> {}", id(c), id(v))).collect();
                format!(
                    "case {} else {}",
                    pairs.join(", "),
                    otherwise.as_ref().map_or("none".into(), id)
                )
            }
            ExprOp::Cast { expr, lenient } => {
                format!("{}cast {} as {data_type}", if *lenient { "try_" } else { "" }, id(expr))
            }
            ExprOp::InSet { expr, set, has_null, negated } => {
                let set: Vec<_> = set.iter().map(ToString::to_string).collect();
                let null = if *has_null { " or null" } else { "" };
                format!(
                    "{} {}in [{}]{null}",
                    id(expr),
                    if *negated { "not " } else { "" },
                    set.join(", ")
                )
            }
            ExprOp::Like { expr, pattern, escape, .. } => {
                format!("{} like {} {escape}", id(expr), id(pattern))
            }
            ExprOp::Call(function, args) => format!("{}({})", function.name(), ids(args)),
            ExprOp::Udf(udf, args) => format!("{}({})", udf.name, ids(args)),
        }
    };
    let mut lines: Vec<String> =
        program.nodes.iter().map(|node| line(&node.op, &node.data_type)).collect();
    lines.push(
        program.roots.iter().map(|root| format!("%{}", root.0)).collect::<Vec<_>>().join(" "),
    );
    lines
}

#[track_caller]
fn compiles(expr: impl IntoColumn, lines: &[&str]) {
    let expr = expr.into_column();
    let program = compile(std::slice::from_ref(&expr), &schema()).unwrap();
    assert_eq!(text(&program), lines);
    let root = program.get(program.roots[0]).unwrap();
    assert_eq!((root.data_type.clone(), root.nullable), infer(&expr, &schema()).unwrap());
}

#[test]
fn columns_are_compared_as_they_are_with_values_that_fit() {
    compiles(col("a").gt(5), &["a", "5: Int64", "%0 > %1", "%2"]);
    compiles(col("small").eq(7), &["small", "7: Int8", "%0 = %1", "%2"]);
    compiles(col("small").eq(300), &["small", "cast %0 as Int32", "300: Int32", "%1 = %2", "%3"]);
    compiles(col("money").lt(24), &["money", "24.00: Decimal128(15, 2)", "%0 < %1", "%2"]);
    compiles(col("money").gt_eq(0.05), &["money", "0.05: Decimal128(15, 2)", "%0 >= %1", "%2"]);
    compiles(
        col("money").gt_eq(0.055),
        &["money", "cast %0 as Float64", "0.055: Float64", "%1 >= %2", "%3"],
    );
    compiles(col("d").lt("1995-01-01"), &["d", "DATE '1995-01-01': Date32", "%0 < %1", "%2"]);
    compiles(
        col("d").lt("1995-1-1"),
        &["d", "'1995-1-1': Utf8View", "cast %1 as Date32", "%0 < %2", "%3"],
    );
    compiles(lit(5).lt(col("a")), &["a", "5: Int64", "%1 < %0", "%2"]);
    compiles(col("old").eq("x"), &["old", "cast %0 as Utf8View", "'x': Utf8View", "%1 = %2", "%3"]);
}

#[test]
fn casts_are_put_in_and_nothing_else() {
    compiles(col("a") + col("small"), &["a", "small", "cast %1 as Int64", "%0 + %2", "%3"]);
    compiles(lit(1) - col("money"), &["money", "1: Decimal128(1, 0)", "%1 - %0", "%2"]);
    compiles(col("a") / 2, &["a", "cast %0 as Float64", "2.0: Float64", "%1 / %2", "%3"]);
    compiles(
        col("money") * col("a"),
        &["money", "a", "cast %1 as Decimal128(20, 0)", "%0 * %2", "%3"],
    );
    compiles(col("a").alias("x"), &["a", "%0"]);
    compiles(lit(1).alias("x"), &["1: Int32", "%0"]);
    compiles(lit("1994-01-01").cast(DataType::Date32), &["DATE '1994-01-01': Date32", "%0"]);
    compiles(col("s").try_cast(DataType::Int32), &["s", "try_cast %0 as Int32", "%1"]);
    compiles(col("a").cast(DataType::Int64), &["a", "%0"]);
    compiles(coalesce([col("f"), lit(0)]), &["f", "0.0: Float64", "coalesce(%0, %1)", "%2"]);
    compiles(
        when(col("b"), 1).otherwise(col("a")),
        &["b", "a", "1: Int64", "case %0 -> %2 else %1", "%3"],
    );
    compiles(col("s").like("x%"), &["s", "'x%': Utf8View", "%0 like %1 \\", "%2"]);
}

#[test]
fn times_come_first() {
    compiles(lit(1) + col("d"), &["d", "1: Int32", "%0 + %1", "%2"]);
    compiles(
        interval_hours(1) + col("t"),
        &["t", "INTERVAL '3600 seconds': Interval(MonthDayNano)", "%0 + %1", "%2"],
    );
    compiles(
        date("1998-12-01") - crate::expr::interval_days(90),
        &[
            "DATE '1998-12-01': Date32",
            "INTERVAL '90 days': Interval(MonthDayNano)",
            "%0 - %1",
            "%2",
        ],
    );
    compiles(
        (col("t") - col("t")).gt(crate::expr::interval_days(1)),
        &[
            "t",
            "%0 - %0",
            "INTERVAL '86400 seconds': Interval(MonthDayNano)",
            "cast %2 as Duration(µs)",
            "%1 > %3",
            "%4",
        ],
    );
}

#[test]
fn lists_of_constants_are_sets() {
    compiles(col("a").in_list([1, 2]), &["a", "%0 in [1, 2]", "%1"]);
    compiles(col("s").not_in_list(["x", "y"]), &["s", "%0 not in ['x', 'y']", "%1"]);
    compiles(col("a").in_list([Some(1), None]), &["a", "%0 in [1] or null", "%1"]);
    compiles(col("money").in_list([0.05, 1.0]), &["money", "%0 in [0.05, 1.00]", "%1"]);
    compiles(
        col("a").in_list([lit(1), col("small")]),
        &["a", "small", "%0 in [1]", "cast %1 as Int64", "%0 = %3", "or %2, %4", "%5"],
    );
    compiles(col("a").not_in_list([col("a")]), &["a", "%0 = %0", "Not %1", "%2"]);
    compiles(col("a").in_list(Vec::<i32>::new()), &["a", "false: Boolean", "%1"]);
}

#[test]
fn equal_parts_are_there_once() {
    let part = || (col("a") + 1) * 2;
    let program = compile(&[part(), part() + 3, part().eq(4)], &schema()).unwrap();
    assert_eq!(
        text(&program),
        [
            "a", "1: Int64", "%0 + %1", "2: Int64", "%2 * %3", "3: Int64", "%4 + %5", "4: Int64",
            "%4 = %7", "%4 %6 %8"
        ]
    );
    let program = compile(&[lit(0.0), lit(-0.0), lit(f64::NAN), lit(f64::NAN)], &schema()).unwrap();
    assert_eq!(program.roots, [ExprId(0), ExprId(1), ExprId(2), ExprId(2)]);
    let program = compile(&[rand(1), rand(2), rand(1)], &schema()).unwrap();
    assert_eq!(program.roots[0], program.roots[2]);
    assert_ne!(program.roots[0], program.roots[1]);
}

#[test]
fn code_that_is_not_deterministic_runs_as_often_as_it_is_written() {
    let call = |deterministic| Expr::Udf {
        udf: Udf {
            name: "f".into(),
            code: [1_u8].into(),
            args: vec![DataType::Int64],
            result: DataType::Int64,
            deterministic,
        },
        args: vec![col("small").into()],
    };
    let roots = |deterministic| {
        let program = compile(&[call(deterministic), call(deterministic)], &schema()).unwrap();
        (program.roots[0], program.roots[1])
    };
    let (first, second) = roots(true);
    assert_eq!(first, second);
    let (first, second) = roots(false);
    assert_ne!(first, second);
}

#[test]
fn what_is_not_of_one_row_is_refused() {
    let fails = |expr: Expr| compile(&[expr], &schema()).unwrap_err().to_string();
    assert!(
        fails(sum("a") + 1)
            .starts_with("aggregate `sum(a)` cannot be used in an expression of one row")
    );
    assert!(
        fails(sum("a").over(window()))
            .starts_with("window function `sum(a) OVER ()` cannot be used")
    );
    assert!(fails(Expr::Field(99)).contains("no column 99"));
}

/// Runs in a thread with a small stack, and says how long it takes.
fn timed(run: impl FnOnce() + Send + 'static) -> Duration {
    let body = move || {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(body).unwrap().join().unwrap()
}

/// Compiles, compares with what inference says, and gives the program.
fn compiled(expr: &Expr) -> Program {
    let program = compile(std::slice::from_ref(expr), &schema()).unwrap();
    let root = program.get(program.roots[0]).unwrap();
    assert_eq!((root.data_type.clone(), root.nullable), infer(expr, &schema()).unwrap());
    program
}

/// Far more than it takes on the busiest machine (about 0.05 s), and less than anything quadratic would.
const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn long_and_deep_expressions_take_linear_time_and_little_stack() {
    let took = timed(|| {
        let terms = (0..50_000).map(|i| col("a").eq(i));
        let any = terms.reduce(Expr::or).unwrap();
        assert_eq!(compiled(&any).nodes.len(), 1 + 2 * 50_000 + 1);
    });
    assert!(took < LIMIT, "OR: {took:?}");
    let took = timed(|| {
        let program = compiled(&col("a").in_list(0..10_000));
        assert_eq!(program.nodes.len(), 2);
    });
    assert!(took < LIMIT, "IN: {took:?}");
    let took = timed(|| {
        let sum = (0..20_000).fold(col("a"), |sum, i| sum + (i % 7));
        assert_eq!(compiled(&sum).nodes.len(), 1 + 7 + 20_000);
    });
    assert!(took < LIMIT, "sum: {took:?}");
    let took = timed(|| {
        let nested = (0..1_000).fold(lit(0), |inner, i| when(col("a").eq(i), i).otherwise(inner));
        assert!(compiled(&nested).nodes.len() > 3_000);
    });
    assert!(took < LIMIT, "when: {took:?}");
    let took = timed(|| {
        let mut doubled = col("f");
        for _ in 0..200 {
            let part = ExprRef::from(doubled);
            doubled = Expr::Call { function: ScalarFn::Greatest, args: vec![part.clone(), part] };
        }
        assert_eq!(compiled(&doubled).nodes.len(), 201);
    });
    assert!(took < LIMIT, "doubled: {took:?}");
    let took = timed(|| {
        let field = |i: usize| Field {
            qualifier: None,
            name: format!("column_{i}").into(),
            data_type: DataType::Int64,
            nullable: true,
        };
        let wide = Schema { fields: (0..2_000).map(field).collect() };
        let exprs: Vec<Expr> = (0..2_000).map(|i| Expr::Field(i) + 1).collect();
        assert_eq!(compile(&exprs, &wide).unwrap().roots.len(), 2_000);
    });
    assert!(took < LIMIT, "columns: {took:?}");
}

#[test]
fn values_of_other_types_are_cast_when_run() {
    compiles(
        concat([col("s"), col("a")]),
        &["s", "a", "cast %1 as Utf8View", "concat(%0, %2)", "%3"],
    );
    compiles(upper("old"), &["old", "cast %0 as Utf8View", "upper(%1)", "%2"]);
    compiles(decimal("0.2") * col("money"), &["money", "0.2: Decimal128(1, 1)", "%1 * %0", "%2"]);
    let null = Expr::Literal(Scalar::Null(DataType::Null));
    compiles(col("a") + null, &["a", "NULL: Int64", "%0 + %1", "%2"]);
}
