//! Days and months added and subtracted.

use arrow::array::{Date32Array, Float64Array, Int32Array};
use arrow::datatypes::{DataType, Date32Type, Float64Type, Int32Type};

use super::times::{Reader, Times};
use crate::eval::arguments::Arguments;
use crate::eval::calendar::{Civil, MICROS_PER_SECOND, last_day as last_day_of};
use crate::eval::error::EvalError;

/// So many days later, or earlier if `sign` is -1.
pub(super) fn add_days(args: Arguments<'_>, sign: i64) -> Result<Date32Array, EvalError> {
    let (times, days) = (Times::of(args, 0)?, args.integers(1)?);
    let mut reader = times.reader();
    args.primitives::<Date32Type>(|row| {
        let later =
            days.get(row).checked_mul(sign).and_then(|days| reader.day(row).checked_add(days));
        later
            .and_then(date)
            .ok_or_else(|| beyond(args, &times.describe(row), days.get(row), "days"))
    })
}

/// Days from the second to the first.
pub(super) fn date_diff(args: Arguments<'_>) -> Result<Int32Array, EvalError> {
    let (ends, starts) = (Times::of(args, 0)?, Times::of(args, 1)?);
    let (mut end, mut start) = (ends.reader(), starts.reader());
    args.primitives::<Int32Type>(|row| {
        let days = end.day(row) - start.day(row);
        i32::try_from(days).map_err(|_| EvalError::Overflow {
            operation: format!("date_diff({}, {})", ends.describe(row), starts.describe(row)),
            data_type: DataType::Int32,
            instead: None,
        })
    })
}

/// So many months later; the last day of the month where there is no such day.
pub(super) fn add_months(args: Arguments<'_>) -> Result<Date32Array, EvalError> {
    let (times, months) = (Times::of(args, 0)?, args.integers(1)?);
    let mut reader = times.reader();
    args.primitives::<Date32Type>(|row| {
        let later = |months: i32| Civil::of_days(reader.day(row)).plus_months(i64::from(months));
        let later = i32::try_from(months.get(row)).ok().map(later);
        later
            .and_then(|later| date(later.days()))
            .ok_or_else(|| beyond(args, &times.describe(row), months.get(row), "months"))
    })
}

/// Months from the second to the first: whole ones if both are the same day of the month or the last day of
/// it, else with a fraction of which 31 days make a month. To 8 digits
/// after the point.
pub(super) fn months_between(args: Arguments<'_>) -> Result<Float64Array, EvalError> {
    let (ends, starts) = (Times::of(args, 0)?, Times::of(args, 1)?);
    let (mut end, mut start) = (ends.reader(), starts.reader());
    args.primitives::<Float64Type>(|row| {
        let (end, start) = (Moment::read(&mut end, row), Moment::read(&mut start, row));
        let months = end.months_since(start);
        Ok((months * 1e8 + 0.5).floor() / 1e8)
    })
}

/// A day of the calendar and the seconds since it began.
#[derive(Clone, Copy)]
struct Moment {
    civil: Civil,
    seconds: i64,
}

impl Moment {
    fn read(reader: &mut Reader<'_>, row: usize) -> Self {
        let (day, instant) = (reader.day(row), reader.instant(row));
        let since = instant.saturating_sub(reader.start_of_day(day).unwrap_or(instant));
        Self { civil: Civil::of_days(day), seconds: since / MICROS_PER_SECOND }
    }

    fn is_last_day(self) -> bool {
        self.civil.day == last_day_of(self.civil.year, self.civil.month)
    }

    fn months_since(self, start: Self) -> f64 {
        const MONTH_SECONDS: f64 = 31.0 * 86_400.0;
        let months = |moment: Self| moment.civil.year * 12 + i64::from(moment.civil.month);
        let whole = (months(self) - months(start)) as f64;
        if self.civil.day == start.civil.day || (self.is_last_day() && start.is_last_day()) {
            return whole;
        }
        let days = i64::from(self.civil.day) - i64::from(start.civil.day);
        let seconds = days * 86_400 + self.seconds - start.seconds;
        whole + seconds as f64 / MONTH_SECONDS
    }
}

/// The last day of the month.
pub(super) fn last_day(args: Arguments<'_>) -> Result<Date32Array, EvalError> {
    let times = Times::of(args, 0)?;
    let mut reader = times.reader();
    args.primitives::<Date32Type>(|row| {
        let civil = Civil::of_days(reader.day(row));
        let last = Civil { day: last_day_of(civil.year, civil.month), ..civil };
        date(last.days()).ok_or_else(|| beyond(args, &times.describe(row), 1, "month"))
    })
}

/// A date of year, month and day.
pub(super) fn make_date(args: Arguments<'_>) -> Result<Date32Array, EvalError> {
    let (years, months, days) = (args.integers(0)?, args.integers(1)?, args.integers(2)?);
    args.primitives::<Date32Type>(|row| {
        let (year, month, day) = (years.get(row), months.get(row), days.get(row));
        // `checked` takes the absolute value of the year.
        let year_number = year.clamp(-i64::MAX, i64::MAX);
        let parts = u32::try_from(month).ok().zip(u32::try_from(day).ok());
        parts
            .and_then(|(month, day)| Civil::checked(year_number, month, day))
            .and_then(|civil| date(civil.days()))
            .ok_or_else(|| {
                args.error(format!("there is no day {day} of month {month} of year {year}"))
            })
    })
}

fn date(days: i64) -> Option<i32> {
    i32::try_from(days).ok()
}

fn beyond(args: Arguments<'_>, from: &str, count: i64, unit: &str) -> EvalError {
    args.error(format!(
        "{count} {unit} from {from} is beyond the dates that there are, of the years -5877641 to 5881580"
    ))
}
