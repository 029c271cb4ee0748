//! What strings say.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type, i256,
};

use super::{by_arrow, collect, nested, refused, with_failed};
use crate::eval::calendar::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::eval::decimal::{fit, fit_wide};
use crate::eval::error::EvalError;
use crate::eval::zone::Zone;

/// Exponents beyond this are those of no decimal.
const MAX_EXPONENT: i64 = 1_000_000;
/// Decimal digits that 128 bits hold in any case.
const NARROW_DIGITS: i64 = 38;
const MAX_DIGITS: i64 = 76;

/// A column of string views as another type.
pub(super) fn cast(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    macro_rules! number {
        ($arrow:ty) => {
            each::<$arrow>(array, to, lenient, |text| text.parse().ok())
        };
    }
    match to {
        DataType::Boolean => truths(array, lenient),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Decimal128(precision, scale) => {
            each::<Decimal128Type>(array, to, lenient, |text| {
                fit(decimal(text, *scale)?, *precision)
            })
        }
        DataType::Decimal256(precision, scale) => {
            each::<Decimal256Type>(array, to, lenient, |text| {
                fit_wide(decimal(text, *scale)?, *precision)
            })
        }
        DataType::Date32 => {
            each::<Date32Type>(array, to, lenient, |text| i32::try_from(date(text)?).ok())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            timestamps(array, to, zone.as_deref(), lenient)
        }
        DataType::Timestamp(_, zone) => {
            let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            super::cast(&cast(array, &micros, lenient)?, to, lenient)
        }
        to if to.is_nested() => nested::cast(array, to, lenient),
        _ => by_arrow(array, to, lenient),
    }
}

fn each<O: ArrowPrimitiveType>(
    array: &ArrayRef,
    to: &DataType,
    lenient: bool,
    parse: impl Fn(&str) -> Option<O::Native>,
) -> Result<ArrayRef, EvalError> {
    let strings = array.as_string_view();
    collect::<O>(array, to, lenient, |row| parse(without_blanks(strings.value(row))))
}

fn without_blanks(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || character.is_control())
}

fn truths(array: &ArrayRef, lenient: bool) -> Result<ArrayRef, EvalError> {
    const YES: [&str; 5] = ["t", "true", "y", "yes", "1"];
    const NO: [&str; 5] = ["f", "false", "n", "no", "0"];
    let strings = array.as_string_view();
    let mut failed = Vec::new();
    let values = BooleanBuffer::collect_bool(strings.len(), |row| {
        let text = without_blanks(strings.value(row));
        let is = |word: &&str| text.eq_ignore_ascii_case(word);
        let yes = YES.iter().any(&is);
        if !yes && !NO.iter().any(is) && strings.is_valid(row) {
            failed.push(row);
        }
        yes
    });
    match failed.first() {
        Some(row) if !lenient => Err(refused(array, *row, &DataType::Boolean)),
        _ => Ok(Arc::new(BooleanArray::new(values, with_failed(array, &failed)))),
    }
}

/// The digits of a number at a scale, rounded half away from zero: `-1.25e2` is -12500 at scale 2.
pub(super) fn decimal(text: &str, scale: i8) -> Option<i256> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    if mantissa.len() == mantissa.matches('.').count() || !all().all(|digit| digit.is_ascii_digit())
    {
        return None;
    }
    let zeros = all().take_while(|digit| *digit == b'0').count();
    let digits = || all().skip(zeros).map(|digit| i128::from(digit - b'0'));
    let count = (whole.len() + fraction.len() - zeros) as i64;
    if count == 0 {
        return Some(i256::ZERO);
    }
    let exponent = exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT);
    // How many of the digits stay, and then how many zeros come after them.
    let kept = count + exponent - fraction.len() as i64 + i64::from(scale);
    if !(0..=MAX_DIGITS).contains(&kept) {
        return (kept < 0).then_some(i256::ZERO);
    }
    let (taken, zeros) = (kept.min(count) as usize, (kept - count).max(0) as u32);
    let round_up = digits().nth(taken).is_some_and(|digit| digit >= 5);
    let value = if kept < NARROW_DIGITS {
        let value = digits().take(taken).fold(0i128, |value, digit| value * 10 + digit);
        i256::from_i128(value * 10i128.pow(zeros) + i128::from(round_up))
    } else {
        let ten = i256::from_i128(10);
        let add = |value: i256, digit| value.checked_mul(ten)?.checked_add(i256::from_i128(digit));
        let value = digits().take(taken).try_fold(i256::ZERO, add)?;
        let value = value.checked_mul(ten.checked_pow(zeros)?)?;
        value.checked_add(i256::from_i128(round_up.into()))?
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

/// Reads a text from its start.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    /// A number of so many digits.
    fn number(&mut self, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !digits.contains(&count) {
            return None;
        }
        let (number, rest) = self.rest.split_at(count);
        self.rest = rest;
        Some(number.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    /// `[+-]year[-month[-day]]`.
    fn date(&mut self) -> Option<Civil> {
        let negative = self.take(b'-');
        if !negative {
            self.take(b'+');
        }
        let year = self.number(4..=7)?;
        let month = if self.take(b'-') { Some(self.number(1..=2)?) } else { None };
        let day = if month.is_some() && self.take(b'-') { self.number(1..=2)? } else { 1 };
        let year = if negative { -year } else { year };
        Civil::checked(year, month.unwrap_or(1) as u32, day as u32)
    }

    /// `hour:minute[:second[.fraction]]`, in microseconds.
    fn time(&mut self) -> Option<i64> {
        let hour = self.number(1..=2).filter(|hour| *hour < 24)?;
        if !self.take(b':') {
            return None;
        }
        let minute = self.number(1..=2).filter(|minute| *minute < 60)?;
        let mut micros = (hour * 60 + minute) * 60 * MICROS_PER_SECOND;
        if self.take(b':') {
            let second = self.number(1..=2).filter(|second| *second < 60)?;
            micros += second * MICROS_PER_SECOND;
            if self.take(b'.') {
                micros += self.fraction();
            }
        }
        Some(micros)
    }

    /// Digits after the point of a second, in microseconds; what is smaller is cut off.
    fn fraction(&mut self) -> i64 {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        let digit = |place| digits.get(place).map_or(0, |digit| i64::from(digit - b'0'));
        (0..6).fold(0, |micros, place| micros * 10 + digit(place))
    }
}

/// Days after 1970-01-01 of a text that begins with a date. A time may follow.
pub(crate) fn date(text: &str) -> Option<i64> {
    let mut reader = Reader { rest: text.as_bytes() };
    let date = reader.date()?;
    let ends = matches!(reader.rest.first(), None | Some(b' ' | b'T'));
    ends.then(|| date.days())
}

/// Local microseconds of a date and time, and the zone that follows them.
pub(crate) fn timestamp(text: &str) -> Option<(i64, Option<&str>)> {
    let mut reader = Reader { rest: text.as_bytes() };
    let midnight = reader.date()?.days().checked_mul(MICROS_PER_DAY)?;
    if reader.rest.is_empty() {
        return Some((midnight, None));
    }
    if !reader.take(b'T') && !reader.take(b' ') {
        return None;
    }
    let local = midnight.checked_add(reader.time()?)?;
    let zone = text[text.len() - reader.rest.len()..].trim();
    Some((local, Some(zone).filter(|zone| !zone.is_empty())))
}

/// Instants of a zone; a text with a zone of its own says another instant. A column without a zone keeps the local
/// time.
fn timestamps(
    array: &ArrayRef,
    to: &DataType,
    zone: Option<&str>,
    lenient: bool,
) -> Result<ArrayRef, EvalError> {
    let zone = zone.map(Zone::of).transpose()?;
    let mut cursor = zone.as_ref().map(|zone| zone.cursor());
    let strings = array.as_string_view();
    collect::<TimestampMicrosecondType>(array, to, lenient, |row| {
        let (local, own) = timestamp(without_blanks(strings.value(row)))?;
        let own = match own {
            Some(name) => Some(Zone::of(name).ok()?),
            None => None,
        };
        match (own, &mut cursor) {
            (_, None) => Some(local),
            (Some(own), Some(_)) => Some(own.cursor().utc_of(local)),
            (None, Some(cursor)) => Some(cursor.utc_of(local)),
        }
    })
}
