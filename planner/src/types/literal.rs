//! Values that are written out, in other types: only where nothing is lost and no clock, zone or rounding is
//! needed. Everything else is cast when it is run.

use arrow_schema::{DataType, TimeUnit};

use super::coerce::normal;
use crate::expr::Scalar;

/// Whole numbers up to here are exact as doubles, and so are their neighbours.
const EXACT_DOUBLE: i128 = 1 << 53;
const EXACT_FLOAT: i128 = 1 << 24;
/// Decimals of so many digits are told apart by doubles.
const DOUBLE_DIGITS: u8 = 15;
const DAY_MICROS: i64 = 86_400_000_000;

/// The value as a value of another type, if it is exactly that.
#[must_use]
pub fn fold_cast(value: &Scalar, to: &DataType) -> Option<Scalar> {
    if value.is_null() {
        return Some(Scalar::Null(to.clone()));
    }
    if normal(&value.data_type()) == *to {
        return Some(value.clone());
    }
    if let Some(whole) = value.as_integer() {
        return integer(whole, to);
    }
    match value {
        Scalar::Float32(value) => float(f64::from(*value), to),
        Scalar::Float64(value) => float(*value, to),
        Scalar::Decimal128 { value, scale, .. } => decimal(*value, *scale, to),
        Scalar::Utf8(text) if *to == DataType::Date32 => Some(Scalar::Date32(parse_date(text)?)),
        Scalar::Date32(days) if *to == DataType::Timestamp(TimeUnit::Microsecond, None) => {
            let micros = i64::from(*days).checked_mul(DAY_MICROS)?;
            Some(Scalar::Timestamp { micros, zone: None })
        }
        _ => None,
    }
}

fn integer(value: i128, to: &DataType) -> Option<Scalar> {
    Some(match to {
        DataType::Int8 => Scalar::Int8(value.try_into().ok()?),
        DataType::Int16 => Scalar::Int16(value.try_into().ok()?),
        DataType::Int32 => Scalar::Int32(value.try_into().ok()?),
        DataType::Int64 => Scalar::Int64(value.try_into().ok()?),
        DataType::UInt8 => Scalar::UInt8(value.try_into().ok()?),
        DataType::UInt16 => Scalar::UInt16(value.try_into().ok()?),
        DataType::UInt32 => Scalar::UInt32(value.try_into().ok()?),
        DataType::UInt64 => Scalar::UInt64(value.try_into().ok()?),
        DataType::Float32 if value.abs() <= EXACT_FLOAT => Scalar::Float32(value as f32),
        DataType::Float64 if value.abs() <= EXACT_DOUBLE => Scalar::Float64(value as f64),
        DataType::Decimal128(..) => return decimal(value, 0, to),
        _ => return None,
    })
}

/// A whole number below the exact range compares with integers as they do with it; a double that is a short
/// decimal compares with decimals of up to 15 digits as these do as doubles.
fn float(value: f64, to: &DataType) -> Option<Scalar> {
    match to {
        DataType::Float64 => Some(Scalar::Float64(value)),
        DataType::Float32 => {
            let single = value as f32;
            (f64::from(single) == value || value.is_nan()).then_some(Scalar::Float32(single))
        }
        DataType::Decimal128(precision, _) if *precision <= DOUBLE_DIGITS => {
            let (digits, scale) = parse_decimal(&value.to_string())?;
            decimal(digits, scale, to)
        }
        whole if whole.is_integer() => {
            let exact = value.fract() == 0.0 && value.abs() < EXACT_DOUBLE as f64;
            exact.then(|| integer(value as i128, to)).flatten()
        }
        _ => None,
    }
}

fn decimal(value: i128, scale: i8, to: &DataType) -> Option<Scalar> {
    if let DataType::Decimal128(precision, wanted) = *to {
        let by = u32::from(wanted.abs_diff(scale));
        let factor = 10_i128.checked_pow(by)?;
        let moved = if wanted >= scale {
            value.checked_mul(factor)?
        } else {
            (value % factor == 0).then(|| value / factor)?
        };
        let limit = 10_i128.checked_pow(precision.into())?;
        return (moved.abs() < limit).then_some(Scalar::Decimal128 {
            value: moved,
            precision,
            scale: wanted,
        });
    }
    let factor = 10_i128.checked_pow(u32::try_from(scale).ok()?)?;
    (to.is_integer() && value % factor == 0).then(|| integer(value / factor, to)).flatten()
}

/// `-12.50` as digits and scale. Not in scientific notation.
pub(crate) fn parse_decimal(text: &str) -> Option<(i128, i8)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{part}");
    let numeric = !all.is_empty() && all.bytes().all(|byte| byte.is_ascii_digit());
    let value: i128 = numeric.then(|| all.parse().ok()).flatten()?;
    Some((sign * value, i8::try_from(part.len()).ok()?))
}

/// Days since 1970-01-01 of `YYYY-MM-DD`, if there is such a day.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    days_from_civil(number(0..4)?, number(5..7)?, number(8..10)?)
}

/// Days since 1970-01-01 of a day of the Gregorian calendar (H. Hinnant, `days_from_civil`).
pub(crate) fn days_from_civil(year: i32, month: i32, day: i32) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let year = year - i32::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// The day of the Gregorian calendar (H. Hinnant, `civil_from_days`).
pub(crate) fn civil_from_days(days: i32) -> (i64, u32, u32) {
    let days = i64::from(days) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * month + 2) / 5 + 1) as u32;
    let month = if month < 10 { month + 3 } else { month - 9 } as u32;
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::*;

    fn decimal_of(value: i128, precision: u8, scale: i8) -> Scalar {
        Scalar::Decimal128 { value, precision, scale }
    }

    #[test]
    fn integers_change_width_where_they_fit() {
        assert_eq!(fold_cast(&Scalar::Int32(200), &UInt8), Some(Scalar::UInt8(200)));
        assert_eq!(fold_cast(&Scalar::Int32(200), &Int8), None);
        assert_eq!(fold_cast(&Scalar::Int32(-1), &UInt64), None);
        assert_eq!(fold_cast(&Scalar::UInt64(u64::MAX), &Int64), None);
        assert_eq!(fold_cast(&Scalar::Int32(3), &Float64), Some(Scalar::Float64(3.0)));
        assert_eq!(fold_cast(&Scalar::Int64((1 << 53) + 1), &Float64), None);
        assert_eq!(
            fold_cast(&Scalar::Int32(24), &Decimal128(15, 2)),
            Some(decimal_of(2400, 15, 2))
        );
        assert_eq!(fold_cast(&Scalar::Int32(1000), &Decimal128(4, 2)), None);
    }

    #[test]
    fn floats_become_decimals_and_integers_where_exact() {
        assert_eq!(
            fold_cast(&Scalar::Float64(0.07), &Decimal128(15, 2)),
            Some(decimal_of(7, 15, 2))
        );
        assert_eq!(fold_cast(&Scalar::Float64(0.075), &Decimal128(15, 2)), None);
        assert_eq!(
            fold_cast(&Scalar::Float64(-0.5), &Decimal128(15, 2)),
            Some(decimal_of(-50, 15, 2))
        );
        assert_eq!(fold_cast(&Scalar::Float64(0.07), &Decimal128(20, 2)), None);
        assert_eq!(fold_cast(&Scalar::Float64(5.0), &Int64), Some(Scalar::Int64(5)));
        assert_eq!(fold_cast(&Scalar::Float64(5.5), &Int64), None);
        assert_eq!(fold_cast(&Scalar::Float64(f64::INFINITY), &Int64), None);
        assert_eq!(fold_cast(&Scalar::Float64(f64::NAN), &Decimal128(5, 1)), None);
        assert_eq!(fold_cast(&Scalar::Float64(0.1), &Float32), None);
        assert_eq!(fold_cast(&decimal_of(1500, 10, 2), &Int32), Some(Scalar::Int32(15)));
        assert_eq!(fold_cast(&decimal_of(1550, 10, 2), &Int32), None);
    }

    #[test]
    fn dates_are_read_only_in_the_iso_form() {
        let date = |text: &str| fold_cast(&Scalar::from(text), &Date32);
        assert_eq!(date("1970-01-01"), Some(Scalar::Date32(0)));
        assert_eq!(date("1998-12-01"), Some(Scalar::Date32(10_561)));
        assert_eq!(date("2000-02-29"), Some(Scalar::Date32(11_016)));
        assert_eq!(date("1900-02-29"), None);
        assert_eq!(date("1998-13-01"), None);
        assert_eq!(date("1998-1-01"), None);
        assert_eq!(date(" 1998-01-01"), None);
        assert_eq!(date("+998-01-01"), None);
    }

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-800_000..3_000_000).step_by(997) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year as i32, month as i32, day as i32), Some(days));
        }
        assert_eq!(civil_from_days(-1), (1969, 12, 31));
        civil_from_days(i32::MIN);
        civil_from_days(i32::MAX);
    }

    #[test]
    fn null_is_null_of_any_type() {
        assert_eq!(fold_cast(&Scalar::Null(Null), &Int8), Some(Scalar::Null(Int8)));
    }
}
