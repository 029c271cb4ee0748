//! Rounding to whole numbers and to digits.
//!
//! Doubles are rounded as they are written: 2.675 to two digits is 2.68, though the double is a little less.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type, i256,
};

use crate::eval::arguments::Arguments;
use crate::eval::cast::{cast, convert};
use crate::eval::decimal::{divide_half_up_wide, fit, fit_wide, pow10_wide, rescale_wide};
use crate::eval::error::{EvalError, type_name};
use crate::eval::unary::checked;
use crate::eval::value::Value;

/// Digits that a double can have on either side of its point.
const MAX_DIGITS: i64 = 330;
/// Powers of ten that doubles hold exactly.
const EXACT_POWER: i32 = 22;
/// Doubles hold all integers below this number.
const EXACT: f64 = (1u64 << 53) as f64;
/// A product with a power of ten this close to a half may be on either side of it in truth.
const CLOSE: f64 = 1e-6;

/// Which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    /// To the nearest, halves away from zero.
    HalfUp,
    /// To the nearest, halves to the even one.
    HalfEven,
    ToZero,
    Down,
    Up,
}

impl Rounding {
    /// A quotient by a positive number, rounded.
    fn divide(self, value: i256, divisor: i256) -> Option<i256> {
        let whole = value.checked_div(divisor)?;
        let rest = value.checked_rem(divisor)?;
        if rest == i256::ZERO {
            return Some(whole);
        }
        match self {
            Self::ToZero => Some(whole),
            Self::Down if value.is_negative() => whole.checked_sub(i256::ONE),
            Self::Up if !value.is_negative() => whole.checked_add(i256::ONE),
            Self::Down | Self::Up => Some(whole),
            Self::HalfUp => divide_half_up_wide(value, divisor),
            Self::HalfEven => {
                let size = rest.wrapping_abs();
                let is_half = size == divisor.wrapping_sub(size);
                let is_even = whole.checked_rem(i256::from_i128(2))? == i256::ZERO;
                if is_half && is_even { Some(whole) } else { divide_half_up_wide(value, divisor) }
            }
        }
    }

    fn float(self, value: f64) -> f64 {
        match self {
            Self::HalfUp => value.round(),
            Self::HalfEven => value.round_ties_even(),
            Self::ToZero => value.trunc(),
            Self::Down => value.floor(),
            Self::Up => value.ceil(),
        }
    }

    /// Digits of a scale, rounded to so many after the point and at another scale.
    fn digits(self, value: i256, scale: i8, digits: i64, result: i8) -> Option<i256> {
        let dropped = i64::from(scale) - digits;
        if dropped <= 0 {
            return rescale_wide(value, scale, result);
        }
        let Some(divisor) = u8::try_from(dropped).ok().and_then(pow10_wide) else {
            return Some(i256::ZERO);
        };
        let rounded = self.divide(value, divisor)?;
        match i8::try_from(digits) {
            Ok(digits) => rescale_wide(rounded, digits, result),
            Err(_) => (rounded == i256::ZERO).then_some(i256::ZERO),
        }
    }
}

/// `floor` and `ceil`.
pub(super) fn whole(
    arg: &Value,
    rounding: Rounding,
    result: &DataType,
) -> Result<Value, EvalError> {
    arg.map(|array| match array.data_type() {
        from if from.is_integer() || from.is_null() => cast(array, result, false),
        from if from.is_floating() => {
            let array = cast(array, &DataType::Float64, false)?;
            let whole = array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|value| rounding.float(value));
            cast(&(Arc::new(whole) as ArrayRef), result, false)
        }
        _ => decimals(array, rounding, 0, result),
    })
}

/// `round` and its kin: to the digits of the second argument, none if there is no such.
pub(super) fn to_digits(
    arguments: &Arguments<'_>,
    rounding: Rounding,
    result: &DataType,
) -> Result<Value, EvalError> {
    let arg = arguments.get(0)?;
    let digits = match arguments.values.get(1) {
        None => 0,
        Some(digits) if digits.is_null_constant() => return Ok(Value::null(result)),
        Some(digits) if digits.is_constant() => {
            let digits = cast(digits.array(), &DataType::Int64, false)?;
            digits.as_primitive::<Int64Type>().value(0)
        }
        Some(_) => return Err(arguments.error("the number of digits must be a constant")),
    };
    let digits = digits.clamp(-MAX_DIGITS, MAX_DIGITS);
    arg.map(|array| match array.data_type() {
        from if from.is_integer() || from.is_null() => {
            integers(arguments, array, rounding, digits, result)
        }
        from if from.is_floating() => {
            let doubles = match from {
                // By the digits of the number as it is written.
                DataType::Float32 => {
                    cast(&cast(array, &DataType::Utf8View, false)?, &DataType::Float64, false)?
                }
                _ => cast(array, &DataType::Float64, false)?,
            };
            let rounded = doubles
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|value| double(value, rounding, digits as i32));
            cast(&(Arc::new(rounded) as ArrayRef), result, false)
        }
        _ => decimals(array, rounding, digits, result),
    })
}

fn integers(
    arguments: &Arguments<'_>,
    array: &ArrayRef,
    rounding: Rounding,
    digits: i64,
    result: &DataType,
) -> Result<ArrayRef, EvalError> {
    if digits >= 0 || array.data_type().is_null() {
        return cast(array, result, false);
    }
    let name = arguments.function.name();
    let wide = |value: i256| rounding.digits(value, 0, digits, 0);
    if *array.data_type() == DataType::UInt64 {
        let rounded = checked::<UInt64Type>(array, name, |value| {
            u64::try_from(wide(i256::from_i128(value.into()))?.to_i128()?).ok()
        })?;
        return cast(&rounded, result, false);
    }
    let rounded = checked::<Int64Type>(&cast(array, &DataType::Int64, false)?, name, |value| {
        i64::try_from(wide(i256::from_i128(value.into()))?.to_i128()?).ok()
    })?;
    cast(&rounded, result, false)
}

/// A double rounded as it is written. Only what is close to a half is looked at digit by digit.
fn double(value: f64, rounding: Rounding, digits: i32) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    if (0..=EXACT_POWER).contains(&digits) {
        let power = 10f64.powi(digits);
        let scaled = value * power;
        // From a boundary of the rounding: a half, or a whole number.
        let from_half = (scaled.abs().fract() - 0.5).abs();
        let from_whole = scaled.abs().fract().min(1.0 - scaled.abs().fract());
        let near = if matches!(rounding, Rounding::HalfUp | Rounding::HalfEven) {
            from_half
        } else {
            from_whole
        };
        if scaled.abs() < EXACT / 2.0 && near > CLOSE.max(scaled.abs() * f64::EPSILON * 4.0) {
            return rounding.float(scaled) / power;
        }
    }
    by_digits(&format!("{value:e}"), rounding, digits, value).unwrap_or(value)
}

/// Rounds `d.ddde±x`, and reads the result.
fn by_digits(text: &str, rounding: Rounding, digits: i32, value: f64) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('e')?;
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    let all: i128 = mantissa.replace('.', "").parse().ok()?;
    // The number is `all` with so many digits after its point.
    let scale = fraction - exponent.parse::<i32>().ok()?;
    let dropped = scale - digits;
    if dropped <= 0 {
        return Some(value);
    }
    let rounded = match u8::try_from(dropped).ok().filter(|dropped| *dropped < 30) {
        Some(dropped) => rounding.divide(i256::from_i128(all), pow10_wide(dropped)?)?.to_i128()?,
        // Less than a half of the last digit.
        None => 0,
    };
    format!("{rounded}e{}", -digits).parse().ok()
}

fn decimals(
    array: &ArrayRef,
    rounding: Rounding,
    digits: i64,
    result: &DataType,
) -> Result<ArrayRef, EvalError> {
    let from = array.data_type();
    let (scale, wide): (i8, ArrayRef) = match from {
        DataType::Decimal128(_, scale) => {
            (*scale, cast(array, &DataType::Decimal256(76, *scale), false)?)
        }
        DataType::Decimal256(_, scale) => (*scale, ArrayRef::clone(array)),
        other => return Err(EvalError::unsupported(format!("rounding of {}", type_name(other)))),
    };
    match result {
        DataType::Decimal128(precision, to) => {
            convert::<Decimal256Type, Decimal128Type>(&wide, result, false, |value| {
                fit(rounding.digits(value, scale, digits, *to)?, *precision)
            })
        }
        DataType::Decimal256(precision, to) => {
            convert::<Decimal256Type, Decimal256Type>(&wide, result, false, |value| {
                fit_wide(rounding.digits(value, scale, digits, *to)?, *precision)
            })
        }
        other => {
            // Whole numbers of another type, such as `bigint`.
            let whole = DataType::Decimal256(76, scale.max(0));
            cast(&decimals(array, rounding, digits, &whole)?, other, false)
        }
    }
}
