//! Fields of dates and times: years to seconds.

use arrow::array::Int32Array;
use arrow::datatypes::Int32Type;
use millstream_planner::expr::ScalarFn;

use super::times::Times;
use crate::eval::arguments::Arguments;
use crate::eval::calendar::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::eval::error::EvalError;

/// A field of the day.
pub(super) fn of_day(args: Arguments<'_>) -> Result<Int32Array, EvalError> {
    let times = Times::of(args, 0)?;
    let mut reader = times.reader();
    let mut read =
        |of: fn(i64) -> i64| args.primitives::<Int32Type>(|row| Ok(of(reader.day(row)) as i32));
    match args.function {
        ScalarFn::Year => read(|day| Civil::of_days(day).year),
        ScalarFn::Quarter => read(|day| i64::from((Civil::of_days(day).month - 1) / 3 + 1)),
        ScalarFn::Month => read(|day| i64::from(Civil::of_days(day).month)),
        ScalarFn::Day => read(|day| i64::from(Civil::of_days(day).day)),
        ScalarFn::DayOfYear => read(|day| day - first_of_year(Civil::of_days(day).year) + 1),
        // Sunday is 1.
        ScalarFn::DayOfWeek => read(|day| (weekday(day) + 1) % 7 + 1),
        ScalarFn::Weekday => read(weekday),
        ScalarFn::Week => read(week),
        other => Err(EvalError::unsupported(format!("{} of a day", other.name()))),
    }
}

/// A field of the time of day.
pub(super) fn of_time(args: Arguments<'_>) -> Result<Int32Array, EvalError> {
    let times = Times::of(args, 0)?;
    let mut reader = times.reader();
    let mut read = |unit: i64, units: i64| {
        args.primitives::<Int32Type>(|row| {
            let within = reader.local(row).rem_euclid(MICROS_PER_DAY);
            Ok((within / (unit * MICROS_PER_SECOND) % units) as i32)
        })
    };
    match args.function {
        ScalarFn::Hour => read(3600, 24),
        ScalarFn::Minute => read(60, 60),
        ScalarFn::Second => read(1, 60),
        other => Err(EvalError::unsupported(format!("{} of a time", other.name()))),
    }
}

/// 0 for Monday.
pub(super) fn weekday(day: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (day + 3).rem_euclid(7)
}

fn first_of_year(year: i64) -> i64 {
    Civil { year, month: 1, day: 1 }.days()
}

/// The week of ISO 8601: it belongs to the year in which its Thursday is.
fn week(day: i64) -> i64 {
    let thursday = day - weekday(day) + 3;
    (thursday - first_of_year(Civil::of_days(thursday).year)) / 7 + 1
}
