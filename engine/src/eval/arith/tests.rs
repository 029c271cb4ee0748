//! Known answers of arithmetic, and random ones against naive code.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Int64Array};
use arrow::datatypes::{
    DataType, Decimal128Type, Int32Type, Int64Type, IntervalUnit, TimeUnit, i256,
};
use millstream_planner::expr::{BinaryOp as Op, Scalar};
use proptest::prelude::*;

use super::{apply, apply_or_null};
use crate::eval::scalar::{from_array, to_array, to_column};
use crate::eval::value::Value;

/// What an operation gives: of columns, of a column and a constant on either side, and of constants.
#[track_caller]
fn binary(op: Op, left: &Scalar, right: &Scalar, result: &DataType) -> Result<Scalar, String> {
    let column = |scalar: &Scalar| {
        let rows = [Scalar::Null(scalar.data_type()), scalar.clone(), scalar.clone()];
        Value::Array(to_column(&rows, &scalar.data_type()).unwrap())
    };
    let constant = |scalar: &Scalar| Value::Constant(to_array(scalar).unwrap());
    let mut answers = Vec::new();
    for (left_value, right_value) in [
        (column(left), column(right)),
        (constant(left), column(right)),
        (column(left), constant(right)),
        (constant(left), constant(right)),
    ] {
        let answer = apply(op, &left_value, &right_value, result).map(|value| {
            assert_eq!(value.data_type(), result);
            let last = value.array().len() - 1;
            assert!(last == 0 || value.array().is_null(0));
            from_array(value.array(), last).unwrap()
        });
        answers.push(answer.map_err(|error| error.to_string()));
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{left:?} {op:?} {right:?}: {answers:?}"
    );
    answers.remove(0)
}

#[track_caller]
fn gives(left: impl Into<Scalar>, op: Op, right: impl Into<Scalar>, answer: impl Into<Scalar>) {
    let answer = answer.into();
    assert_eq!(binary(op, &left.into(), &right.into(), &answer.data_type()), Ok(answer));
}

#[track_caller]
fn fails(
    left: impl Into<Scalar>,
    op: Op,
    right: impl Into<Scalar>,
    result: DataType,
    message: &str,
) {
    assert_eq!(binary(op, &left.into(), &right.into(), &result), Err(message.to_owned()));
}

fn dec(value: i128, precision: u8, scale: i8) -> Scalar {
    Scalar::Decimal128 { value, precision, scale }
}

fn day(year: i64, month: u32, day: u32) -> Scalar {
    Scalar::Date32(crate::eval::calendar::Civil { year, month, day }.days() as i32)
}

fn span(months: i32, days: i32, nanos: i64) -> Scalar {
    Scalar::Interval { months, days, nanos }
}

#[test]
fn integers() {
    gives(7i64, Op::Add, 5i64, 12i64);
    gives(-7i32, Op::IntegerDivide, 2i32, -3i64);
    gives(-7i64, Op::Remainder, 2i64, -1i64);
    gives(7i64, Op::Divide, 2i64, 3.5);
    gives(i64::MIN, Op::Remainder, -1i64, 0i64);
    gives(6i8, Op::BitAnd, 3i8, 2i8);
    gives(6u16, Op::BitXor, 3u16, 5u16);
    gives(1i64, Op::ShiftLeft, 33i32, 1i64 << 33);
    gives(-8i64, Op::ShiftRight, 1i32, -4i64);
    gives(i32::MIN, Op::IntegerDivide, -1i32, 2_147_483_648i64);
    let long = DataType::Int64;
    fails(
        i64::MAX,
        Op::Add,
        1i64,
        long.clone(),
        "9223372036854775807 + 1 does not fit into bigint (try_add gives NULL for it)",
    );
    fails(
        -2i64,
        Op::Subtract,
        i64::MAX,
        long.clone(),
        "(-2) - 9223372036854775807 does not fit into bigint (try_subtract gives NULL for it)",
    );
    fails(
        i64::MIN,
        Op::IntegerDivide,
        -1i64,
        long.clone(),
        "(-9223372036854775808) div (-1) does not fit into bigint",
    );
    fails(1i64, Op::IntegerDivide, 0i64, long.clone(), "division by zero: 1 div 0");
    fails(1i64, Op::Remainder, 0i64, long, "division by zero: 1 % 0");
    fails(
        200u8,
        Op::Add,
        100u8,
        DataType::UInt8,
        "200 + 100 does not fit into unsigned tinyint (try_add gives NULL for it)",
    );
    fails(
        1u64,
        Op::Subtract,
        2u64,
        DataType::UInt64,
        "1 - 2 does not fit into unsigned bigint (try_subtract gives NULL for it)",
    );
    fails(
        46_341i32,
        Op::Multiply,
        46_341i32,
        DataType::Int32,
        "46341 * 46341 does not fit into int (try_multiply gives NULL for it)",
    );
}

#[test]
fn floats() {
    gives(1.5, Op::Add, 2.0, 3.5);
    gives(-7.5, Op::Remainder, 2.0, -1.5);
    gives(1e308, Op::Multiply, 10.0, f64::INFINITY);
    fails(
        1.0,
        Op::Divide,
        0.0,
        DataType::Float64,
        "division by zero: 1.0 / 0.0 (try_divide gives NULL for it)",
    );
    fails(1.0f32, Op::Remainder, 0.0f32, DataType::Float32, "division by zero: 1.0 % 0.0");
}

#[test]
fn what_stands_under_a_null_does_not_matter() {
    let under = Int64Array::new(vec![i64::MAX, 1].into(), Some(vec![false, true].into()));
    let sum = apply(
        Op::Add,
        &Value::of(under),
        &Value::of(Int64Array::from(vec![1, 1])),
        &DataType::Int64,
    );
    let right = Int64Array::from(vec![None, Some(2)]);
    assert_eq!(sum.unwrap().array().as_primitive::<Int64Type>(), &right);
}

#[test]
fn decimals() {
    // 1 - 0.04 and 1 + 0.08, as in TPC-H.
    gives(dec(1, 1, 0), Op::Subtract, dec(4, 15, 2), dec(96, 16, 2));
    gives(dec(1_234_500, 15, 2), Op::Multiply, dec(96, 16, 2), dec(118_512_000, 32, 4));
    gives(dec(118_512_000, 32, 4), Op::Multiply, dec(108, 16, 2), dec(12_799_296_000, 38, 6));
    gives(dec(1, 10, 0), Op::Divide, dec(3, 10, 0), dec(33_333_333_333, 21, 11));
    gives(dec(2, 10, 0), Op::Divide, dec(3, 10, 0), dec(66_666_666_667, 21, 11));
    gives(dec(-2, 10, 0), Op::Divide, dec(3, 10, 0), dec(-66_666_666_667, 21, 11));
    gives(dec(2, 10, 0), Op::Divide, dec(-3, 10, 0), dec(-66_666_666_667, 21, 11));
    gives(dec(75, 5, 1), Op::Remainder, dec(2, 3, 0), dec(15, 4, 1));
    gives(dec(75, 5, 1), Op::IntegerDivide, dec(-2, 3, 0), -3i64);
    // A product that loses digits is rounded half away from zero.
    gives(dec(25, 38, 1), Op::Multiply, dec(1, 38, 1), dec(3, 38, 1));
    gives(dec(-25, 38, 1), Op::Multiply, dec(1, 38, 1), dec(-3, 38, 1));
    let most = 10i128.pow(38) - 1;
    gives(dec(most, 38, 0), Op::Subtract, dec(most, 38, 0), dec(0, 38, 0));
    fails(
        dec(most, 38, 0),
        Op::Add,
        dec(1, 38, 0),
        DataType::Decimal128(38, 0),
        "99999999999999999999999999999999999999 + 1 does not fit into decimal(38,0) (try_add gives NULL for it)",
    );
    // What 128 bits wrap.
    fails(
        dec(most, 38, 0),
        Op::Multiply,
        dec(most, 38, 0),
        DataType::Decimal128(38, 0),
        "99999999999999999999999999999999999999 * 99999999999999999999999999999999999999 does not fit into \
         decimal(38,0) (try_multiply gives NULL for it)",
    );
    fails(
        dec(15, 5, 1),
        Op::Divide,
        dec(0, 5, 1),
        DataType::Decimal128(11, 6),
        "division by zero: 1.5 / 0.0 (try_divide gives NULL for it)",
    );
    // More than 128 bits in between, and a result that fits.
    gives(dec(most, 38, 37), Op::Multiply, dec(most, 38, 37), dec(10i128.pow(8), 38, 6));
}

#[test]
fn wide_decimals() {
    let wide = |value: i128, scale| {
        let digits = arrow::array::Decimal256Array::from_value(i256::from_i128(value), 1);
        Value::Constant(Arc::new(digits.with_precision_and_scale(76, scale).unwrap()) as ArrayRef)
    };
    let product = apply(
        Op::Multiply,
        &wide(10i128.pow(37), 0),
        &wide(10i128.pow(37), 0),
        &DataType::Decimal256(76, 0),
    );
    let text = crate::eval::scalar::describe(product.unwrap().array(), 0);
    assert_eq!(text, format!("1{}", "0".repeat(74)));
    let most = wide(10i128.pow(38), 0);
    let failed = apply(Op::Multiply, &most, &most, &DataType::Decimal256(76, 0)).unwrap_err();
    assert!(failed.to_string().contains("does not fit into decimal(76,0)"));
}

#[test]
fn dates() {
    gives(day(2024, 2, 28), Op::Add, 2i32, day(2024, 3, 1));
    gives(day(2024, 3, 1), Op::Subtract, 1i64, day(2024, 2, 29));
    gives(day(2024, 3, 1), Op::Subtract, day(2023, 3, 1), 366i32);
    gives(day(2024, 1, 31), Op::Add, span(1, 0, 0), day(2024, 2, 29));
    gives(day(2024, 3, 31), Op::Subtract, span(1, 1, 0), day(2024, 2, 28));
    gives(span(12, 0, 0), Op::Add, day(2024, 2, 29), day(2025, 2, 28));
    gives(day(2020, 1, 1), Op::Add, span(12 * 999_999, 0, 0), day(1_002_019, 1, 1));
    let error =
        binary(Op::Add, &Scalar::Date32(i32::MAX), &1i32.into(), &DataType::Date32).unwrap_err();
    assert!(error.contains("does not fit into date"), "{error}");
    let error = binary(Op::Add, &day(2020, 1, 1), &span(0, 0, 1), &DataType::Date32).unwrap_err();
    assert!(error.contains("cast it to a timestamp"), "{error}");
}

#[test]
fn timestamps() {
    const HOUR: i64 = 3_600_000_000;
    let local = |micros| Scalar::Timestamp { micros, zone: None };
    let paris = |micros| Scalar::Timestamp { micros, zone: Some("Europe/Paris".into()) };
    let day =
        |year, month, day| crate::eval::calendar::Civil { year, month, day }.days() * 24 * HOUR;
    gives(
        local(day(2024, 1, 31)),
        Op::Add,
        span(1, 0, 3_600_000_000_000),
        local(day(2024, 2, 29) + HOUR),
    );
    // Noon to noon over the change to summer time is 23 hours, and 24 hours are 24 hours.
    let noon = day(2024, 3, 30) + 11 * HOUR;
    gives(paris(noon), Op::Add, span(0, 1, 0), paris(noon + 23 * HOUR));
    gives(paris(noon), Op::Add, span(0, 0, 24 * 3_600_000_000_000), paris(noon + 24 * HOUR));
    let error =
        binary(Op::Add, &local(0), &span(12 * 999_999, 0, 0), &local(0).data_type()).unwrap_err();
    assert!(error.contains("does not fit into timestamp"), "{error}");
    let between = apply(
        Op::Subtract,
        &Value::Constant(to_array(&local(HOUR)).unwrap()),
        &Value::Constant(to_array(&local(0)).unwrap()),
        &DataType::Duration(TimeUnit::Microsecond),
    );
    let between = between.unwrap();
    let micros = between.array().as_primitive::<arrow::datatypes::DurationMicrosecondType>();
    assert_eq!(micros.value(0), HOUR);
    gives(span(1, 2, 3), Op::Subtract, span(0, 5, -1), span(1, -3, 4));
    let error = binary(
        Op::Add,
        &span(i32::MAX, 0, 0),
        &span(1, 0, 0),
        &DataType::Interval(IntervalUnit::MonthDayNano),
    );
    assert!(error.unwrap_err().contains("does not fit into interval"));
}

fn any_decimal() -> impl Strategy<Value = (i128, u8, i8)> {
    (1u8..=38, any::<i128>()).prop_flat_map(|(precision, value)| {
        let value = value % 10i128.pow(precision.into());
        (Just(value), Just(precision), 0..=precision as i8)
    })
}

/// A quotient rounded half away from zero, by comparing twice the rest.
fn naive_round(value: i256, divisor: i256) -> i256 {
    let (whole, rest) = (value / divisor, value % divisor);
    let (size, rest_size) = (divisor.wrapping_abs(), rest.wrapping_abs());
    let away =
        if (value < i256::ZERO) == (divisor < i256::ZERO) { i256::ONE } else { i256::MINUS_ONE };
    if rest_size + rest_size >= size { whole + away } else { whole }
}

proptest! {
    #[test]
    fn random_integers_are_those_of_wider_ones(
        pairs in prop::collection::vec((prop::option::of(any::<i32>()), prop::option::of(-3i32..3)), 1..50),
        factor in any::<bool>(),
    ) {
        let scale = if factor { i32::MAX / 3 } else { 1 };
        let (a, b): (Vec<_>, Vec<_>) = pairs.iter().map(|(a, b)| (*a, b.map(|b| b * scale))).unzip();
        let column = |all: &[Option<i32>]| Value::of(arrow::array::Int32Array::from(all.to_vec()));
        for op in [Op::Add, Op::Subtract, Op::Multiply, Op::IntegerDivide, Op::Remainder] {
            let naive = |(a, b): (&Option<i32>, &Option<i32>)| {
                let (a, b) = (i64::from((*a)?), i64::from((*b)?));
                let exact = match op {
                    Op::Add => a + b,
                    Op::Subtract => a - b,
                    Op::Multiply => a * b,
                    Op::IntegerDivide => a.checked_div(b)?,
                    _ => a.checked_rem(b)?,
                };
                i32::try_from(exact).ok()
            };
            let right: Vec<_> = a.iter().zip(&b).map(naive).collect();
            let given = apply_or_null(op, &column(&a), &column(&b), &DataType::Int32).unwrap();
            prop_assert_eq!(given.array().as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), right.clone());
            let lost = right.iter().zip(a.iter().zip(&b)).any(|(c, (a, b))| c.is_none() && a.is_some() && b.is_some());
            prop_assert_eq!(apply(op, &column(&a), &column(&b), &DataType::Int32).is_err(), lost);
        }
    }

    #[test]
    fn random_decimals_are_exact((a, p1, s1) in any_decimal(), (b, p2, s2) in any_decimal(), scale in 0i8..=10) {
        let wide = i256::from_i128;
        let ten = |power: i8| wide(10).checked_pow(power.try_into().unwrap()).unwrap();
        let value = |value, p, s| {
            let digits = Decimal128Array::from(vec![value]).with_precision_and_scale(p, s).unwrap();
            Value::of(digits)
        };
        let common = s1.max(s2);
        let to = |value: i128, s: i8| wide(value) * ten(common - s);
        let result = DataType::Decimal128(38, scale);
        for op in [Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::Remainder] {
            // A numerator and a denominator.
            let (over, under) = match op {
                Op::Add => (to(a, s1) + to(b, s2), ten(common)),
                Op::Subtract => (to(a, s1) - to(b, s2), ten(common)),
                Op::Multiply => match wide(a).checked_mul(wide(b)) {
                    Some(product) => (product, ten(s1) * ten(s2)),
                    None => continue,
                },
                _ if b == 0 => continue,
                Op::Divide => (to(a, s1), to(b, s2)),
                _ => (to(a, s1) % to(b, s2), ten(common)),
            };
            let Some(over) = over.checked_mul(ten(scale)) else { continue };
            let exact = naive_round(over, under).to_i128().filter(|value| value.unsigned_abs() < 10u128.pow(38));
            let given = apply_or_null(op, &value(a, p1, s1), &value(b, p2, s2), &result).unwrap();
            let given = given.array().as_primitive::<Decimal128Type>().iter().next().unwrap();
            prop_assert_eq!(given, exact, "{:?}", op);
        }
    }
}
