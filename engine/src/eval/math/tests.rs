//! Known answers, by Spark 4 in ANSI mode where it has the function.

use arrow::datatypes::DataType;
use millstream_planner::expr::{Scalar, ScalarFn as F};

use crate::eval::functions::call;
use crate::eval::scalar::{from_array, to_array};
use crate::eval::testing::{check, fails, row, value};
use crate::eval::value::Value;

const NAN: f64 = f64::NAN;

fn dec(value: i128, precision: u8, scale: i8) -> Scalar {
    Scalar::Decimal128 { value, precision, scale }
}

/// Values of which the first is a column.
fn values(args: &[Scalar]) -> Vec<Value> {
    let value = |(position, arg): (usize, &Scalar)| {
        let array = to_array(arg).unwrap();
        if position == 0 { Value::Array(array) } else { Value::Constant(array) }
    };
    args.iter().enumerate().map(value).collect()
}

fn is_nan(function: F, args: &[Scalar]) -> bool {
    let value = call(function, &values(args), 1, &DataType::Float64, None).unwrap();
    matches!(from_array(value.array(), 0), Ok(Scalar::Float64(x)) if x.is_nan())
}

/// Asserts what is rounded to digits, which are a constant.
#[track_caller]
fn rounds(function: F, args: &[Scalar], right: impl Into<Scalar>) {
    let right = right.into();
    let value = call(function, &values(args), 1, &right.data_type(), None).unwrap();
    assert_eq!(from_array(value.array(), 0).unwrap(), right, "{}{args:?}", function.name());
}

fn null(data_type: DataType) -> Scalar {
    Scalar::Null(data_type)
}

#[test]
fn choosing() {
    check(F::NullIf, row![1i64, 1i64], null(DataType::Int64));
    check(F::NullIf, row![1i64, 2i64], 1i64);
    check(F::NullIf, row!["a", "a"], null(DataType::Utf8View));
    check(F::NullIf, row![-0.0, 0.0], null(DataType::Float64));
    check(F::Greatest, row![1i64, 3i64, 2i64], 3i64);
    check(F::Least, row![2i64, 3i64, 1i64], 1i64);
    check(F::Greatest, &[null(DataType::Int64), 2i64.into(), null(DataType::Int64)], 2i64);
    check(F::Greatest, &[null(DataType::Int64), null(DataType::Int64)], null(DataType::Int64));
    check(F::Least, row!["b", "a long string, not inlined", "c"], "a long string, not inlined");
    check(F::Least, row![NAN, 1.0], 1.0);
    check(F::NanVl, row![NAN, 1.5], 1.5);
    check(F::NanVl, row![2.0, 1.5], 2.0);
    assert!(is_nan(F::Greatest, row![NAN, f64::INFINITY]));
}

#[test]
fn signs_and_bits() {
    check(F::Abs, row![-5i64], 5i64);
    check(F::Abs, row![-1.5], 1.5);
    check(F::Abs, &[dec(-125, 5, 2)], dec(125, 5, 2));
    fails(F::Abs, row![i64::MIN], &DataType::Int64, "abs(-9223372036854775808) does not fit");
    check(F::Signum, row![-7.5], -1.0);
    check(F::Signum, row![0.0], 0.0);
    check(F::BitNot, row![0i32], -1i32);
    check(F::BitNot, row![5u8], 250u8);
}

#[test]
fn whole_numbers() {
    check(F::Floor, row![-1.5], -2i64);
    check(F::Ceil, row![-1.5], -1i64);
    check(F::Ceil, row![7i32], 7i32);
    check(F::Floor, &[dec(-125, 5, 2)], dec(-2, 4, 0));
    check(F::Ceil, &[dec(125, 5, 2)], dec(2, 4, 0));
    check(F::Ceil, &[dec(-100, 5, 2)], dec(-1, 4, 0));
    fails(F::Floor, row![1e20], &DataType::Int64, "cannot cast");
}

#[test]
fn rounding() {
    let round = |x: f64, digits: i32, right: f64| rounds(F::Round, row![x, digits], right);
    round(2.5, 0, 3.0);
    round(-2.5, 0, -3.0);
    round(2.675, 2, 2.68);
    round(1.005, 2, 1.01);
    round(0.285, 2, 0.29);
    round(1.45, 1, 1.5);
    round(1234.567, -2, 1200.0);
    round(1250.0, -2, 1300.0);
    round(1e300, 2, 1e300);
    round(5e-324, 3, 0.0);
    round(f64::INFINITY, 2, f64::INFINITY);
    rounds(F::Round, row![2.5], 3.0);
    rounds(F::BRound, row![2.5, 0i32], 2.0);
    rounds(F::BRound, row![3.5, 0i32], 4.0);
    rounds(F::BRound, row![0.125, 2i32], 0.12);
    rounds(F::Trunc, row![-1.79, 1i32], -1.7);
    rounds(F::Trunc, row![4.35, 2i32], 4.35);
    rounds(F::Round, row![25i64, -1i32], 30i64);
    rounds(F::BRound, row![25i64, -1i32], 20i64);
    rounds(F::Round, row![-25i32, -1i32], -30i32);
    rounds(F::Round, row![123i64, -40i32], 0i64);
    let most = values(row![i64::MAX, -1i32]);
    let error = call(F::Round, &most, 1, &DataType::Int64, None).unwrap_err().to_string();
    assert!(error.starts_with("round(9223372036854775807) does not fit"), "{error}");
    rounds(F::Round, &[dec(12345, 10, 3), 2i32.into()], dec(1235, 10, 2));
    rounds(F::Round, &[dec(-12345, 10, 3), 2i32.into()], dec(-1235, 10, 2));
    rounds(F::BRound, &[dec(12345, 10, 3), 2i32.into()], dec(1234, 10, 2));
    rounds(F::Round, &[dec(12345, 10, 3), (-1i32).into()], dec(10, 9, 0));
    rounds(F::Round, &[dec(12345, 10, 3)], dec(12, 8, 0));
}

#[test]
fn real_functions() {
    check(F::Sqrt, row![9.0], 3.0);
    check(F::Cbrt, row![27.0], 3.0);
    check(F::Exp, row![0.0], 1.0);
    check(F::Ln, row![1.0], 0.0);
    check(F::Ln, row![0.0], null(DataType::Float64));
    check(F::Log10, row![-1.0], null(DataType::Float64));
    check(F::Log2, row![8.0], 3.0);
    check(F::Pow, row![2.0, 10.0], 1024.0);
    check(F::Atan2, row![0.0, 1.0], 0.0);
    check(F::Degrees, row![std::f64::consts::PI], 180.0);
    assert!(is_nan(F::Pow, row![1.0, NAN]));
    assert!(is_nan(F::Sqrt, row![-1.0]));
}

#[test]
fn remainders_that_are_not_negative() {
    check(F::PMod, row![-7i64, 3i64], 2i64);
    check(F::PMod, row![7i64, 3i64], 1i64);
    check(F::PMod, row![-7i64, -3i64], -1i64);
    check(F::PMod, row![i64::MIN, -1i64], 0i64);
    check(F::PMod, row![-7.5, 2.0], 0.5);
    check(F::PMod, &[dec(-75, 5, 1), dec(2, 3, 0)], dec(5, 4, 1));
    fails(F::PMod, row![1i64, 0i64], &DataType::Int64, "division by zero: 1 % 0");
}

#[test]
fn what_fails_becomes_null() {
    check(F::TryAdd, row![i64::MAX, 1i64], null(DataType::Int64));
    check(F::TryAdd, row![1i64, 2i64], 3i64);
    check(F::TrySubtract, row![i32::MIN, 1i32], null(DataType::Int32));
    check(F::TryMultiply, row![i64::MAX, 2i64], null(DataType::Int64));
    check(F::TryDivide, row![1.0, 0.0], null(DataType::Float64));
    check(F::TryDivide, row![1.0, 4.0], 0.25);
    check(F::TryDivide, &[dec(1, 3, 0), dec(0, 3, 0)], null(DataType::Decimal128(9, 6)));
    let most = 10i128.pow(38) - 1;
    check(F::TryAdd, &[dec(most, 38, 0), dec(1, 38, 0)], null(DataType::Decimal128(38, 0)));
}

#[test]
fn buckets() {
    let bucket = |x: f64, from: f64, to: f64, count: i64, right: i64| {
        check(F::WidthBucket, row![x, from, to, count], right);
    };
    bucket(5.3, 0.2, 10.6, 5, 3);
    bucket(-2.1, 1.3, 3.4, 3, 0);
    bucket(8.1, 0.0, 5.7, 4, 5);
    bucket(-0.9, 5.2, 0.5, 2, 3);
    bucket(10.0, 10.0, 0.0, 10, 1);
    // Of no width, and of no buckets.
    check(F::WidthBucket, row![1.0, 2.0, 2.0, 3i64], null(DataType::Int64));
    check(F::WidthBucket, row![1.0, 0.0, 2.0, 0i64], null(DataType::Int64));
    check(F::WidthBucket, row![1.0, 0.0, 2.0, i64::MAX], null(DataType::Int64));
    check(F::WidthBucket, row![NAN, 0.0, 2.0, 3i64], null(DataType::Int64));
}

#[test]
fn equal_values_have_one_hash() {
    let hash = |args: &[Scalar]| value(F::Hash, args, &DataType::Int64).unwrap();
    assert_eq!(hash(row![0.0]), hash(row![-0.0]));
    assert_eq!(hash(row![NAN]), hash(&[f64::from_bits(0x7ff8_0000_0000_0002).into()]));
    assert_ne!(hash(row!["a", "b"]), hash(row!["b", "a"]));
    assert_ne!(hash(&[null(DataType::Int64)]), hash(row![0i64]));
}
