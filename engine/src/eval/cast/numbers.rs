//! Numbers of one type as numbers of another.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type, i256,
};

use super::{by_arrow, convert, parse};
use crate::eval::decimal::{divide_half_up, fit, fit_wide, pow10, rescale_wide};
use crate::eval::error::EvalError;

/// Doubles hold all integers below this number.
const EXACT_IN_DOUBLE: u128 = 1 << 53;
/// And all powers of ten up to this one.
const EXACT_POWER: i8 = 22;

pub(super) fn cast(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    use DataType::{Boolean, Decimal128, Decimal256, Float32, Float64};
    match (array.data_type(), to) {
        (Decimal128(p1, s1), Decimal128(p2, s2)) => {
            narrow(array, (*p1, *s1), (*p2, *s2), to, lenient)
        }
        (Decimal128(_, from), Decimal256(precision, scale)) => {
            convert::<Decimal128Type, Decimal256Type>(array, to, lenient, |value| {
                fit_wide(rescale_wide(i256::from_i128(value), *from, *scale)?, *precision)
            })
        }
        (Decimal256(_, from), Decimal128(precision, scale)) => {
            convert::<Decimal256Type, Decimal128Type>(array, to, lenient, |value| {
                fit(rescale_wide(value, *from, *scale)?, *precision)
            })
        }
        (Decimal256(_, from), Decimal256(precision, scale)) => {
            convert::<Decimal256Type, Decimal256Type>(array, to, lenient, |value| {
                fit_wide(rescale_wide(value, *from, *scale)?, *precision)
            })
        }
        (Decimal128(_, scale), Float64) => {
            let mut text = String::new();
            convert::<Decimal128Type, Float64Type>(array, to, lenient, |value| {
                to_double(value, *scale, &mut text)
            })
        }
        (Decimal128(..) | Decimal256(..), Float32 | Float64) => {
            // By way of their digits, which are rounded once.
            super::cast(&super::cast(array, &DataType::Utf8View, lenient)?, to, lenient)
        }
        (Decimal128(..), Boolean) => {
            let values = array.as_primitive::<Decimal128Type>();
            Ok(Arc::new(BooleanArray::from_unary(values, |value| value != 0)))
        }
        (Decimal256(..), Boolean) => {
            let values = array.as_primitive::<Decimal256Type>();
            Ok(Arc::new(BooleanArray::from_unary(values, |value| value != i256::ZERO)))
        }
        (Boolean, Decimal128(..) | Decimal256(..)) => {
            cast(&by_arrow(array, &DataType::Int64, lenient)?, to, lenient)
        }
        (Float64, Decimal128(..) | Decimal256(..)) => of_double(array, to, lenient),
        (Float32, Decimal128(..) | Decimal256(..)) => {
            // The digits of the number as it is shown, not those of the double nearest to it.
            let text = super::cast(array, &DataType::Utf8View, lenient)?;
            super::cast(&text, to, lenient)
        }
        (from, Decimal128(..) | Decimal256(..)) if from.is_integer() => {
            of_integer(array, to, lenient)
        }
        _ => by_arrow(array, to, lenient),
    }
}

fn narrow(
    array: &ArrayRef,
    (p1, s1): (u8, i8),
    (p2, s2): (u8, i8),
    to: &DataType,
    lenient: bool,
) -> Result<ArrayRef, EvalError> {
    let by = i16::from(s2) - i16::from(s1);
    let power = u8::try_from(by.unsigned_abs()).ok().and_then(pow10);
    let values = array.as_primitive::<Decimal128Type>();
    let holds_all = i16::from(p2) - i16::from(s2) >= i16::from(p1) - i16::from(s1);
    match power {
        Some(1) if holds_all => Ok(Arc::new(values.clone().with_data_type(to.clone()))),
        Some(power) if holds_all && by > 0 => {
            let digits: PrimitiveArray<Decimal128Type> =
                values.unary(|value| value.wrapping_mul(power));
            Ok(Arc::new(digits.with_data_type(to.clone())))
        }
        Some(power) if by < 0 => {
            let bound = pow10(p2).unwrap_or(i128::MAX).unsigned_abs();
            convert::<Decimal128Type, Decimal128Type>(array, to, lenient, |value| {
                let rounded = divide_half_up(value, power);
                (rounded.unsigned_abs() < bound).then_some(rounded)
            })
        }
        _ => convert::<Decimal128Type, Decimal128Type>(array, to, lenient, |value| {
            fit(rescale_wide(i256::from_i128(value), s1, s2)?, p2)
        }),
    }
}

fn of_integer(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    if *array.data_type() == DataType::UInt64 {
        return digits::<UInt64Type>(array, to, lenient, |value| value.into());
    }
    let wide = by_arrow(array, &DataType::Int64, lenient)?;
    digits::<Int64Type>(&wide, to, lenient, |value| value.into())
}

fn digits<A: ArrowPrimitiveType>(
    array: &ArrayRef,
    to: &DataType,
    lenient: bool,
    wide: impl Fn(A::Native) -> i128,
) -> Result<ArrayRef, EvalError> {
    match to {
        DataType::Decimal128(precision, scale) => {
            let factor = u8::try_from(*scale).ok().and_then(pow10);
            let bound = pow10(*precision).unwrap_or(i128::MAX).unsigned_abs();
            convert::<A, Decimal128Type>(array, to, lenient, |value| {
                let value = wide(value);
                match factor {
                    Some(factor) => {
                        value.checked_mul(factor).filter(|value| value.unsigned_abs() < bound)
                    }
                    None => fit(rescale_wide(i256::from_i128(value), 0, *scale)?, *precision),
                }
            })
        }
        DataType::Decimal256(precision, scale) => {
            convert::<A, Decimal256Type>(array, to, lenient, |value| {
                fit_wide(rescale_wide(i256::from_i128(wide(value)), 0, *scale)?, *precision)
            })
        }
        other => Err(EvalError::unsupported(format!("decimal in {other}"))),
    }
}

/// The decimal of the digits with which a double is written: 2.675 is 2.68 to two digits, though the double is a
/// little less.
fn of_double(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    let mut text = String::new();
    let mut written = |value: f64, scale: i8| {
        text.clear();
        // Writing to a string does not fail.
        write!(text, "{value:e}").ok()?;
        parse::decimal(&text, scale)
    };
    match to {
        DataType::Decimal128(precision, scale) => {
            convert::<Float64Type, Decimal128Type>(array, to, lenient, |value| {
                fit(written(value, *scale)?, *precision)
            })
        }
        DataType::Decimal256(precision, scale) => {
            convert::<Float64Type, Decimal256Type>(array, to, lenient, |value| {
                fit_wide(written(value, *scale)?, *precision)
            })
        }
        other => Err(EvalError::unsupported(format!("decimal in {other}"))),
    }
}

/// The double nearest to a decimal.
fn to_double(value: i128, scale: i8, text: &mut String) -> Option<f64> {
    if value.unsigned_abs() <= EXACT_IN_DOUBLE && (0..=EXACT_POWER).contains(&scale) {
        return Some(value as f64 / 10f64.powi(scale.into()));
    }
    text.clear();
    write!(text, "{value}e{}", -i16::from(scale)).ok()?;
    text.parse().ok()
}
