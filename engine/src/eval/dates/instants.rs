//! Timestamps as numbers, of numbers, and in other zones.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimestampMicrosecondType};

use super::times::{Times, timestamps};
use crate::eval::arguments::{Arguments, for_each_valid};
use crate::eval::calendar::MICROS_PER_SECOND;
use crate::eval::cast::cast;
use crate::eval::error::EvalError;
use crate::eval::scalar::describe;
use crate::eval::value::Value;
use crate::eval::zone::Zone;

pub(super) fn unix_micros(args: Arguments<'_>) -> Result<Int64Array, EvalError> {
    let times = Times::of(args, 0)?;
    let reader = times.reader();
    args.primitives::<Int64Type>(|row| Ok(reader.instant(row)))
}

/// Whole seconds, rounded down.
pub(super) fn unix_seconds(args: Arguments<'_>) -> Result<Int64Array, EvalError> {
    let times = Times::of(args, 0)?;
    let reader = times.reader();
    args.primitives::<Int64Type>(|row| Ok(reader.instant(row).div_euclid(MICROS_PER_SECOND)))
}

/// The instant so many seconds after 1970-01-01 UTC. Of a float, what is less than a microsecond is cut off, and
/// what is not finite is NULL.
pub(super) fn of_seconds(args: Arguments<'_>, result: &DataType) -> Result<ArrayRef, EvalError> {
    let value = args.get(0)?;
    let zone = match result {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let too_far = |row| EvalError::Overflow {
        operation: format!("timestamp_seconds({})", describe(value.array(), value.index(row))),
        data_type: result.clone(),
        instead: None,
    };
    if value.data_type().is_integer() {
        let seconds = args.integers(0)?;
        let micros = args.primitives::<TimestampMicrosecondType>(|row| {
            seconds.get(row).checked_mul(MICROS_PER_SECOND).ok_or_else(|| too_far(row))
        })?;
        return Ok(Arc::new(micros.with_timezone_opt(zone)));
    }
    if !value.data_type().is_numeric() {
        return Err(args.wrong(0, "a number"));
    }
    let seconds = cast(value.array(), &DataType::Float64, false)?;
    let seconds = seconds.as_primitive::<Float64Type>();
    let known = |row: usize| {
        let index = value.index(row);
        seconds.is_valid(index) && seconds.value(index).is_finite()
    };
    let nulls = Some((0..args.rows).map(known).collect());
    let mut micros = vec![0; args.rows];
    for_each_valid(args.rows, nulls.as_ref(), |row| {
        let exact = seconds.value(value.index(row)) * MICROS_PER_SECOND as f64;
        // The first double that is too large.
        if exact.abs() >= 2f64.powi(63) {
            return Err(too_far(row));
        }
        micros[row] = exact as i64;
        Ok(())
    })?;
    Ok(timestamps(micros, nulls, zone))
}

/// The same instants, shown in the zone of `result`. A timestamp without a zone is taken as one in UTC.
pub(super) fn to_zone(args: Arguments<'_>, result: &DataType) -> Result<Value, EvalError> {
    let DataType::Timestamp(_, zone) = result else {
        return Err(args.wrong(0, "a timestamp"));
    };
    zone.as_deref().map(Zone::of).transpose()?;
    let value = args.get(0)?;
    let instants = value.array().as_primitive_opt::<TimestampMicrosecondType>();
    let instants = instants.ok_or_else(|| args.wrong(0, "a timestamp of microseconds"))?;
    let shown: ArrayRef = Arc::new(instants.clone().with_timezone_opt(zone.clone()));
    value.map(|_| Ok(shown))
}
