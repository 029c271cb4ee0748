//! Dates, timestamps and intervals.
//!
//! Months come first and stop at the last day of a month, then days, both by the calendar of the timestamp's zone;
//! hours and what is smaller are added to the instant.

use std::cell::RefCell;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, DurationMicrosecondType, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit, TimeUnit, TimestampMicrosecondType,
};
use millstream_planner::expr::BinaryOp;

use super::lanes::Operation;
use super::unsupported;
use crate::eval::calendar::{Civil, MICROS_PER_DAY};
use crate::eval::cast;
use crate::eval::error::EvalError;
use crate::eval::scalar::describe;
use crate::eval::value::Value;
use crate::eval::zone::Zone;

const NANOS_PER_DAY: i64 = MICROS_PER_DAY * 1000;

type Date = Date32Type;
type Instant = TimestampMicrosecondType;
type Span = IntervalMonthDayNanoType;
type Length = DurationMicrosecondType;

pub(super) fn apply(operation: &Operation<'_>) -> Result<Value, EvalError> {
    use BinaryOp::{Add, Multiply, Subtract};
    use DataType::{Date32, Duration, Interval, Timestamp};
    let Operation { op, left, right, .. } = *operation;
    match (left.data_type(), op, right.data_type()) {
        (Interval(_), Add, Interval(_)) => spans(operation, i64::checked_add),
        (Interval(_), Subtract, Interval(_)) => spans(operation, i64::checked_sub),
        (Interval(_), Multiply, by) if by.is_integer() => multiple(operation),
        (by, Multiply, Interval(_)) if by.is_integer() => swapped(operation),
        (Date32 | Timestamp(..), Add | Subtract, Interval(_)) => shift(operation),
        (Interval(_), Add, Date32 | Timestamp(..)) => swapped(operation),
        (Date32, Add | Subtract, days) if days.is_integer() => move_days(operation),
        (days, Add, Date32) if days.is_integer() => swapped(operation),
        (Date32, Subtract, Date32) => days_between(operation),
        (Timestamp(..), Subtract, Timestamp(..) | Date32) | (Date32, Subtract, Timestamp(..)) => {
            time_between(operation)
        }
        (Timestamp(..), Add, Duration(_)) => {
            operation.checked::<Instant, Length, Instant>(i64::overflowing_add)
        }
        (Timestamp(..), Subtract, Duration(_)) => {
            operation.checked::<Instant, Length, Instant>(i64::overflowing_sub)
        }
        (Duration(_), Add, Timestamp(..)) => swapped(operation),
        (Duration(_), Add, Duration(_)) => {
            operation.checked::<Length, Length, Length>(i64::overflowing_add)
        }
        (Duration(_), Subtract, Duration(_)) => {
            operation.checked::<Length, Length, Length>(i64::overflowing_sub)
        }
        _ => Err(unsupported(operation)),
    }
}

/// The same with its sides the other way round.
fn swapped(operation: &Operation<'_>) -> Result<Value, EvalError> {
    apply(&Operation { left: operation.right, right: operation.left, ..*operation })
}

fn move_days(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let days = operation.right.map(|array| cast::cast(array, &DataType::Int64, false))?;
    let sign = if operation.op == BinaryOp::Add { 1 } else { -1 };
    let operation = Operation { right: &days, ..*operation };
    operation.exact::<Date, Int64Type, Date>(
        |_, _| (0, true),
        |date, days| {
            let days = days.checked_mul(sign)?.checked_add(i64::from(date))?;
            i32::try_from(days).ok()
        },
    )
}

fn days_between(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let between = |end: i32, start: i32| i64::from(end) - i64::from(start);
    let narrow = |end, start| i32::try_from(between(end, start)).ok();
    match operation.result {
        DataType::Int32 => operation.exact::<Date, Date, Int32Type>(
            |end, start| (end.wrapping_sub(start), narrow(end, start).is_none()),
            narrow,
        ),
        DataType::Int64 => operation.plain::<Date, Date, Int64Type>(between),
        DataType::Interval(IntervalUnit::MonthDayNano) => operation.exact::<Date, Date, Span>(
            |_, _| (IntervalMonthDayNano::ZERO, true),
            |end, start| Some(IntervalMonthDayNano::new(0, narrow(end, start)?, 0)),
        ),
        _ => Err(unsupported(operation)),
    }
}

/// The time between two instants: a duration, or an interval of hours and less.
fn time_between(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let Operation { left, right, .. } = *operation;
    let instants = |value: &Value, zone_of: &Value| match (value.data_type(), zone_of.data_type()) {
        (DataType::Date32, like) => value.map(|array| cast::cast(array, like, false)),
        _ => Ok(value.clone()),
    };
    let (left, right) = (instants(left, right)?, instants(right, left)?);
    let operation = Operation { left: &left, right: &right, ..*operation };
    match operation.result {
        DataType::Duration(TimeUnit::Microsecond) => {
            operation.checked::<Instant, Instant, Length>(i64::overflowing_sub)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => operation
            .exact::<Instant, Instant, Span>(
                |_, _| (IntervalMonthDayNano::ZERO, true),
                |end, start| {
                    let nanos = end.checked_sub(start)?.checked_mul(1000)?;
                    Some(IntervalMonthDayNano::new(0, 0, nanos))
                },
            ),
        _ => Err(unsupported(&operation)),
    }
}

fn spans(
    operation: &Operation<'_>,
    combine: fn(i64, i64) -> Option<i64>,
) -> Result<Value, EvalError> {
    let short = |a: i32, b: i32| i32::try_from(combine(a.into(), b.into())?).ok();
    operation.exact::<Span, Span, Span>(
        |_, _| (IntervalMonthDayNano::ZERO, true),
        |a, b| {
            let (months, days) = (short(a.months, b.months)?, short(a.days, b.days)?);
            Some(IntervalMonthDayNano::new(months, days, combine(a.nanoseconds, b.nanoseconds)?))
        },
    )
}

fn multiple(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let times = operation.right.map(|array| cast::cast(array, &DataType::Int64, false))?;
    let operation = Operation { right: &times, ..*operation };
    operation.exact::<Span, Int64Type, Span>(
        |_, _| (IntervalMonthDayNano::ZERO, true),
        |span, times| {
            let short = |part: i32| i32::try_from(i64::from(part).checked_mul(times)?).ok();
            let nanos = span.nanoseconds.checked_mul(times)?;
            Some(IntervalMonthDayNano::new(short(span.months)?, short(span.days)?, nanos))
        },
    )
}

/// A date or timestamp moved by an interval.
fn shift(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let sign = if operation.op == BinaryOp::Add { 1 } else { -1 };
    match operation.result {
        DataType::Date32 => {
            whole_days(operation.right)?;
            operation.exact::<Date, Span, Date>(
                |_, _| (0, true),
                |date, span| i32::try_from(move_date(date.into(), span, sign)?).ok(),
            )
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let zone = zone.as_ref().map(|zone| Zone::of(zone)).transpose()?;
            let cursor = RefCell::new(zone.as_ref().map(|zone| zone.cursor()));
            let start = operation.left.map(|array| cast::cast(array, operation.result, false))?;
            let operation = Operation { left: &start, ..*operation };
            operation.exact::<Instant, Span, Instant>(
                |_, _| (0, true),
                |instant, span| {
                    let mut cursor = cursor.borrow_mut();
                    let moved = match cursor.as_mut() {
                        _ if (span.months, span.days) == (0, 0) => instant,
                        None => move_local(instant, span, sign)?,
                        Some(cursor) => {
                            let local = move_local(cursor.local_of(instant), span, sign)?;
                            cursor.utc_of(local)
                        }
                    };
                    moved.checked_add((span.nanoseconds / 1000).checked_mul(sign)?)
                },
            )
        }
        _ => Err(unsupported(operation)),
    }
}

/// A date has no hours to add some to.
fn whole_days(spans: &Value) -> Result<(), EvalError> {
    let array = spans.array().as_primitive::<Span>();
    let broken =
        |row: &usize| array.is_valid(*row) && array.value(*row).nanoseconds % NANOS_PER_DAY != 0;
    match (0..array.len()).find(broken) {
        None => Ok(()),
        Some(row) => {
            let hours = describe(array, row);
            let why = format!("a date has no hours to move by {hours}: cast it to a timestamp");
            Err(EvalError::argument("date arithmetic", why))
        }
    }
}

/// Days after 1970-01-01, moved.
fn move_date(days: i64, span: IntervalMonthDayNano, sign: i64) -> Option<i64> {
    let days = move_calendar(days, span, sign);
    days.checked_add(sign * (span.nanoseconds / NANOS_PER_DAY))
}

/// Local microseconds, moved by months and days.
fn move_local(local: i64, span: IntervalMonthDayNano, sign: i64) -> Option<i64> {
    let days = move_calendar(local.div_euclid(MICROS_PER_DAY), span, sign);
    days.checked_mul(MICROS_PER_DAY)?.checked_add(local.rem_euclid(MICROS_PER_DAY))
}

fn move_calendar(days: i64, span: IntervalMonthDayNano, sign: i64) -> i64 {
    let moved = match span.months {
        0 => days,
        months => Civil::of_days(days).plus_months(sign * i64::from(months)).days(),
    };
    moved + sign * i64::from(span.days)
}
