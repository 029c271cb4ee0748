//! Known answers, and the calendar and zones against chrono's.

use arrow::datatypes::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeZone, Timelike};
use millstream_planner::expr::{Scalar, ScalarFn as F};
use proptest::prelude::*;

use crate::eval::testing::{check, fails, row, value};

const LOS_ANGELES: &str = "America/Los_Angeles";

fn micros(text: &str) -> i64 {
    let text = text.trim_end_matches('Z');
    let formats = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"];
    let read = |format: &&str| NaiveDateTime::parse_from_str(text, format).ok();
    formats.iter().find_map(read).unwrap().and_utc().timestamp_micros()
}

fn date(text: &str) -> Scalar {
    Scalar::Date32(text.parse::<NaiveDate>().unwrap().to_epoch_days())
}

/// A local time.
fn time(text: &str) -> Scalar {
    Scalar::Timestamp { micros: micros(text), zone: None }
}

/// An instant, given in UTC.
fn instant(text: &str, zone: &str) -> Scalar {
    Scalar::Timestamp { micros: micros(text), zone: Some(zone.into()) }
}

/// What the clocks of a zone show, by chrono, as an instant; the earlier of two.
fn at(zone: &str, text: &str) -> Scalar {
    let zone_of: chrono_tz::Tz = zone.parse().unwrap();
    let local = DateTime::from_timestamp_micros(micros(text)).unwrap().naive_utc();
    let instant = zone_of.from_local_datetime(&local).earliest().unwrap();
    Scalar::Timestamp { micros: instant.timestamp_micros(), zone: Some(zone.into()) }
}

#[test]
fn fields_of_days() {
    let day = date("2024-12-30");
    let fields = [
        (F::Year, 2024),
        (F::Quarter, 4),
        (F::Month, 12),
        (F::Day, 30),
        (F::Week, 1),
        (F::DayOfWeek, 2),
        (F::Weekday, 0),
        (F::DayOfYear, 365),
    ];
    for (field, expected) in fields {
        check(field, std::slice::from_ref(&day), expected);
        check(field, &[time("2024-12-30 23:59:59.999999")], expected);
    }
    check(F::Week, &[date("2021-01-03")], 53);
    check(F::DayOfWeek, &[date("2009-07-30")], 5);
    check(F::Year, &[time("1969-12-31 23:59:59")], 1969);
    check(F::Year, &[Scalar::Date32(i32::MIN)], -5_877_641);
    check(F::Year, &[Scalar::Date32(i32::MAX)], 5_881_580);
    let farthest = Scalar::Timestamp { micros: i64::MIN, zone: Some(LOS_ANGELES.into()) };
    check(F::Year, &[farthest], -290_308);
    check(F::Month, &[Scalar::Null(DataType::Date32)], Scalar::Null(DataType::Int32));
}

#[test]
fn fields_of_times_are_those_of_the_zone() {
    let moment = instant("2024-03-10T10:05:59.999999Z", "Asia/Kathmandu");
    check(F::Hour, std::slice::from_ref(&moment), 15);
    check(F::Minute, std::slice::from_ref(&moment), 50);
    check(F::Second, &[moment], 59);
    check(F::Hour, &[time("1969-12-31 23:59:59")], 23);
    check(F::Day, &[instant("2024-01-01T04:00:00Z", LOS_ANGELES)], 31);
    check(F::Hour, &[date("2024-01-01")], 0);
}

#[test]
fn truncation() {
    let moment = "2015-03-05 09:32:05.123456";
    let units = [
        ("YEAR", "2015-01-01 00:00:00"),
        ("quarter", "2015-01-01 00:00:00"),
        ("MM", "2015-03-01 00:00:00"),
        ("week", "2015-03-02 00:00:00"),
        ("DD", "2015-03-05 00:00:00"),
        ("HOUR", "2015-03-05 09:00:00"),
        ("minute", "2015-03-05 09:32:00"),
        ("second", "2015-03-05 09:32:05"),
        ("millisecond", "2015-03-05 09:32:05.123"),
        ("microsecond", moment),
    ];
    for (unit, expected) in units {
        check(F::DateTrunc, &[unit.into(), time(moment)], time(expected));
        for zone in [LOS_ANGELES, "Asia/Kathmandu", "+05:45", "UTC"] {
            let (given, expected) = match zone {
                "+05:45" => (
                    Scalar::Timestamp {
                        micros: micros(moment) - 20_700_000_000,
                        zone: Some(zone.into()),
                    },
                    Scalar::Timestamp {
                        micros: micros(expected) - 20_700_000_000,
                        zone: Some(zone.into()),
                    },
                ),
                _ => (at(zone, moment), at(zone, expected)),
            };
            check(F::DateTrunc, &[unit.into(), given], expected);
        }
    }
    check(F::DateTrunc, &["month".into(), date("2024-02-29")], date("2024-02-01"));
    check(F::DateTrunc, &["hour".into(), date("2024-02-29")], date("2024-02-29"));
    let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
    fails(F::DateTrunc, &["fortnight".into(), time(moment)], &timestamp, "'fortnight' is no unit");
    let first = Scalar::Timestamp { micros: i64::MIN, zone: None };
    fails(F::DateTrunc, &["year".into(), first.clone()], &timestamp, "last date or time");
    fails(F::DateTrunc, &["hour".into(), first], &timestamp, "last date or time");
}

#[test]
fn truncation_where_the_offset_is_not_of_whole_minutes() {
    let given = at(LOS_ANGELES, "1769-10-17 17:10:02");
    check(F::DateTrunc, &["minute".into(), given.clone()], at(LOS_ANGELES, "1769-10-17 17:10:00"));
    check(F::DateTrunc, &["hour".into(), given.clone()], at(LOS_ANGELES, "1769-10-17 17:00:00"));
    check(F::DateTrunc, &["day".into(), given], at(LOS_ANGELES, "1769-10-17 00:00:00"));
}

#[test]
fn truncation_where_clocks_are_changed() {
    // 01:30 twice: each is in its own hour.
    for hour in ["08", "09"] {
        let (given, expected) =
            (format!("2024-11-03T{hour}:30:00Z"), format!("2024-11-03T{hour}:00:00Z"));
        let expected = instant(&expected, LOS_ANGELES);
        check(F::DateTrunc, &["hour".into(), instant(&given, LOS_ANGELES)], expected);
    }
    // No 00:00 on this day: it began at 01:00.
    let given = instant("2018-11-04T15:00:00Z", "America/Sao_Paulo");
    let expected = instant("2018-11-04T03:00:00Z", "America/Sao_Paulo");
    check(F::DateTrunc, &["day".into(), given], expected);
    // 00:00 twice on this one: it began at the first.
    let given = instant("2024-11-03T12:00:00Z", "America/Havana");
    let expected = instant("2024-11-03T04:00:00Z", "America/Havana");
    check(F::DateTrunc, &["day".into(), given], expected);
    // Half an hour was skipped at 02:00.
    let given = instant("2024-10-05T15:45:00Z", "Australia/Lord_Howe");
    let expected = instant("2024-10-05T15:30:00Z", "Australia/Lord_Howe");
    check(F::DateTrunc, &["hour".into(), given], expected);
}

#[test]
fn days_and_months_are_added() {
    check(F::DateAdd, &[date("2016-07-30"), 1.into()], date("2016-07-31"));
    check(F::DateAdd, &[date("2016-12-31"), 1i8.into()], date("2017-01-01"));
    check(F::DateSub, &[date("2016-03-01"), 1.into()], date("2016-02-29"));
    check(F::DateDiff, &[date("2009-07-31"), date("2009-07-30")], 1);
    check(F::DateDiff, &[date("2009-07-30"), date("2009-07-31")], -1);
    check(F::AddMonths, &[date("2016-08-31"), 1.into()], date("2016-09-30"));
    check(F::AddMonths, &[date("2016-02-29"), 12.into()], date("2017-02-28"));
    check(F::AddMonths, &[date("2016-02-29"), (-1).into()], date("2016-01-29"));
    check(F::LastDay, &[date("2009-01-12")], date("2009-01-31"));
    check(F::LastDay, &[date("2100-02-01")], date("2100-02-28"));
    check(F::MakeDate, row![2013, 7, 15], date("2013-07-15"));
    check(F::MakeDate, row![Scalar::Null(DataType::Int32), 7, 15], Scalar::Null(DataType::Date32));
}

#[test]
fn far_away_days() {
    let day = date("2020-01-01");
    let thousands = value(F::AddMonths, &[day.clone(), (999_999 * 12).into()], &DataType::Date32);
    check(F::Year, &[thousands.unwrap()], 1_002_019);
    let to = &DataType::Date32;
    fails(F::AddMonths, &[day.clone(), i32::MAX.into()], to, "2147483647 months from 2020-01-01");
    fails(F::AddMonths, &[day.clone(), i64::MIN.into()], to, "months from 2020-01-01");
    fails(F::DateAdd, &[day.clone(), i32::MAX.into()], to, "is beyond the dates");
    fails(F::DateSub, &[day, i64::MIN.into()], to, "is beyond the dates");
    let (first, last) = (Scalar::Date32(i32::MIN), Scalar::Date32(i32::MAX));
    fails(F::DateDiff, &[last.clone(), first.clone()], &DataType::Int32, "does not fit");
    fails(F::LastDay, &[last], to, "is beyond the dates");
    fails(F::DateTrunc, &["year".into(), first], to, "is the last date");
    fails(F::MakeDate, row![2023, 2, 29], to, "no day 29 of month 2 of year 2023");
    fails(F::MakeDate, row![i64::MIN, 2, -1], to, "no day -1");
    fails(F::MakeDate, row![9_999_999, 1, 1], to, "no day 1");
}

#[test]
fn months_between_dates() {
    check(F::MonthsBetween, &[time("1997-02-28 10:30:00"), date("1996-10-30")], 3.94959677);
    check(F::MonthsBetween, &[date("2024-02-29"), date("2024-01-31")], 1.0);
    check(F::MonthsBetween, &[date("2024-03-15"), time("2024-01-15 23:00:00")], 2.0);
    check(F::MonthsBetween, &[date("2024-01-01"), date("2024-01-31")], -0.96774194);
    check(F::MonthsBetween, &[Scalar::Date32(i32::MAX), Scalar::Date32(i32::MAX)], 0.0);
}

#[test]
fn strings_of_times() {
    check(F::DateFormat, &[date("2016-04-08"), "%Y".into()], "2016");
    check(
        F::DateFormat,
        &[time("2016-04-08 09:05:03.5"), "%d/%m/%y %I%p %.3f é".into()],
        "08/04/16 09AM .500 é",
    );
    let moment = instant("2024-07-01T12:00:00Z", LOS_ANGELES);
    check(F::DateFormat, &[moment, "%H:%M %z %Z".into()], "05:00 -0700 PDT");
    check(
        F::DateFormat,
        &[instant("2024-07-01T12:00:00Z", "+05:30"), "%H:%M %:z".into()],
        "17:30 +05:30",
    );
    let (to, day) = (&DataType::Utf8View, date("2016-04-08"));
    fails(F::DateFormat, &[day.clone(), "%Q".into()], to, "'%Q' is no pattern of strftime");
    fails(F::DateFormat, &[day.clone(), "%".into()], to, "no pattern");
    fails(F::DateFormat, &[day, "%z".into()], to, "does not have, such as an offset");
    fails(F::DateFormat, &[Scalar::Date32(i32::MAX), "%Y".into()], to, "cannot be written");
    let far = Scalar::Timestamp { micros: i64::MAX, zone: Some(LOS_ANGELES.into()) };
    let message = "+294247-01-09 20:00:54.775807 cannot be written";
    fails(F::DateFormat, &[far, "%Y".into()], to, message);
}

#[test]
fn times_of_strings() {
    check(F::ToDate, row!["2016-12-31", "%Y-%m-%d"], date("2016-12-31"));
    check(F::ToDate, row!["31.12.16 10:00", "%d.%m.%y %H:%M"], date("2016-12-31"));
    check(F::ToDate, row!["2016-12", "%Y-%m"], date("2016-12-01"));
    check(F::ToDate, row!["2016", "%Y"], date("2016-01-01"));
    check(F::ToDate, row!["05-06", "%m-%d"], date("1970-05-06"));
    check(F::ToDate, row!["2024-060", "%Y-%j"], date("2024-02-29"));
    check(F::ToDate, row!["2016-12-31"], date("2016-12-31"));
    check(F::ToTimestamp, row!["2016-12-31", "%Y-%m-%d"], time("2016-12-31 00:00:00"));
    check(
        F::ToTimestamp,
        row!["2016-12-31 01:02:03.25", "%Y-%m-%d %H:%M:%S%.f"],
        time("2016-12-31 01:02:03.25"),
    );
    check(F::ToTimestamp, row!["12/31/2016 11PM", "%m/%d/%Y %I%p"], time("2016-12-31 23:00:00"));
    check(
        F::ToTimestamp,
        row!["2016-12-31 01:00 +0200", "%Y-%m-%d %H:%M %z"],
        time("2016-12-30 23:00:00"),
    );
    check(F::ToTimestamp, row!["1500000000", "%s"], time("2017-07-14 02:40:00"));
    check(
        F::ToTimestamp,
        row!["2024-07-01 12", "%Y-%m-%d %H"],
        at(LOS_ANGELES, "2024-07-01 12:00:00"),
    );
    // 02:30 was skipped: it is half an hour after 03:00.
    check(
        F::ToTimestamp,
        row!["2024-03-10 02:30", "%Y-%m-%d %H:%M"],
        at(LOS_ANGELES, "2024-03-10 03:30:00"),
    );
    // 01:30 was there twice: it is the first.
    let first = instant("2024-11-03T08:30:00Z", LOS_ANGELES);
    check(F::ToTimestamp, row!["2024-11-03 01:30", "%Y-%m-%d %H:%M"], first);
}

#[test]
fn strings_that_are_no_times() {
    let to = &DataType::Date32;
    for string in ["2023-02-29", "2023-2", "", "2023-02-28x", "🦆"] {
        fails(F::ToDate, row![string, "%Y-%m-%d"], to, "is not a date as '%Y-%m-%d' says");
    }
    fails(F::ToDate, row!["x", "%Q"], to, "no pattern of strftime");
    let to = &DataType::Timestamp(TimeUnit::Microsecond, None);
    fails(F::ToTimestamp, row!["25", "%H"], to, "\"25\" is not a timestamp as '%H' says");
    fails(F::ToTimestamp, row!["9223372036854775807", "%s"], to, "is not a timestamp");
}

#[test]
fn numbers_of_instants() {
    check(F::UnixMicros, &[instant("1969-12-31T23:59:59.999999Z", LOS_ANGELES)], -1i64);
    check(F::UnixSeconds, &[instant("1969-12-31T23:59:59.999999Z", LOS_ANGELES)], -1i64);
    check(F::TimestampSeconds, row![1_230_219_000i64], instant("2008-12-25T15:30:00Z", "UTC"));
    check(F::TimestampSeconds, row![-0.5], instant("1969-12-31T23:59:59.5Z", "UTC"));
    let to = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    check(F::TimestampSeconds, row![f64::NAN], Scalar::Null(to.clone()));
    check(F::TimestampSeconds, row![f64::INFINITY], Scalar::Null(to.clone()));
    fails(
        F::TimestampSeconds,
        row![i64::MAX],
        &to,
        "timestamp_seconds(9223372036854775807) does not fit",
    );
    fails(F::TimestampSeconds, row![1e13], &to, "does not fit");
}

#[test]
fn other_zones() {
    let (text, tokyo) = ("2024-07-01T12:00:00Z", "Asia/Tokyo");
    check(F::ToZone, &[instant(text, LOS_ANGELES), tokyo.into()], instant(text, tokyo));
    check(F::ToZone, &[time("2024-07-01 12:00:00"), tokyo.into()], instant(text, tokyo));
    let to = DataType::Timestamp(TimeUnit::Microsecond, Some("Mars/Olympus".into()));
    fails(F::ToZone, &[instant(text, tokyo), "Mars/Olympus".into()], &to, "Mars/Olympus");
}

fn integer(function: F, args: &[Scalar]) -> i64 {
    match value(function, args, &DataType::Int32) {
        Ok(Scalar::Int32(number)) => i64::from(number),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn fields_are_those_of_chrono(
        micros in -10_000_000_000_000_000i64..10_000_000_000_000_000,
        zone in prop::sample::select(vec![LOS_ANGELES, "Pacific/Apia", "Africa/Monrovia", "Australia/Lord_Howe", "UTC"]),
    ) {
        let tz: chrono_tz::Tz = zone.parse().unwrap();
        let theirs = DateTime::from_timestamp_micros(micros).unwrap().with_timezone(&tz);
        let moment = [Scalar::Timestamp { micros, zone: Some(zone.into()) }];
        prop_assert_eq!(integer(F::Year, &moment), i64::from(theirs.year()));
        prop_assert_eq!(integer(F::Month, &moment), i64::from(theirs.month()));
        prop_assert_eq!(integer(F::Day, &moment), i64::from(theirs.day()));
        prop_assert_eq!(integer(F::Hour, &moment), i64::from(theirs.hour()));
        prop_assert_eq!(integer(F::Minute, &moment), i64::from(theirs.minute()));
        prop_assert_eq!(integer(F::Second, &moment), i64::from(theirs.second()));
        prop_assert_eq!(integer(F::DayOfYear, &moment), i64::from(theirs.ordinal()));
        prop_assert_eq!(integer(F::Week, &moment), i64::from(theirs.iso_week().week()));
        prop_assert_eq!(integer(F::Weekday, &moment), i64::from(theirs.weekday().num_days_from_monday()));
    }

    #[test]
    fn a_unit_begins_before_and_what_is_formatted_is_read(
        micros in -7_000_000_000_000_000i64..4_000_000_000_000_000,
        unit in prop::sample::select(vec!["year", "month", "week", "day", "hour", "minute", "second"]),
        zone in prop::sample::select(vec![LOS_ANGELES, "Pacific/Apia", "Africa/Monrovia", "America/Havana", "+05:45"]),
    ) {
        let moment = Scalar::Timestamp { micros, zone: Some(zone.into()) };
        let start = value(F::DateTrunc, &[unit.into(), moment.clone()], &moment.data_type()).unwrap();
        let Scalar::Timestamp { micros: begins, .. } = start else { panic!("{start:?}") };
        prop_assert!(begins <= micros);
        let again = value(F::DateTrunc, &[unit.into(), start.clone()], &moment.data_type()).unwrap();
        prop_assert_eq!(again, start);

        // Offsets were of odd seconds until 1972, which %z does not write.
        if micros > 100_000_000_000_000 {
            let pattern = Scalar::from("%Y-%m-%d %H:%M:%S%.6f %z");
            let text = value(F::DateFormat, &[moment.clone(), pattern.clone()], &DataType::Utf8View).unwrap();
            check(F::ToTimestamp, &[text, pattern], moment);
        }
    }

    #[test]
    fn no_pattern_panics(pattern in "[%a-zA-Z0-9:.# é-]{0,8}", string in "[0-9: a-z+-]{0,10}", micros: i64) {
        for zone in [None, Some(LOS_ANGELES.into())] {
            let moment = Scalar::Timestamp { micros, zone };
            let to = moment.data_type();
            let _ = value(F::DateFormat, &[moment, (&*pattern).into()], &DataType::Utf8View);
            let _ = value(F::ToTimestamp, row![&*string, &*pattern], &to);
            let _ = value(F::ToDate, row![&*string, &*pattern], &DataType::Date32);
        }
    }

    #[test]
    fn no_time_panics(micros: i64, days: i32, number: i64, unit in prop::sample::select(vec!["year", "week", "day", "hour"])) {
        for zone in [None, Some("Asia/Tokyo".into())] {
            let moment = Scalar::Timestamp { micros, zone };
            let to = moment.data_type();
            let _ = value(F::DateTrunc, &[unit.into(), moment.clone()], &to);
            let _ = value(F::MonthsBetween, &[moment.clone(), Scalar::Date32(days)], &DataType::Float64);
            let _ = value(F::DateAdd, &[moment, number.into()], &DataType::Date32);
        }
        let _ = value(F::AddMonths, &[Scalar::Date32(days), number.into()], &DataType::Date32);
        let _ = value(F::MakeDate, row![number, days, days], &DataType::Date32);
    }
}
