//! Time zones: what the clocks show at an instant, and when they show a time.
//!
//! A zone is a table of its offsets, made once a process from the tz database (`chrono-tz`, up to the year 2100;
//! the last offset holds after it).

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::array::timezone::Tz;
use chrono::{DateTime, Offset, TimeZone};
use parking_lot::RwLock;

use super::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::error::EvalError;

/// The years of the tz database, in UTC seconds: 1800 to 2100.
const TABLE: std::ops::Range<i64> = -5_364_662_400..4_102_444_800;
/// No zone changes its offset twice in so many seconds.
const PROBE_SECONDS: i64 = 12 * 3600;
/// No offset is larger.
const MAX_OFFSET_SECONDS: i64 = 26 * 3600;

/// The offsets of a zone.
#[derive(Debug)]
pub(crate) struct Zone {
    /// The UTC second at which each offset begins to hold; `i64::MIN` first.
    starts: Vec<i64>,
    /// Seconds east of UTC.
    offsets: Vec<i64>,
}

impl Zone {
    /// The zone of a name of the tz database or an offset such as `+05:30`.
    pub(crate) fn of(name: &str) -> Result<Arc<Self>, EvalError> {
        static ZONES: LazyLock<RwLock<HashMap<String, Arc<Zone>>>> = LazyLock::new(RwLock::default);
        if let Some(zone) = ZONES.read().get(name) {
            return Ok(Arc::clone(zone));
        }
        let zone = Arc::new(Self::read(name)?);
        ZONES.write().insert(name.to_owned(), Arc::clone(&zone));
        Ok(zone)
    }

    fn read(name: &str) -> Result<Self, EvalError> {
        let unknown = || {
            let why = format!(
                "{name:?} is not a zone of the tz database, such as Europe/Paris, or an offset such as +05:30"
            );
            EvalError::argument("time zone", why)
        };
        let tz: Tz = if name == "Z" { "UTC" } else { name }.parse().map_err(|_| unknown())?;
        let offset = |utc: i64| {
            let utc = DateTime::from_timestamp(utc, 0).unwrap_or_default().naive_utc();
            i64::from(tz.offset_from_utc_datetime(&utc).fix().local_minus_utc())
        };
        let (mut starts, mut offsets) = (vec![i64::MIN], vec![offset(TABLE.start)]);
        let (mut from, mut last) = (TABLE.start, offset(TABLE.start));
        while from < TABLE.end {
            let to = from + PROBE_SECONDS;
            let next = offset(to);
            if next != last {
                let (mut before, mut after) = (from, to);
                while after - before > 1 {
                    let middle = before + (after - before) / 2;
                    *if offset(middle) == last { &mut before } else { &mut after } = middle;
                }
                starts.push(after);
                offsets.push(next);
                last = next;
            }
            from = to;
        }
        Ok(Self { starts, offsets })
    }

    /// For many times that are close to each other.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { zone: self, span: 0 }
    }

    /// Which offset holds at a UTC second.
    fn span_at(&self, utc: i64) -> usize {
        self.starts.partition_point(|start| *start <= utc).saturating_sub(1)
    }

    fn end(&self, span: usize) -> i64 {
        self.starts.get(span + 1).copied().unwrap_or(i64::MAX)
    }
}

/// Converts times of a zone, fastest where they come in about their order.
pub(crate) struct Cursor<'a> {
    zone: &'a Zone,
    span: usize,
}

impl Cursor<'_> {
    /// Seconds east of UTC at an instant.
    pub(crate) fn offset(&mut self, micros: i64) -> i64 {
        let second = micros.div_euclid(MICROS_PER_SECOND);
        if second < self.zone.starts[self.span] || second >= self.zone.end(self.span) {
            self.span = self.zone.span_at(second);
        }
        self.zone.offsets[self.span]
    }

    /// What the clocks show at an instant, both in microseconds since 1970-01-01.
    pub(crate) fn local_of(&mut self, micros: i64) -> i64 {
        micros.saturating_add(self.offset(micros) * MICROS_PER_SECOND)
    }

    /// When the clocks show a time. Of two instants it is the earlier; a time that was skipped is as far after the
    /// instant of the change as it is after the time at which clocks were changed, as in Java.
    pub(crate) fn utc_of(&mut self, local: i64) -> i64 {
        let (offset, _) = self.local_offset(local);
        local.saturating_sub(offset * MICROS_PER_SECOND)
    }

    /// The first instant of a day. That of a day which was skipped is the first of the day after it.
    pub(crate) fn start_of_day(&mut self, days: i64) -> i64 {
        let local = days * MICROS_PER_DAY;
        match self.local_offset(local) {
            (_, Some(change)) => change * MICROS_PER_SECOND,
            (offset, None) => local - offset * MICROS_PER_SECOND,
        }
    }

    /// The offset to read a local time with and, if it was skipped, the UTC second of that change.
    fn local_offset(&mut self, local: i64) -> (i64, Option<i64>) {
        let (zone, second) = (self.zone, local.div_euclid(MICROS_PER_SECOND));
        let mut span = zone.span_at(second.saturating_sub(MAX_OFFSET_SECONDS));
        while second.saturating_sub(zone.offsets[span]) >= zone.end(span) {
            span += 1;
        }
        let skipped = span > 0 && second - zone.offsets[span] < zone.starts[span];
        if skipped {
            return (zone.offsets[span - 1], Some(zone.starts[span]));
        }
        (zone.offsets[span], None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::calendar::Civil;

    fn micros(year: i64, month: u32, day: u32, hour: i64, minute: i64, second: i64) -> i64 {
        let days = Civil { year, month, day }.days();
        ((days * 24 + hour) * 60 + minute) * 60 * MICROS_PER_SECOND + second * MICROS_PER_SECOND
    }

    #[test]
    fn offsets_are_those_of_the_database() {
        let names = ["Europe/Paris", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia"];
        for name in names {
            let (zone, tz) = (Zone::of(name).unwrap(), name.parse::<Tz>().unwrap());
            let mut cursor = zone.cursor();
            for hour in (-1_000_000..1_100_000).step_by(101) {
                let at = DateTime::from_timestamp(hour * 3600, 0).unwrap().naive_utc();
                let theirs = tz.offset_from_utc_datetime(&at).fix().local_minus_utc();
                assert_eq!(cursor.offset(hour * 3600 * MICROS_PER_SECOND), i64::from(theirs));
            }
        }
    }

    #[test]
    fn fixed_offsets_and_wrong_names() {
        assert_eq!(Zone::of("+05:30").unwrap().cursor().offset(0), 19_800);
        assert_eq!(Zone::of("UTC").unwrap().cursor().offset(0), 0);
        assert!(Zone::of("Mars/Olympus").unwrap_err().to_string().contains("Mars/Olympus"));
    }

    #[test]
    fn skipped_and_repeated_times() {
        let zone = Zone::of("America/New_York").unwrap();
        let mut cursor = zone.cursor();
        // 02:30 on 2024-03-10 is 03:30 summer time; 01:30 on 2024-11-03 is summer time first.
        assert_eq!(cursor.utc_of(micros(2024, 3, 10, 2, 30, 0)), micros(2024, 3, 10, 7, 30, 0));
        assert_eq!(cursor.utc_of(micros(2024, 11, 3, 1, 30, 0)), micros(2024, 11, 3, 5, 30, 0));
        assert_eq!(cursor.local_of(micros(2024, 11, 3, 6, 30, 0)), micros(2024, 11, 3, 1, 30, 0));
    }

    #[test]
    fn a_skipped_day_begins_with_the_next_one() {
        let zone = Zone::of("Pacific/Apia").unwrap();
        let day = |day| Civil { year: 2011, month: 12, day }.days();
        let (skipped, next) =
            (zone.cursor().start_of_day(day(30)), zone.cursor().start_of_day(day(31)));
        assert_eq!(skipped, next);
        assert_eq!(zone.cursor().local_of(skipped), day(31) * MICROS_PER_DAY);
    }
}
