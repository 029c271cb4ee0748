use arrow::array::{AsArray, Decimal128Array, Int64Array};
use arrow::datatypes::Decimal128Type;
use millstream::functions::{Expr, col, lit, pmod, sequence, sum, try_divide, width_bucket};

use super::super::context;
use super::{array, error_of, frame};

/// A sum of `count` values of a decimal type over `partitions`.
fn decimal_sum(
    value: i128,
    count: usize,
    precision: u8,
    scale: i8,
    partitions: u32,
) -> Result<i128, String> {
    let context = context().with_partitions(partitions);
    let column = Decimal128Array::from(vec![value; count])
        .with_precision_and_scale(precision, scale)
        .unwrap();
    let rows = frame(&context, vec![("d", array(column))]).repartition(partitions);
    match rows.agg([sum(col("d")).alias("d")]).collect_batch() {
        Ok(batch) => Ok(batch.column(0).as_primitive::<Decimal128Type>().value(0)),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn c045_a_decimal_sum_is_right_or_an_error() {
    let nineteen = 10i128.pow(19) * 10i128.pow(18);
    for partitions in [1, 2, 8] {
        assert_eq!(decimal_sum(nineteen, 9, 38, 18, partitions), Ok(9 * nineteen));
        decimal_sum(nineteen, 10, 38, 18, partitions).unwrap_err();
        decimal_sum(9 * 10i128.pow(37), 10, 38, 0, partitions).unwrap_err();
    }
}

#[test]
fn c047_a_sum_of_integers_does_not_wrap() {
    let context = context();
    let rows = frame(&context, vec![("n", array(Int64Array::from(vec![2, i64::MAX])))]);
    let error = error_of(rows.agg([sum(col("n"))]).collect());
    assert!(error.contains("9223372036854775809"), "{error}");
}

#[test]
fn c049_sums_of_parts_do_not_wrap() {
    for partitions in [1, 2] {
        let context = context().with_partitions(partitions);
        let half = 5_000_000_000_000_000_000i64;
        let rows = frame(&context, vec![("n", array(Int64Array::from(vec![half, half])))]);
        error_of(rows.repartition(partitions).agg([sum(col("n"))]).collect());
    }
    for partitions in [1, 2] {
        decimal_sum(9 * 10i128.pow(37), 2, 38, 0, partitions).unwrap_err();
    }
}

#[test]
fn c051_edges_of_integers_are_errors_or_answers() {
    let context = context();
    let one = frame(
        &context,
        vec![
            ("least", array(Int64Array::from(vec![i64::MIN]))),
            ("zero", array(Int64Array::from(vec![0]))),
            ("one", array(Int64Array::from(vec![1]))),
        ],
    );
    let value = |expr: Expr| -> Result<Vec<(Option<i64>,)>, millstream::Error> {
        one.select([expr.alias("x")]).collect_rows()
    };
    assert_eq!(value(col("least") % lit(-1i64)).unwrap(), [(Some(0),)]);
    for fails in [
        col("one") % col("zero"),
        pmod(col("one"), col("zero")),
        col("least").int_div(-1),
        col("one").int_div(col("zero")),
        -col("least"),
        col("least") - 1,
    ] {
        error_of(value(fails));
    }
    assert_eq!(value(width_bucket(col("one"), 0.0, 10.0, 0)).unwrap(), [(None,)]);
    error_of(one.select([(col("one") / col("zero")).alias("x")]).collect());
    let none: Vec<(Option<f64>,)> =
        one.select([try_divide(col("one"), col("zero")).alias("x")]).collect_rows().unwrap();
    assert_eq!(none, [(None,)]);
    let list: Vec<(Vec<i64>,)> = one
        .select([sequence(col("one"), lit(-1i64), col("least")).alias("x")])
        .collect_rows()
        .unwrap();
    assert_eq!(list, [(vec![1],)]);
    error_of(one.select([sequence(col("one"), lit(5i64), col("zero")).alias("x")]).collect());
}
