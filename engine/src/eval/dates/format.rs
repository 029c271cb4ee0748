//! Dates and timestamps as strings, and of strings, by patterns of `strftime`.

use std::fmt::Write;
use std::sync::Arc;

use ahash::AHashMap;
use arrow::array::{ArrayRef, Date32Array};
use arrow::datatypes::{DataType, Date32Type, TimestampMicrosecondType};
use chrono::format::{Item, Parsed, StrftimeItems, parse};
use chrono::{
    DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeZone,
    Timelike,
};
use millstream_planner::expr::ScalarFn;

use super::Prepared;
use super::times::Times;
use crate::eval::arguments::{Arguments, Strings, quoted};
use crate::eval::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::eval::error::EvalError;
use crate::eval::strings;
use crate::eval::zone::Zone;

/// Patterns of one batch that are remembered.
const REMEMBERED: usize = 256;
/// Years that can be written, a little less than chrono's, so that no offset leads beyond them.
const MAX_YEAR: i32 = 262_000;

/// A pattern that has been understood.
#[derive(Clone, Debug)]
pub(crate) struct Format(Vec<Item<'static>>);

impl Format {
    pub(super) fn new(function: ScalarFn, pattern: &str) -> Result<Self, EvalError> {
        StrftimeItems::new(pattern).parse_to_owned().map(Self).map_err(|_| {
            EvalError::argument(
                function.name(),
                format!(
                    "'{pattern}' is no pattern of strftime: they are such as '%Y-%m-%d %H:%M:%S'"
                ),
            )
        })
    }
}

/// The patterns of a call: one that was prepared, or those of a column.
struct Formats<'a> {
    function: ScalarFn,
    patterns: Strings<'a>,
    prepared: Option<&'a Format>,
    known: AHashMap<&'a str, Format>,
}

impl<'a> Formats<'a> {
    fn new(args: Arguments<'a>, prepared: Option<&'a Prepared>) -> Result<Self, EvalError> {
        let prepared = prepared.map(|Prepared::Format(format)| format);
        let (function, patterns) = (args.function, args.strings(1)?);
        Ok(Self { function, patterns, prepared, known: AHashMap::new() })
    }

    fn get(&mut self, row: usize) -> Result<&Format, EvalError> {
        if let Some(format) = self.prepared {
            return Ok(format);
        }
        let pattern = self.patterns.get(row);
        if !self.known.contains_key(pattern) {
            if self.known.len() >= REMEMBERED {
                self.known.clear();
            }
            self.known.insert(pattern, Format::new(self.function, pattern)?);
        }
        Ok(&self.known[pattern])
    }
}

/// The strings of dates and timestamps; these as the clocks of their zone show them.
pub(super) fn date_format(
    args: Arguments<'_>,
    prepared: Option<&Prepared>,
) -> Result<ArrayRef, EvalError> {
    let times = Times::of(args, 0)?;
    let (patterns, mut formats) = (args.strings(1)?, Formats::new(args, prepared)?);
    let reader = times.reader();
    let shown = Shown::of(times.zone_name().as_deref())?;
    strings::write(args, |row, out| {
        let format = formats.get(row)?;
        let at = DateTime::from_timestamp_micros(reader.instant(row)).map(|at| at.naive_utc());
        let at = at.filter(|at| at.year().abs() <= MAX_YEAR).ok_or_else(|| {
            let value = times.describe(row);
            args.error(format!(
                "{value} cannot be written: years from -{MAX_YEAR} to {MAX_YEAR} can"
            ))
        })?;
        shown.write(at, format, out).map_err(|_| {
            args.error(format!(
                "'{}' asks for what {} does not have, such as an offset from UTC",
                patterns.get(row),
                times.describe(row)
            ))
        })
    })
}

/// Where times are shown.
enum Shown {
    /// As they are: they have no zone.
    Local,
    Zone(chrono_tz::Tz),
    Offset(FixedOffset),
}

impl Shown {
    fn of(zone: Option<&str>) -> Result<Self, EvalError> {
        let Some(name) = zone else { return Ok(Self::Local) };
        if let Ok(zone) = name.parse() {
            return Ok(Self::Zone(zone));
        }
        let seconds = Zone::of(name)?.cursor().offset(0);
        Ok(Self::Offset(FixedOffset::east_opt(seconds as i32).unwrap_or_else(|| chrono::Utc.fix())))
    }

    fn write(&self, utc: NaiveDateTime, format: &Format, out: &mut String) -> std::fmt::Result {
        let items = format.0.iter();
        match self {
            Self::Local => write!(out, "{}", utc.format_with_items(items)),
            Self::Zone(zone) => {
                write!(out, "{}", zone.from_utc_datetime(&utc).format_with_items(items))
            }
            Self::Offset(zone) => {
                write!(out, "{}", zone.from_utc_datetime(&utc).format_with_items(items))
            }
        }
    }
}

/// Dates of strings. What the pattern does not say is the first: 1970, January, the first day.
pub(super) fn to_date(
    args: Arguments<'_>,
    prepared: Option<&Prepared>,
) -> Result<Date32Array, EvalError> {
    let strings = args.strings(0)?;
    let mut formats = Formats::new(args, prepared)?;
    args.primitives::<Date32Type>(|row| {
        let parsed = read(strings.get(row), formats.get(row)?);
        let date = parsed.and_then(|parsed| date_of(&parsed));
        date.map(|date| date.to_epoch_days())
            .ok_or_else(|| unreadable(args, strings.get(row), formats.patterns.get(row), "date"))
    })
}

/// Timestamps of strings. What the pattern does not say is the first, as for dates, at midnight. Without an offset
/// in the string it is a time in the zone of the result; with one, an instant, and in UTC if that has no zone.
pub(super) fn to_timestamp(
    args: Arguments<'_>,
    result: &DataType,
    prepared: Option<&Prepared>,
) -> Result<ArrayRef, EvalError> {
    let strings = args.strings(0)?;
    let name = match result {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let zone = name.as_deref().map(Zone::of).transpose()?;
    let mut cursor = zone.as_ref().map(|zone| zone.cursor());
    let mut formats = Formats::new(args, prepared)?;
    let micros = args.primitives::<TimestampMicrosecondType>(|row| {
        let parsed = read(strings.get(row), formats.get(row)?);
        let micros = parsed.and_then(|parsed| {
            if let Some(seconds) = parsed.timestamp() {
                let fraction = i64::from(parsed.nanosecond().unwrap_or(0) / 1000);
                return seconds.checked_mul(MICROS_PER_SECOND)?.checked_add(fraction);
            }
            let local = local_of(&parsed)?;
            Some(match (parsed.offset(), &mut cursor) {
                (Some(offset), _) => local - i64::from(offset) * MICROS_PER_SECOND,
                (None, Some(cursor)) => cursor.utc_of(local),
                (None, None) => local,
            })
        });
        micros.ok_or_else(|| {
            unreadable(args, strings.get(row), formats.patterns.get(row), "timestamp")
        })
    })?;
    Ok(Arc::new(micros.with_timezone_opt(name)))
}

fn read(string: &str, format: &Format) -> Option<Parsed> {
    let mut parsed = Parsed::new();
    parse(&mut parsed, string, format.0.iter()).ok().map(|()| parsed)
}

/// The local time in microseconds.
fn local_of(parsed: &Parsed) -> Option<i64> {
    let time = time_of(parsed)?;
    let seconds = i64::from(time.num_seconds_from_midnight());
    let micros = seconds * MICROS_PER_SECOND + i64::from(time.nanosecond() / 1000);
    // Chrono's years are within those of timestamps.
    Some(i64::from(date_of(parsed)?.to_epoch_days()) * MICROS_PER_DAY + micros)
}

fn date_of(parsed: &Parsed) -> Option<NaiveDate> {
    if let Ok(date) = parsed.to_naive_date() {
        return Some(date);
    }
    let mut filled = parsed.clone();
    let p = parsed;
    if p.year().or(p.year_div_100()).or(p.year_mod_100()).or(p.isoyear()).is_none() {
        filled.set_year(1970).ok()?;
    }
    if p.ordinal().or(p.isoweek()).or(p.week_from_mon()).or(p.week_from_sun()).is_none() {
        filled.set_month(i64::from(p.month().unwrap_or(1))).ok()?;
        filled.set_day(i64::from(p.day().unwrap_or(1))).ok()?;
    }
    filled.to_naive_date().ok()
}

fn time_of(parsed: &Parsed) -> Option<NaiveTime> {
    let mut filled = parsed.clone();
    if parsed.hour_mod_12().is_none() {
        filled.set_hour(0).ok()?;
    } else if parsed.hour_div_12().is_none() {
        filled.set_ampm(false).ok()?;
    }
    filled.set_minute(i64::from(parsed.minute().unwrap_or(0))).ok()?;
    filled.to_naive_time().ok()
}

fn unreadable(args: Arguments<'_>, string: &str, pattern: &str, what: &str) -> EvalError {
    args.error(format!("{} is not a {what} as '{pattern}' says", quoted(string)))
}
