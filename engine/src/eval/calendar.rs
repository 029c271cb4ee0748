//! Days, years and months of the proleptic Gregorian calendar, for every day a date can be.
//!
//! After Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". Plain arithmetic on `i64`: no day of a
//! 32-bit date and no microsecond of a timestamp overflows it.

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// A day by year, month (1 to 12) and day (1 to 31).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

impl Civil {
    /// The day so many days after 1970-01-01.
    pub(crate) fn of_days(days: i64) -> Self {
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: month as u32,
            day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u32,
        }
    }

    /// Days after 1970-01-01. The day must exist; the year must be within ten million.
    pub(crate) fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let from_march = i64::from(if self.month > 2 { self.month - 3 } else { self.month + 9 });
        let day_of_year = (153 * from_march + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// The day, if there is one.
    pub(crate) fn checked(year: i64, month: u32, day: u32) -> Option<Self> {
        let exists = (1..=12).contains(&month)
            && (1..=last_day(year, month)).contains(&day)
            && year.abs() <= 10_000_000;
        exists.then_some(Self { year, month, day })
    }

    /// So many months later; the last day of the month where there is no such day.
    pub(crate) fn plus_months(self, months: i64) -> Self {
        let all = self.year * 12 + i64::from(self.month - 1) + months;
        let (year, month) = (all.div_euclid(12), all.rem_euclid(12) as u32 + 1);
        Self { year, month, day: self.day.min(last_day(year, month)) }
    }
}

/// The number of days of a month.
pub(crate) fn last_day(year: i64, month: u32) -> u32 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Datelike, NaiveDate};

    use super::*;

    #[test]
    fn days_are_those_of_chrono() {
        let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
        for days in (-1_000_000..1_000_000).step_by(7) {
            let theirs = epoch + chrono::TimeDelta::days(days);
            let ours = Civil::of_days(days);
            assert_eq!(
                (ours.year, ours.month, ours.day),
                (i64::from(theirs.year()), theirs.month(), theirs.day())
            );
            assert_eq!(ours.days(), days);
        }
    }

    #[test]
    fn the_ends_of_32_bit_dates_come_back() {
        for days in [i64::from(i32::MIN), i64::from(i32::MAX)] {
            assert_eq!(Civil::of_days(days).days(), days);
        }
    }

    #[test]
    fn months_stop_at_the_last_day() {
        let plus = |year, month, day, months| {
            let civil = Civil::checked(year, month, day).unwrap().plus_months(months);
            (civil.year, civil.month, civil.day)
        };
        assert_eq!(plus(2024, 1, 31, 1), (2024, 2, 29));
        assert_eq!(plus(2023, 1, 31, 1), (2023, 2, 28));
        assert_eq!(plus(2024, 3, 31, -13), (2023, 2, 28));
        assert_eq!(plus(2024, 12, 15, 1), (2025, 1, 15));
        assert!(Civil::checked(2023, 2, 29).is_none());
        assert!(Civil::checked(1900, 2, 29).is_none());
        assert!(Civil::checked(2000, 2, 29).is_some());
    }
}
