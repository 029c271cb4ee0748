//! Functions of dates and timestamps. Dates are days of the proleptic Gregorian calendar; a timestamp with a zone is an
//! instant, of which fields and units are those that the clocks of its zone show, and one without is a local
//! time. A NULL argument gives NULL.

mod arithmetic;
mod fields;
mod format;
mod instants;
#[cfg(test)]
mod tests;
mod times;
mod truncate;

use std::sync::Arc;

use arrow::datatypes::DataType;
use millstream_planner::expr::{Scalar, ScalarFn};

use super::arguments::Arguments;
use super::error::EvalError;
use super::value::Value;
use format::Format;

/// What is made once of arguments that are known before there are rows.
pub(crate) enum Prepared {
    /// A pattern of `strftime`.
    Format(Format),
}

/// Prepares a function for arguments of which some are known: those are given, in their places.
pub(crate) fn prepare(
    function: ScalarFn,
    constants: &[Option<&Scalar>],
) -> Result<Option<Prepared>, EvalError> {
    use ScalarFn as F;
    let has_pattern = matches!(function, F::ToDate | F::ToTimestamp | F::DateFormat);
    match constants.get(1) {
        Some(Some(Scalar::Utf8(pattern))) if has_pattern => {
            Ok(Some(Prepared::Format(Format::new(function, pattern)?)))
        }
        _ => Ok(None),
    }
}

/// The value of a function for each row. `prepared` is what [`prepare`] made for this call.
pub(crate) fn call(
    function: ScalarFn,
    args: &[Value],
    rows: usize,
    result: &DataType,
    prepared: Option<&Prepared>,
) -> Result<Value, EvalError> {
    use ScalarFn as F;
    let args = Arguments { function, values: args, rows };
    let array = match function {
        F::Year
        | F::Quarter
        | F::Month
        | F::Week
        | F::Day
        | F::DayOfWeek
        | F::Weekday
        | F::DayOfYear => Arc::new(fields::of_day(args)?),
        F::Hour | F::Minute | F::Second => Arc::new(fields::of_time(args)?),
        F::DateTrunc => truncate::date_trunc(args)?,
        F::DateAdd => Arc::new(arithmetic::add_days(args, 1)?),
        F::DateSub => Arc::new(arithmetic::add_days(args, -1)?),
        F::DateDiff => Arc::new(arithmetic::date_diff(args)?),
        F::AddMonths => Arc::new(arithmetic::add_months(args)?),
        F::MonthsBetween => Arc::new(arithmetic::months_between(args)?),
        F::LastDay => Arc::new(arithmetic::last_day(args)?),
        F::MakeDate => Arc::new(arithmetic::make_date(args)?),
        F::ToDate | F::ToTimestamp if args.values.len() < 2 => {
            return args.get(0)?.map(|strings| super::cast::cast(strings, result, false));
        }
        F::ToDate => Arc::new(format::to_date(args, prepared)?),
        F::ToTimestamp => format::to_timestamp(args, result, prepared)?,
        F::DateFormat => format::date_format(args, prepared)?,
        F::UnixMicros => Arc::new(instants::unix_micros(args)?),
        F::UnixSeconds => Arc::new(instants::unix_seconds(args)?),
        F::TimestampSeconds => instants::of_seconds(args, result)?,
        F::ToZone => return instants::to_zone(args, result),
        other => return Err(EvalError::unsupported(format!("{} of dates", other.name()))),
    };
    Ok(Value::Array(array))
}
