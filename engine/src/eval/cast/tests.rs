//! Known answers of casts.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Date32Type, TimeUnit};
use millstream_planner::expr::Scalar;
use proptest::prelude::*;

use super::cast;
use crate::eval::calendar::{Civil, MICROS_PER_DAY};
use crate::eval::scalar::{from_array, to_array};

#[track_caller]
fn casts(from: impl Into<Scalar>, to: impl Into<Scalar>) {
    let (from, to) = (from.into(), to.into());
    let array = to_array(&from).unwrap();
    let given = cast(&array, &to.data_type(), false).map_err(|error| error.to_string());
    let given = given.map(|array| from_array(&array, 0).unwrap());
    assert_eq!(given, Ok(to), "{from:?}");
}

/// Asserts that a cast is refused, with the value in the message, and gives NULL where it is lenient.
#[track_caller]
fn refuses(from: impl Into<Scalar>, to: &DataType) {
    let from = from.into();
    let array = to_array(&from).unwrap();
    let error = cast(&array, to, false).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot cast ") && error.ends_with("try_cast gives NULL for it"),
        "{error}"
    );
    assert!(cast(&array, to, true).unwrap().is_null(0), "{from:?}");
}

fn dec(value: i128, precision: u8, scale: i8) -> Scalar {
    Scalar::Decimal128 { value, precision, scale }
}

fn date(year: i64, month: u32, day: u32) -> Scalar {
    Scalar::Date32(Civil { year, month, day }.days() as i32)
}

fn time(micros: i64) -> Scalar {
    Scalar::Timestamp { micros, zone: None }
}

fn time_in(micros: i64, zone: &str) -> Scalar {
    Scalar::Timestamp { micros, zone: Some(zone.into()) }
}

#[test]
fn numbers_of_strings() {
    casts(" 42\n", 42i32);
    casts("+7", 7i64);
    casts("-128", -128i8);
    casts("1e3", 1000.0);
    casts("-Infinity", f64::NEG_INFINITY);
    casts("1.25", dec(125, 5, 2));
    casts("1.255", dec(126, 5, 2));
    casts("-1.255", dec(-126, 5, 2));
    casts("1.2549999999999999999999999999999999999999999999", dec(125, 5, 2));
    casts("125e-2", dec(125, 5, 2));
    casts("0.004", dec(0, 5, 2));
    casts("000000000000000000000000000000000000000000000001", dec(100, 5, 2));
    casts(".5", dec(50, 5, 2));
    casts(
        "12345678901234567890123456789012345678",
        dec(12_345_678_901_234_567_890_123_456_789_012_345_678, 38, 0),
    );
    casts("1e-999999999", dec(0, 5, 2));
    casts("yes", true);
    casts("F", false);
    for text in ["", "1.0", "x", "2147483648", "--1", "1 2"] {
        refuses(text, &DataType::Int32);
    }
    for text in ["", ".", "1.2.3", "1e", "1000", "e5", "1e999999999", "-"] {
        refuses(text, &DataType::Decimal128(5, 2));
    }
    refuses("maybe", &DataType::Boolean);
    refuses("1,5", &DataType::Float64);
}

#[test]
fn numbers_of_numbers() {
    casts(-1.9, -1i32);
    casts(300i32, 300i64);
    casts(2.675, dec(268, 5, 2));
    casts(1e-10, dec(0, 5, 2));
    casts(5i32, dec(500, 5, 2));
    casts(dec(-199, 5, 2), -1i32);
    casts(dec(12345, 10, 3), dec(1235, 10, 2));
    casts(dec(-12345, 10, 3), dec(-1235, 10, 2));
    casts(dec(5, 3, 1), dec(500, 10, 3));
    casts(dec(1, 1, 1), 0.1);
    casts(dec(10i128.pow(37) + 1, 38, 37), 1.0);
    casts(dec(0, 5, 2), false);
    casts(true, dec(100, 5, 2));
    casts(true, 1i32);
    casts(0i32, false);
    refuses(300i32, &DataType::Int8);
    refuses(-1i32, &DataType::UInt64);
    refuses(u64::MAX, &DataType::Int64);
    refuses(f64::NAN, &DataType::Int64);
    refuses(1e19, &DataType::Int64);
    refuses(f64::INFINITY, &DataType::Decimal128(38, 10));
    refuses(1000i32, &DataType::Decimal128(5, 2));
    refuses(dec(99_995, 5, 3), &DataType::Decimal128(4, 2));
    refuses(dec(300, 5, 0), &DataType::Int8);
}

#[test]
fn strings() {
    casts(1.0, "1.0");
    casts(-0.0, "-0.0");
    casts(0.1f32, "0.1");
    casts(1e7, "1.0E7");
    casts(1.234e-5, "1.234E-5");
    casts(9_999_999.0, "9999999.0");
    casts(f64::NAN, "NaN");
    casts(f64::NEG_INFINITY, "-Infinity");
    casts(dec(-5, 5, 2), "-0.05");
    casts(true, "true");
    casts(i64::MIN, "-9223372036854775808");
    casts(date(2024, 2, 29), "2024-02-29");
    casts(date(12_345, 1, 2), "+12345-01-02");
    casts(date(-1, 12, 31), "-0001-12-31");
    casts(time(-1), "1969-12-31 23:59:59.999999");
    casts(time(250_000), "1970-01-01 00:00:00.25");
    casts(time_in(0, "Asia/Kolkata"), "1970-01-01 05:30:00");
    casts(b"abc".as_slice(), "abc");
    refuses(b"\xff".as_slice(), &DataType::Utf8View);
}

#[test]
fn dates_and_times_of_strings() {
    casts("2024-02-29", date(2024, 2, 29));
    casts(" 2024-2-9 ", date(2024, 2, 9));
    casts("2024", date(2024, 1, 1));
    casts("2024-07", date(2024, 7, 1));
    casts("2024-07-01T12:00", date(2024, 7, 1));
    casts("-0001-12-31", date(-1, 12, 31));
    casts("1970-01-01 00:00:01.5", time(1_500_000));
    casts("1970-01-01T1:2", time(3_720_000_000));
    casts("1970-01-01 00:00:00.1234567", time(123_456));
    casts("1970-01-01 05:30:00", time_in(0, "Asia/Kolkata"));
    casts("1970-01-01 00:00:00Z", time_in(0, "Asia/Kolkata"));
    casts("1970-01-01 02:00:00+02:00", time_in(0, "Asia/Kolkata"));
    casts("1970-01-01 01:00:00 Europe/Paris", time_in(0, "UTC"));
    for text in ["2023-02-29", "2024-13-01", "24-01-01", "2024-01-01x", "", "2024-01-"] {
        refuses(text, &DataType::Date32);
    }
    for text in [
        "2024-01-01 24:00:00",
        "2024-01-01 1",
        "2024-01-01 00:00:00 Mars/X",
        "999999-01-01 00:00:00",
    ] {
        refuses(text, &time(0).data_type());
    }
}

#[test]
fn instants() {
    casts(time_in(0, "Asia/Kolkata"), time_in(0, "America/New_York"));
    casts(time(19_800_000_000), time_in(0, "Asia/Kolkata"));
    casts(time_in(0, "Asia/Kolkata"), time(19_800_000_000));
    casts(time(1_500_000), 1.5);
    casts(time(-1), -1i64);
    casts(2i64, time(2_000_000));
    refuses(i64::MAX, &time(0).data_type());
    refuses(date(5_000_000, 1, 1), &time(0).data_type());
    let far =
        to_array(&time(Civil { year: 9999, month: 12, day: 31 }.days() * MICROS_PER_DAY)).unwrap();
    let nanos = DataType::Timestamp(TimeUnit::Nanosecond, None);
    let error = cast(&far, &nanos, false).unwrap_err().to_string();
    assert!(error.contains("9999-12-31"), "{error}");
    let before = Arc::new(arrow::array::TimestampNanosecondArray::from(vec![-1])) as ArrayRef;
    let micros = cast(&before, &time(0).data_type(), false).unwrap();
    assert_eq!(from_array(&micros, 0).unwrap(), time(-1));
}

#[test]
fn dates_come_back_in_every_zone() {
    let days = |year| Civil { year, month: 1, day: 1 }.days() as i32;
    let dates: ArrayRef = Arc::new(Date32Array::from_iter_values(days(1970)..days(2031)));
    let zones = [
        "Pacific/Kwajalein",
        "Pacific/Apia",
        "America/Sao_Paulo",
        "Asia/Beirut",
        "Europe/London",
        "UTC",
    ];
    for zone in zones {
        let there = cast(&dates, &time_in(0, zone).data_type(), false).unwrap();
        let back = cast(&there, &DataType::Date32, false).unwrap();
        let skipped: Vec<i32> = dates
            .as_primitive::<Date32Type>()
            .values()
            .iter()
            .zip(back.as_primitive::<Date32Type>().values())
            .filter(|(day, back)| day != back)
            .map(|(day, back)| {
                // A day that was skipped is the one after it.
                assert_eq!(*back, day + 1, "{zone}");
                *day
            })
            .collect();
        let day = |year, month, day| Civil { year, month, day }.days() as i32;
        let right = match zone {
            "Pacific/Kwajalein" => vec![day(1993, 8, 21)],
            "Pacific/Apia" => vec![day(2011, 12, 30)],
            _ => vec![],
        };
        assert_eq!(skipped, right, "{zone}");
    }
}

#[test]
fn nested_values_part_by_part() {
    let list = Scalar::List(vec!["1".into(), Scalar::Null(DataType::Utf8View)], DataType::Utf8View);
    casts(list, Scalar::List(vec![1i64.into(), Scalar::Null(DataType::Int64)], DataType::Int64));
    let wrong = Scalar::List(vec!["x".into()], DataType::Utf8View);
    let to = DataType::new_list(DataType::Int64, true);
    let error = cast(&to_array(&wrong).unwrap(), &to, false).unwrap_err().to_string();
    assert_eq!(error, "cannot cast \"x\" of type string to bigint: try_cast gives NULL for it");
}

#[test]
fn what_the_planner_allows_can_be_run() {
    use arrow::datatypes::{Field, IntervalUnit};
    use millstream_planner::types::coerce::can_cast;

    let micros =
        |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    let item = |item| DataType::new_list(item, true);
    let fields = |a: DataType| DataType::Struct(vec![Field::new("a", a, true)].into());
    let types = [
        DataType::Null,
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal128(15, 2),
        DataType::Decimal256(50, 4),
        DataType::Utf8View,
        DataType::BinaryView,
        DataType::Date32,
        micros(None),
        micros(Some("Europe/Berlin")),
        DataType::Time64(TimeUnit::Microsecond),
        DataType::Duration(TimeUnit::Microsecond),
        DataType::Interval(IntervalUnit::MonthDayNano),
        item(DataType::Int32),
        item(DataType::Date32),
        item(DataType::Utf8View),
        fields(DataType::Int32),
        fields(DataType::Utf8View),
    ];
    let mut wrong = Vec::new();
    for (from, to) in types.iter().flat_map(|from| types.iter().map(move |to| (from, to))) {
        let column = arrow::array::new_null_array(from, 2);
        if can_cast(from, to)
            && cast(&column, to, false).map_or(true, |cast| cast.data_type() != to)
        {
            wrong.push(format!("{from} to {to}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn only_the_first_value_that_is_not_null_is_refused() {
    let texts: ArrayRef =
        Arc::new(StringViewArray::from(vec![Some("1"), None, Some("x"), Some("y")]));
    let error = cast(&texts, &DataType::Int32, false).unwrap_err().to_string();
    assert_eq!(error, "cannot cast \"x\" of type string to int: try_cast gives NULL for it");
    let lenient = cast(&texts, &DataType::Int32, true).unwrap();
    assert_eq!(lenient.null_count(), 3);
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        double in any::<f64>(),
        micros in -30_000_000_000_000_000i64..200_000_000_000_000_000,
        digits in any::<i64>(),
    ) {
        let micros = TimestampMicrosecondArray::from(vec![micros]).with_timezone("America/Toronto");
        let values: [ArrayRef; 3] = [
            Arc::new(arrow::array::Float64Array::from(vec![double])),
            Arc::new(micros),
            to_array(&dec(digits.into(), 19, 7)).unwrap(),
        ];
        for value in values {
            let text = cast(&value, &DataType::Utf8View, false).unwrap();
            let again = cast(&text, value.data_type(), false).unwrap();
            let same = cast(&again, &DataType::Utf8View, false).unwrap();
            prop_assert_eq!(&text, &same);
        }
    }
}
