//! Dates and timestamps.

use arrow_schema::{DataType, TimeUnit};

use super::super::rules::Typed;
use super::Call;
use super::Kind::{Boolean, Date, Int, Number, String as Str, Time, Timestamp};
use super::call::timestamp;
use crate::error::PlanError;
use crate::expr::{Scalar, ScalarFn};

pub(super) fn typed(function: ScalarFn, call: &Call<'_>) -> Option<Result<Typed, PlanError>> {
    use ScalarFn as F;
    let gives_int = |taken: super::call::Taken<'_>| taken.gives(DataType::Int32);
    let gives_date = |taken: super::call::Taken<'_>| taken.gives(DataType::Date32);
    Some(match function {
        F::Year
        | F::Quarter
        | F::Month
        | F::Week
        | F::Day
        | F::DayOfWeek
        | F::Weekday
        | F::DayOfYear => call.takes(&[Time]).map(gives_int),
        F::Hour | F::Minute | F::Second => call.takes(&[Timestamp]).map(gives_int),
        F::DateTrunc => date_trunc(call),
        F::DateAdd | F::DateSub | F::AddMonths => call.takes(&[Date, Int]).map(gives_date),
        F::DateDiff => call.takes(&[Date, Date]).map(gives_int),
        F::MonthsBetween => call
            .takes_from(2, &[Timestamp, Timestamp, Boolean])
            .map(|taken| taken.gives(DataType::Float64)),
        F::LastDay => call.takes(&[Date]).map(gives_date),
        F::MakeDate => call.takes(&[Int, Int, Int]).map(gives_date),
        F::ToDate => call.takes_from(1, &[Str, Str]).map(gives_date),
        F::ToTimestamp => call.takes_from(1, &[Str, Str]).map(|taken| taken.gives(timestamp())),
        F::DateFormat => call.takes(&[Time, Str]).map(|taken| taken.gives(DataType::Utf8View)),
        F::UnixMicros | F::UnixSeconds => {
            call.takes(&[Timestamp]).map(|taken| taken.gives(DataType::Int64))
        }
        F::TimestampSeconds => call.takes(&[Number]).map(|mut taken| {
            let exact = taken.first().is_integer();
            taken.types = vec![if exact { DataType::Int64 } else { DataType::Float64 }];
            let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
            if exact { taken.gives(utc) } else { taken.gives_or_null(utc) }
        }),
        F::ToZone => to_zone(call),
        _ => return None,
    })
}

/// Of a date a date, of a timestamp a timestamp in its zone.
fn date_trunc(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = call.takes(&[Str, Time])?;
    let result = taken.types[1].clone();
    Ok(taken.gives(result))
}

/// The zone is part of the type, and so a constant.
fn to_zone(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = call.takes(&[Timestamp, Str])?;
    match call.constant(1)? {
        Scalar::Utf8(zone) => {
            Ok(taken.gives(DataType::Timestamp(TimeUnit::Microsecond, Some(zone.clone()))))
        }
        _ => Err(call.site.invalid("the zone must be a name such as `Europe/Berlin` or `+02:00`")),
    }
}
