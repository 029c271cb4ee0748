use arrow::datatypes::{DataType, TimeUnit};
use millstream::functions::{Expr, col, date_format, date_trunc, interval_years, lit, to_zone};

use super::super::context;
use super::error_of;

fn zoned(zone: &str) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into()))
}

fn text(expr: Expr) -> Result<String, millstream::Error> {
    let rows =
        context().frame_range(0, 1, 1).select([expr.alias("x")]).collect_rows::<(String,)>()?;
    Ok(rows.into_iter().map(|(x,)| x).collect())
}

#[test]
fn c053_minutes_are_cut_where_the_zone_is_not_of_whole_minutes() {
    // Local mean time of Los Angeles was 7:52:58 behind.
    let utc = lit("1769-10-18 01:03:00Z").cast(zoned("UTC"));
    let minute = date_trunc("minute", to_zone(utc, "America/Los_Angeles"));
    assert_eq!(text(date_format(minute, "%Y-%m-%d %H:%M:%S")).unwrap(), "1769-10-17 17:10:00");
}

#[test]
fn c055_a_date_comes_back_from_a_timestamp_in_every_zone() {
    let context = context();
    let zones = [
        "UTC",
        "America/Los_Angeles",
        "Asia/Kolkata",
        "Pacific/Kwajalein",
        "Pacific/Apia",
        "America/Sao_Paulo",
    ];
    for zone in zones {
        let days = context
            .frame_range(0, 22_280, 2)
            .select([(lit("1970-01-01").cast(DataType::Date32) + col("id").cast(DataType::Int32))
                .alias("day")]);
        let back = days.with_column("back", col("day").cast(zoned(zone)).cast(DataType::Date32));
        let shifted = back.filter(col("day").not_eq(col("back")));
        // A day that a zone has skipped maps to the next one.
        let skipped = match zone {
            "Pacific/Kwajalein" | "Pacific/Apia" => 1,
            _ => 0,
        };
        assert_eq!(shifted.count().unwrap(), skipped, "{zone}");
    }
}

#[test]
fn c057_dates_far_away_are_errors_or_values() {
    let far = lit("2020-01-01").cast(DataType::Date32) + interval_years(999_999);
    let result = text(far.cast(DataType::Utf8View));
    if let Err(error) = result {
        assert!(
            error.to_string().contains("overflow") || error.to_string().contains("range"),
            "{error}"
        );
    }
    let nanos = DataType::Timestamp(TimeUnit::Nanosecond, None);
    let far = lit("9999-12-31").cast(DataType::Date32).cast(nanos).cast(DataType::Utf8View);
    if let Ok(text) = text(far) {
        assert!(text.starts_with("9999-12-31"), "{text}");
    }
    error_of(text(lit("no date").cast(DataType::Date32).cast(DataType::Utf8View)));
}
