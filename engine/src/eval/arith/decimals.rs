//! Decimals: exact, rounded half away from zero to the scale of the result, and an error where the result's
//! precision is too small.
//!
//! Where types or values prove that nothing can overflow, rows are computed without a check. Otherwise 128 bits
//! are tried first, and what does not fit is decided in 256.

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, i256};
use millstream_planner::expr::BinaryOp;

use super::lanes::Operation;
use super::unsupported;
use crate::eval::cast;
use crate::eval::decimal::{
    divide_half_up, divide_half_up_wide, fit, fit_wide, pow10, pow10_wide, rescale_wide,
};
use crate::eval::error::EvalError;
use crate::eval::value::Value;

/// Digits that 63 bits hold.
const SMALL_PRECISION: u8 = 18;
/// Bits of numbers below 10^38.
const SAFE_BITS: u32 = 126;

/// Precision and scale.
type Shape = (u8, i8);

pub(super) fn apply(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let (left, right) = (operation.left.data_type(), operation.right.data_type());
    let is_narrow = |data_type: &DataType| matches!(data_type, DataType::Decimal128(..));
    match operation.result {
        DataType::Decimal128(..) if is_narrow(left) && is_narrow(right) => narrow(operation),
        DataType::Decimal128(..) | DataType::Decimal256(..) => {
            let widen = |value: &Value| {
                let (precision, scale) = shape(value.data_type());
                value.map(|array| {
                    cast::cast(array, &DataType::Decimal256(precision.max(1), scale), false)
                })
            };
            let (left, right) = (widen(operation.left)?, widen(operation.right)?);
            wide(&Operation { left: &left, right: &right, ..*operation })
        }
        integer if integer.is_integer() && operation.op == BinaryOp::IntegerDivide => {
            let (_, s1) = shape(left);
            let (p1, s2) = (shape(left).0, shape(right).1);
            // Room for the largest quotient, that of the smallest divisor.
            let digits = i16::from(p1) - i16::from(s1) + i16::from(s2.max(0));
            let whole = DataType::Decimal256(digits.clamp(1, 76) as u8, 0);
            let quotient = apply(&Operation { result: &whole, ..*operation })?;
            quotient.map(|array| cast::cast(array, integer, operation.lenient))
        }
        _ => Err(unsupported(operation)),
    }
}

pub(super) fn positive_remainder(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let rest = apply(operation)?;
    let (s1, s2) = (shape(rest.data_type()).1, shape(operation.right.data_type()).1);
    let (precision, scale) = shape(operation.result);
    let positive = |rest: i128, divisor: i128| {
        let divisor = rescale_wide(i256::from_i128(divisor), s2, s1)?;
        let rest = i256::from_i128(rest);
        let rest = if rest.is_negative() {
            rest.wrapping_add(divisor).checked_rem(divisor)?
        } else {
            rest
        };
        fit(rescale_wide(rest, s1, scale)?, precision)
    };
    match (rest.data_type(), operation.right.data_type()) {
        (DataType::Decimal128(..), DataType::Decimal128(..)) => {
            checked(&Operation { left: &rest, ..*operation }, positive, |_, _| (0, true))
        }
        _ => Err(unsupported(operation)),
    }
}

/// Integers as decimals that hold them all.
pub(super) fn of_integers(value: &Value) -> Result<Value, EvalError> {
    match value.data_type() {
        DataType::Decimal128(..) | DataType::Decimal256(..) => Ok(value.clone()),
        _ => value.map(|array| cast::cast(array, &DataType::Decimal128(20, 0), false)),
    }
}

fn shape(data_type: &DataType) -> Shape {
    match data_type {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            (*precision, *scale)
        }
        _ => (0, 0),
    }
}

/// What an operation does in 256 bits, of digits at their scales; no value where it overflows or divides by zero.
fn exactly(op: BinaryOp, (a, s1): (i256, i8), (b, s2): (i256, i8), scale: i8) -> Option<i256> {
    let common = s1.max(s2);
    let both = || Some((rescale_wide(a, s1, common)?, rescale_wide(b, s2, common)?));
    match op {
        BinaryOp::Add => both().and_then(|(a, b)| rescale_wide(a.checked_add(b)?, common, scale)),
        BinaryOp::Subtract => {
            both().and_then(|(a, b)| rescale_wide(a.checked_sub(b)?, common, scale))
        }
        BinaryOp::Multiply => rescale_wide(a.checked_mul(b)?, s1.checked_add(s2)?, scale),
        BinaryOp::Divide => {
            let power = i16::from(scale) - i16::from(s1) + i16::from(s2);
            let factor = pow10_wide(u8::try_from(power.unsigned_abs()).ok()?)?;
            if b == i256::ZERO {
                None
            } else if power >= 0 {
                divide_half_up_wide(a.checked_mul(factor)?, b)
            } else {
                divide_half_up_wide(a, b.checked_mul(factor)?)
            }
        }
        BinaryOp::IntegerDivide => {
            both().and_then(|(a, b)| rescale_wide(a.checked_div(b)?, 0, scale))
        }
        BinaryOp::Remainder => {
            both().and_then(|(a, b)| rescale_wide(a.checked_rem(b)?, common, scale))
        }
        _ => None,
    }
}

fn wide(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let (op, (precision, scale)) = (operation.op, shape(operation.result));
    let (s1, s2) = (shape(operation.left.data_type()).1, shape(operation.right.data_type()).1);
    let exact = |a, b| fit_wide(exactly(op, (a, s1), (b, s2), scale)?, precision);
    if matches!(operation.result, DataType::Decimal256(..)) {
        return operation.exact::<Decimal256Type, Decimal256Type, Decimal256Type>(
            |_, _| (i256::ZERO, true),
            exact,
        );
    }
    operation.exact::<Decimal256Type, Decimal256Type, Decimal128Type>(
        |_, _| (0, true),
        |a, b| exact(a, b)?.to_i128(),
    )
}

fn narrow(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let (op, result) = (operation.op, shape(operation.result));
    let (left, right) = (shape(operation.left.data_type()), shape(operation.right.data_type()));
    let exact = |a: i128, b: i128| {
        let (a, b) = (i256::from_i128(a), i256::from_i128(b));
        fit(exactly(op, (a, left.1), (b, right.1), result.1)?, result.0)
    };
    let (precision, scale) = result;
    let bound = pow10(precision).unwrap_or(i128::MAX).unsigned_abs();
    let too_large = |value: i128| value.unsigned_abs() >= bound;
    match op {
        BinaryOp::Add | BinaryOp::Subtract => {
            if left.1 != scale || right.1 != scale {
                return sum_of_scales(operation, left, right, result, exact);
            }
            let proven = precision > left.0.max(right.0);
            match (op, proven) {
                (BinaryOp::Add, true) => plain(operation, i128::wrapping_add),
                (BinaryOp::Add, false) => checked(operation, exact, |a, b| {
                    let (sum, wrapped) = a.overflowing_add(b);
                    (sum, wrapped | too_large(sum))
                }),
                (_, true) => plain(operation, i128::wrapping_sub),
                (_, false) => checked(operation, exact, |a, b| {
                    let (difference, wrapped) = a.overflowing_sub(b);
                    (difference, wrapped | too_large(difference))
                }),
            }
        }
        BinaryOp::Multiply => product(operation, left, right, result, exact),
        BinaryOp::Divide => {
            let power = i16::from(scale) - i16::from(left.1) + i16::from(right.1);
            let Some(factor) = u8::try_from(power).ok().and_then(pow10) else {
                return checked(operation, exact, |_, _| (0, true));
            };
            checked(operation, exact, |a, b| {
                let (scaled, wrapped) = a.overflowing_mul(factor);
                if wrapped | (b == 0) {
                    return (0, true);
                }
                let quotient = divide_half_up(
                    if b < 0 { scaled.wrapping_neg() } else { scaled },
                    b.wrapping_abs(),
                );
                (quotient, too_large(quotient))
            })
        }
        BinaryOp::Remainder if left.1 == right.1 && left.1 == scale => {
            checked(operation, exact, |a, b| {
                let rest = match (i64::try_from(a), i64::try_from(b)) {
                    (Ok(a), Ok(b)) => a.checked_rem(b).map(i128::from),
                    _ => a.checked_rem(b),
                };
                rest.map_or((0, true), |rest| (rest, too_large(rest)))
            })
        }
        BinaryOp::Remainder | BinaryOp::IntegerDivide => {
            checked(operation, exact, |_, _| (0, true))
        }
        _ => Err(unsupported(operation)),
    }
}

/// A sum or difference of digits that have to be brought to the scale of the result.
fn sum_of_scales(
    operation: &Operation<'_>,
    left: Shape,
    right: Shape,
    (precision, scale): Shape,
    exact: impl Fn(i128, i128) -> Option<i128>,
) -> Result<Value, EvalError> {
    let factor = |of: i8| u8::try_from(i16::from(scale) - i16::from(of)).ok().and_then(pow10);
    let (Some(f1), Some(f2)) = (factor(left.1), factor(right.1)) else {
        return checked(operation, exact, |_, _| (0, true));
    };
    let sign = if operation.op == BinaryOp::Add { 1 } else { -1 };
    let whole = |(p, s): Shape| i16::from(p) - i16::from(s);
    if whole((precision, scale)) > whole(left).max(whole(right)) {
        return plain(operation, |a, b| a.wrapping_mul(f1).wrapping_add(sign * b.wrapping_mul(f2)));
    }
    let bound = pow10(precision).unwrap_or(i128::MAX).unsigned_abs();
    checked(operation, exact, |a, b| {
        let ((a, a_wrapped), (b, b_wrapped)) =
            (a.overflowing_mul(f1), b.overflowing_mul(sign * f2));
        let (sum, wrapped) = a.overflowing_add(b);
        (sum, a_wrapped | b_wrapped | wrapped | (sum.unsigned_abs() >= bound))
    })
}

fn product(
    operation: &Operation<'_>,
    left: Shape,
    right: Shape,
    (precision, scale): Shape,
    exact: impl Fn(i128, i128) -> Option<i128>,
) -> Result<Value, EvalError> {
    let surplus = i16::from(left.1) + i16::from(right.1) - i16::from(scale);
    let bound = pow10(precision).unwrap_or(i128::MAX).unsigned_abs();
    if surplus == 0 {
        let proven = u16::from(precision) >= u16::from(left.0) + u16::from(right.0);
        if proven && left.0.max(right.0) <= SMALL_PRECISION {
            return plain(operation, |a, b| i128::from(a as i64) * i128::from(b as i64));
        }
        let bits = || bits(operation.left) + bits(operation.right);
        if proven || (precision == 38 && bits() <= SAFE_BITS) {
            return plain(operation, i128::wrapping_mul);
        }
        return checked(operation, exact, |a, b| {
            let (product, wrapped) = a.overflowing_mul(b);
            (product, wrapped | (product.unsigned_abs() >= bound))
        });
    }
    let Some(divisor) = u8::try_from(surplus).ok().and_then(pow10) else {
        return checked(operation, exact, |_, _| (0, true));
    };
    checked(operation, exact, |a, b| {
        let (product, wrapped) = a.overflowing_mul(b);
        let product = divide_half_up(product, divisor);
        (product, wrapped | (product.unsigned_abs() >= bound))
    })
}

/// Bits of the largest value, without its sign.
fn bits(value: &Value) -> u32 {
    let values = value.array().as_primitive::<Decimal128Type>().values();
    let all = values.iter().fold(0, |all, value| all | (value ^ (value >> 127)));
    i128::BITS - all.leading_zeros()
}

fn plain(operation: &Operation<'_>, f: impl Fn(i128, i128) -> i128) -> Result<Value, EvalError> {
    operation.plain::<Decimal128Type, Decimal128Type, Decimal128Type>(f)
}

fn checked(
    operation: &Operation<'_>,
    exact: impl Fn(i128, i128) -> Option<i128>,
    fast: impl Fn(i128, i128) -> (i128, bool),
) -> Result<Value, EvalError> {
    operation.exact::<Decimal128Type, Decimal128Type, Decimal128Type>(fast, exact)
}
