//! Values as strings, as Spark writes them.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, StringViewBuilder};
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, TimeUnit, TimestampMicrosecondType,
};

use super::{by_arrow, refused};
use crate::eval::calendar::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::eval::error::EvalError;
use crate::eval::scalar::describe;
use crate::eval::zone::Zone;

/// A column as string views.
pub(super) fn cast(array: &ArrayRef, lenient: bool) -> Result<ArrayRef, EvalError> {
    let to = DataType::Utf8View;
    match array.data_type() {
        DataType::Float32 => {
            each::<Float32Type>(array, |out, value| float(out, value, f64::from(value)))
        }
        DataType::Float64 => each::<Float64Type>(array, |out, value| float(out, value, value)),
        DataType::Date32 => each::<Date32Type>(array, |out, days| date(out, days.into())),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let zone = zone.as_ref().map(|zone| Zone::of(zone)).transpose()?;
            let mut cursor = zone.as_ref().map(|zone| zone.cursor());
            each::<TimestampMicrosecondType>(array, |out, instant| {
                timestamp(out, cursor.as_mut().map_or(instant, |cursor| cursor.local_of(instant)))
            })
        }
        DataType::Timestamp(_, zone) => {
            let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            cast(&super::cast(array, &micros, lenient)?, lenient)
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => binary(array, lenient),
        nested if nested.is_nested() => {
            let mut strings = StringViewBuilder::with_capacity(array.len());
            for row in 0..array.len() {
                strings.append_option(array.is_valid(row).then(|| describe(array, row)));
            }
            Ok(Arc::new(strings.finish()))
        }
        _ => by_arrow(array, &to, lenient),
    }
}

fn each<A: ArrowPrimitiveType>(
    array: &ArrayRef,
    mut write: impl FnMut(&mut String, A::Native) -> std::fmt::Result,
) -> Result<ArrayRef, EvalError> {
    let values = array.as_primitive::<A>();
    let mut strings = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    for value in values {
        text.clear();
        // Writing to a string does not fail.
        strings.append_option(value.and_then(|value| write(&mut text, value).ok()).map(|()| &text));
    }
    Ok(Arc::new(strings.finish()))
}

/// With the fewest digits that give the same number again, and an exponent from 10^7 up and below 10^-3, as Java.
fn float(
    out: &mut String,
    value: impl std::fmt::Display + std::fmt::LowerExp,
    size: f64,
) -> std::fmt::Result {
    if size.is_nan() {
        return out.write_str("NaN");
    }
    if size.is_infinite() {
        return out.write_str(if size > 0.0 { "Infinity" } else { "-Infinity" });
    }
    if size == 0.0 || (1e-3..1e7).contains(&size.abs()) {
        write!(out, "{value}")?;
        return if out.contains('.') { Ok(()) } else { out.write_str(".0") };
    }
    write!(out, "{value:e}")?;
    let exponent = out.find('e').unwrap_or(out.len());
    let point = if out[..exponent].contains('.') { "E" } else { ".0E" };
    out.replace_range(exponent..=exponent, point);
    Ok(())
}

/// `2024-02-29`; with a sign beyond the year 9999 and before the year 0.
pub(crate) fn date(out: &mut String, days: i64) -> std::fmt::Result {
    let Civil { year, month, day } = Civil::of_days(days);
    match year {
        0..=9999 => write!(out, "{year:04}")?,
        10_000.. => write!(out, "+{year}")?,
        _ => write!(out, "-{:04}", -year)?,
    }
    write!(out, "-{month:02}-{day:02}")
}

/// `2024-02-29 12:30:00.25`: digits after the point only where there are some.
pub(crate) fn timestamp(out: &mut String, local: i64) -> std::fmt::Result {
    date(out, local.div_euclid(MICROS_PER_DAY))?;
    let time = local.rem_euclid(MICROS_PER_DAY);
    let (seconds, micros) = (time / MICROS_PER_SECOND, time % MICROS_PER_SECOND);
    write!(out, " {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    if micros != 0 {
        write!(out, ".{micros:06}")?;
        out.truncate(out.trim_end_matches('0').len());
    }
    Ok(())
}

fn binary(array: &ArrayRef, lenient: bool) -> Result<ArrayRef, EvalError> {
    let views = by_arrow(array, &DataType::BinaryView, lenient)?;
    let bytes = views.as_binary_view();
    let mut strings = StringViewBuilder::with_capacity(bytes.len());
    for (row, value) in bytes.iter().enumerate() {
        let text = value.map(std::str::from_utf8);
        match text {
            Some(Err(_)) if !lenient => return Err(refused(array, row, &DataType::Utf8View)),
            text => strings.append_option(text.and_then(Result::ok)),
        }
    }
    Ok(Arc::new(strings.finish()))
}
