//! Dates and timestamps as arguments: the days, local times and instants they are.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray, TimestampMicrosecondArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Date32Type, TimeUnit, TimestampMicrosecondType};

use crate::eval::arguments::Arguments;
use crate::eval::calendar::MICROS_PER_DAY;
use crate::eval::cast::cast;
use crate::eval::error::EvalError;
use crate::eval::value::Value;
use crate::eval::zone::{Cursor, Zone};

/// Days of 32-bit dates and of 64-bit microseconds, with room for any offset.
const MAX_DAYS: i64 = i64::MAX / MICROS_PER_DAY - 2;

/// An argument that is a date or timestamp.
pub(super) struct Times<'a> {
    value: &'a Value,
    values: Values<'a>,
    zone: Option<Arc<Zone>>,
}

#[derive(Clone, Copy)]
enum Values<'a> {
    Days(&'a PrimitiveArray<Date32Type>),
    Micros(&'a PrimitiveArray<TimestampMicrosecondType>),
}

impl<'a> Times<'a> {
    pub(super) fn of(args: Arguments<'a>, position: usize) -> Result<Self, EvalError> {
        let value = args.get(position)?;
        let array = value.array();
        let (values, zone) = match array.data_type() {
            DataType::Date32 => (Values::Days(array.as_primitive()), None),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                (Values::Micros(array.as_primitive()), zone.as_deref().map(Zone::of).transpose()?)
            }
            _ => return Err(args.wrong(position, "a date or a timestamp of microseconds")),
        };
        Ok(Self { value, values, zone })
    }

    pub(super) fn is_date(&self) -> bool {
        matches!(self.values, Values::Days(_))
    }

    /// The zone of timestamps, by name.
    pub(super) fn zone_name(&self) -> Option<Arc<str>> {
        match self.value.data_type() {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        }
    }

    /// As messages show it.
    pub(super) fn describe(&self, row: usize) -> String {
        let one = self.value.array().slice(self.value.index(row), 1);
        let text = cast(&one, &DataType::Utf8View, true).unwrap_or(one);
        text.as_string_view_opt().map_or_else(String::new, |text| text.value(0).to_owned())
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        Reader {
            values: self.values,
            constant: self.value.is_constant(),
            cursor: self.zone.as_ref().map(|zone| zone.cursor()),
        }
    }
}

/// Reads times row by row.
pub(super) struct Reader<'a> {
    values: Values<'a>,
    constant: bool,
    cursor: Option<Cursor<'a>>,
}

impl Reader<'_> {
    fn index(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    /// The day that the clocks show, in days since 1970-01-01.
    #[inline]
    pub(super) fn day(&mut self, row: usize) -> i64 {
        match self.values {
            Values::Days(days) => i64::from(days.value(self.index(row))),
            Values::Micros(_) => self.local(row).div_euclid(MICROS_PER_DAY),
        }
    }

    /// What the clocks show, in microseconds since 1970-01-01.
    #[inline]
    pub(super) fn local(&mut self, row: usize) -> i64 {
        let micros = self.instant(row);
        self.cursor.as_mut().map_or(micros, |cursor| cursor.local_of(micros))
    }

    /// Microseconds since 1970-01-01 UTC; without a zone, as if it were UTC. Dates that no timestamp reaches
    /// are the farthest ones.
    #[inline]
    pub(super) fn instant(&self, row: usize) -> i64 {
        match self.values {
            Values::Days(days) => {
                i64::from(days.value(self.index(row))).saturating_mul(MICROS_PER_DAY)
            }
            Values::Micros(micros) => micros.value(self.index(row)),
        }
    }

    /// The instant at which a day begins; none where no timestamp reaches.
    pub(super) fn start_of_day(&mut self, day: i64) -> Option<i64> {
        let within = day.abs() <= MAX_DAYS;
        within.then(|| match &mut self.cursor {
            Some(cursor) => cursor.start_of_day(day),
            None => day * MICROS_PER_DAY,
        })
    }

    /// The instant at which the clocks showed `local` last before or at the instant `now`.
    pub(super) fn instant_before(&mut self, local: i64, now: i64) -> i64 {
        let Some(cursor) = &mut self.cursor else { return local };
        // Of a time that was shown twice it is the one with the offset of `now`, as in Java.
        let same = now.saturating_sub(cursor.local_of(now).saturating_sub(local));
        if cursor.local_of(same) == local { same } else { cursor.utc_of(local).min(now) }
    }
}

/// A column of timestamps, which get the zone of `result`.
pub(super) fn timestamps(
    micros: Vec<i64>,
    nulls: Option<NullBuffer>,
    zone: Option<Arc<str>>,
) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::new(micros.into(), nulls).with_timezone_opt(zone))
}
