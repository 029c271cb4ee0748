//! The beginnings of units of time.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Date32Type, TimestampMicrosecondType};

use super::fields::weekday;
use super::times::{Reader, Times};
use crate::eval::arguments::Arguments;
use crate::eval::calendar::{Civil, MICROS_PER_SECOND};
use crate::eval::error::EvalError;

/// A unit of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    /// So many microseconds: an hour or less.
    Micros(i64),
}

impl Unit {
    fn of(name: &str) -> Option<Self> {
        const UNITS: [(&[&str], Unit); 10] = [
            (&["year", "yyyy", "yy"], Unit::Year),
            (&["quarter"], Unit::Quarter),
            (&["month", "mon", "mm"], Unit::Month),
            (&["week"], Unit::Week),
            (&["day", "dd"], Unit::Day),
            (&["hour"], Unit::Micros(3600 * MICROS_PER_SECOND)),
            (&["minute"], Unit::Micros(60 * MICROS_PER_SECOND)),
            (&["second"], Unit::Micros(MICROS_PER_SECOND)),
            (&["millisecond"], Unit::Micros(1000)),
            (&["microsecond"], Unit::Micros(1)),
        ];
        let named = |names: &[&str]| names.iter().any(|own| own.eq_ignore_ascii_case(name));
        UNITS.iter().find(|(names, _)| named(names)).map(|(_, unit)| *unit)
    }

    /// The first day of the year, quarter, month or week of a day.
    fn first_day(self, day: i64) -> i64 {
        let civil = Civil::of_days(day);
        match self {
            Self::Year => Civil { month: 1, day: 1, ..civil }.days(),
            Self::Quarter => Civil { month: (civil.month - 1) / 3 * 3 + 1, day: 1, ..civil }.days(),
            Self::Month => Civil { day: 1, ..civil }.days(),
            Self::Week => day - weekday(day),
            Self::Day | Self::Micros(_) => day,
        }
    }

    /// The instant at which the unit began, by the clocks of the zone; none where no timestamp reaches.
    fn start(self, reader: &mut Reader<'_>, row: usize) -> Option<i64> {
        let Self::Micros(unit) = self else {
            let day = reader.day(row);
            return reader.start_of_day(self.first_day(day));
        };
        let local = reader.local(row);
        let start = local.checked_sub(local.rem_euclid(unit))?;
        Some(reader.instant_before(start, reader.instant(row)))
    }
}

/// The beginning of the unit in which a time is, by the clocks of its zone. Of a date it is a date.
pub(super) fn date_trunc(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (names, times) = (args.strings(0)?, Times::of(args, 1)?);
    let constant = names.constant().map(|name| unit(args, name)).transpose()?;
    let unit_of = |row| constant.map_or_else(|| unit(args, names.get(row)), Ok);
    let too_far =
        |row| args.error(format!("{} is the last date or time that there is", times.describe(row)));
    let mut reader = times.reader();
    if times.is_date() {
        let days = args.primitives::<Date32Type>(|row| {
            let first = unit_of(row)?.first_day(reader.day(row));
            i32::try_from(first).map_err(|_| too_far(row))
        })?;
        return Ok(Arc::new(days));
    }
    let starts = args.primitives::<TimestampMicrosecondType>(|row| {
        unit_of(row)?.start(&mut reader, row).ok_or_else(|| too_far(row))
    })?;
    Ok(Arc::new(starts.with_timezone_opt(times.zone_name())))
}

fn unit(args: Arguments<'_>, name: &str) -> Result<Unit, EvalError> {
    Unit::of(name).ok_or_else(|| {
        args.error(format!(
            "'{name}' is no unit: year, quarter, month, week, day, hour, minute, second, millisecond and \
             microsecond are"
        ))
    })
}
