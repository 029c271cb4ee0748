//! Dates and timestamps: a date is a day of the calendar, a timestamp with a zone an instant, one without a zone
//! what clocks show somewhere.
//!
//! A date becomes the first instant of its day in the zone; a day that a zone skipped, that of the day after it.
//! Numbers are seconds since 1970-01-01 UTC.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, DurationMicrosecondType, Float64Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};

use super::{by_arrow, convert};
use crate::eval::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::eval::error::{EvalError, type_name};
use crate::eval::zone::Zone;

type Micros = TimestampMicrosecondType;

pub(super) fn cast(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    use DataType::{Date32, Float64, Int64, Timestamp};
    use TimeUnit::Microsecond;
    match (array.data_type(), to) {
        (Timestamp(unit, zone), to) if *unit != Microsecond => {
            let micros = Timestamp(Microsecond, zone.clone());
            super::cast(&to_micros(array, *unit, &micros, lenient)?, to, lenient)
        }
        (_, Timestamp(unit, zone)) if *unit != Microsecond => {
            let micros = super::cast(array, &Timestamp(Microsecond, zone.clone()), lenient)?;
            of_micros(&micros, *unit, to, lenient)
        }
        (Date32, Timestamp(_, zone)) => with_zone(zone.as_deref(), |cursor| {
            convert::<Date32Type, Micros>(array, to, lenient, |days| {
                let local = i64::from(days).checked_mul(MICROS_PER_DAY)?;
                Some(match cursor {
                    Some(cursor) => cursor.start_of_day(days.into()),
                    None => local,
                })
            })
        }),
        (Timestamp(_, zone), Date32) => with_zone(zone.as_deref(), |cursor| {
            convert::<Micros, Date32Type>(array, to, lenient, |instant| {
                let local = cursor.as_mut().map_or(instant, |cursor| cursor.local_of(instant));
                i32::try_from(local.div_euclid(MICROS_PER_DAY)).ok()
            })
        }),
        (Timestamp(_, Some(_)), Timestamp(_, Some(_))) => {
            let instants = array.as_primitive::<Micros>().clone();
            Ok(Arc::new(instants.with_data_type(to.clone())))
        }
        (Timestamp(_, None), Timestamp(_, zone)) => with_zone(zone.as_deref(), |cursor| {
            convert::<Micros, Micros>(array, to, lenient, |local| {
                Some(cursor.as_mut().map_or(local, |cursor| cursor.utc_of(local)))
            })
        }),
        (Timestamp(_, zone), Timestamp(_, None)) => with_zone(zone.as_deref(), |cursor| {
            convert::<Micros, Micros>(array, to, lenient, |instant| {
                Some(cursor.as_mut().map_or(instant, |cursor| cursor.local_of(instant)))
            })
        }),
        (Timestamp(..), Float64) => convert::<Micros, Float64Type>(array, to, lenient, |instant| {
            Some(instant as f64 / MICROS_PER_SECOND as f64)
        }),
        (Timestamp(..), Int64) => convert::<Micros, Int64Type>(array, to, lenient, |instant| {
            Some(instant.div_euclid(MICROS_PER_SECOND))
        }),
        (Timestamp(..), to) if to.is_numeric() => {
            super::cast(&cast(array, &Int64, lenient)?, to, lenient)
        }
        (from, Timestamp(..)) if from.is_floating() => {
            let seconds = super::cast(array, &Float64, lenient)?;
            convert::<Float64Type, Micros>(&seconds, to, lenient, |seconds| {
                let micros = (seconds * MICROS_PER_SECOND as f64).trunc();
                let fits = micros.abs() < i64::MAX as f64;
                fits.then_some(micros as i64)
            })
        }
        (from, Timestamp(..)) if from.is_integer() => {
            let seconds = super::cast(array, &Int64, lenient)?;
            convert::<Int64Type, Micros>(&seconds, to, lenient, |seconds| {
                seconds.checked_mul(MICROS_PER_SECOND)
            })
        }
        (DataType::Date64, Date32) | (Date32, DataType::Date64) => by_arrow(array, to, lenient),
        (from, to) => {
            let what = format!("cast of {} to {}", type_name(from), type_name(to));
            Err(EvalError::unsupported(what))
        }
    }
}

/// Intervals as durations and back. Months have no length; a day has 24 hours.
pub(super) fn spans(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    let micros = DataType::Duration(TimeUnit::Microsecond);
    if let DataType::Interval(_) = to {
        let lengths = super::cast(array, &micros, lenient)?;
        return convert::<DurationMicrosecondType, IntervalMonthDayNanoType>(
            &lengths,
            to,
            lenient,
            |length| Some(IntervalMonthDayNano::new(0, 0, length.checked_mul(1000)?)),
        );
    }
    let lengths = convert::<IntervalMonthDayNanoType, DurationMicrosecondType>(
        array,
        &micros,
        lenient,
        |span| {
            let days = i64::from(span.days) * MICROS_PER_DAY;
            (span.months == 0).then(|| days.checked_add(span.nanoseconds.div_euclid(1000)))?
        },
    )?;
    super::cast(&lengths, to, lenient)
}

fn with_zone<R>(
    zone: Option<&str>,
    then: impl FnOnce(&mut Option<crate::eval::zone::Cursor<'_>>) -> Result<R, EvalError>,
) -> Result<R, EvalError> {
    let zone = zone.map(Zone::of).transpose()?;
    then(&mut zone.as_ref().map(|zone| zone.cursor()))
}

fn to_micros(
    array: &ArrayRef,
    unit: TimeUnit,
    to: &DataType,
    lenient: bool,
) -> Result<ArrayRef, EvalError> {
    match unit {
        TimeUnit::Second => convert::<TimestampSecondType, Micros>(array, to, lenient, |seconds| {
            seconds.checked_mul(MICROS_PER_SECOND)
        }),
        TimeUnit::Millisecond => {
            convert::<TimestampMillisecondType, Micros>(array, to, lenient, |millis| {
                millis.checked_mul(1000)
            })
        }
        TimeUnit::Microsecond => super::cast(array, to, lenient),
        TimeUnit::Nanosecond => {
            convert::<TimestampNanosecondType, Micros>(array, to, lenient, |nanos| {
                Some(nanos.div_euclid(1000))
            })
        }
    }
}

fn of_micros(
    array: &ArrayRef,
    unit: TimeUnit,
    to: &DataType,
    lenient: bool,
) -> Result<ArrayRef, EvalError> {
    match unit {
        TimeUnit::Second => convert::<Micros, TimestampSecondType>(array, to, lenient, |micros| {
            Some(micros.div_euclid(MICROS_PER_SECOND))
        }),
        TimeUnit::Millisecond => {
            convert::<Micros, TimestampMillisecondType>(array, to, lenient, |micros| {
                Some(micros.div_euclid(1000))
            })
        }
        TimeUnit::Microsecond => super::cast(array, to, lenient),
        TimeUnit::Nanosecond => {
            convert::<Micros, TimestampNanosecondType>(array, to, lenient, |micros| {
                micros.checked_mul(1000)
            })
        }
    }
}
