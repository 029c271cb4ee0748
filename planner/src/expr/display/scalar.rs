//! Values as text.

use std::fmt;

use super::{TERMS, write_to};
use crate::expr::Scalar;
use crate::types::civil_from_days;

/// Characters that are shown of longer strings.
const CHARACTERS: usize = 100;
/// Bytes that are shown of longer binary.
const BYTES: usize = 32;

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        scalar(self, &mut text);
        f.write_str(&text)
    }
}

pub(super) fn scalar(value: &Scalar, out: &mut String) {
    match value {
        Scalar::Null(_) => out.push_str("NULL"),
        Scalar::Boolean(value) => write_to(out, format_args!("{value}")),
        Scalar::Float32(value) => write_to(out, format_args!("{value:?}")),
        Scalar::Float64(value) => write_to(out, format_args!("{value:?}")),
        Scalar::Decimal128 { value, scale, .. } => decimal(*value, *scale, out),
        Scalar::Utf8(text) => string(text, out),
        Scalar::Binary(bytes) => {
            out.push_str("X'");
            for byte in bytes.iter().take(BYTES) {
                write_to(out, format_args!("{byte:02X}"));
            }
            out.push_str(if bytes.len() > BYTES { "...'" } else { "'" });
        }
        Scalar::Date32(days) => {
            let (year, month, day) = civil_from_days(*days);
            write_to(out, format_args!("DATE '{year:04}-{month:02}-{day:02}'"));
        }
        Scalar::Timestamp { micros, zone } => timestamp(*micros, zone.as_deref(), out),
        Scalar::Interval { months, days, nanos } => interval(*months, *days, *nanos, out),
        Scalar::List(values, _) => {
            out.push('[');
            for (position, value) in values.iter().take(TERMS).enumerate() {
                out.push_str(if position > 0 { ", " } else { "" });
                scalar(value, out);
            }
            if values.len() > TERMS {
                write_to(out, format_args!(", ... {} more", values.len() - TERMS));
            }
            out.push(']');
        }
        integer => write_to(out, format_args!("{}", integer.as_integer().unwrap_or_default())),
    }
}

fn string(text: &str, out: &mut String) {
    let end = text.char_indices().nth(CHARACTERS).map_or(text.len(), |(end, _)| end);
    out.push('\'');
    for character in text[..end].chars() {
        match character {
            '\'' => out.push_str("''"),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push_str(if end < text.len() { "...'" } else { "'" });
}

fn decimal(value: i128, scale: i8, out: &mut String) {
    let Ok(places @ 1..) = usize::try_from(scale) else {
        write_to(out, format_args!("{value}"));
        (scale..0).for_each(|_| out.push('0'));
        return;
    };
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    write_to(out, format_args!("{sign}{whole}.{part}"));
}

fn timestamp(micros: i64, zone: Option<&str>, out: &mut String) {
    let seconds = micros.div_euclid(1_000_000);
    // Of 2^63 microseconds there are about 10^8 days.
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400) as i32);
    let time = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    write_to(
        out,
        format_args!("TIMESTAMP '{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
    );
    let part = micros.rem_euclid(1_000_000);
    if part > 0 {
        let digits = format!(".{part:06}");
        out.push_str(digits.trim_end_matches('0'));
    }
    // The instant is written in UTC, whatever zone it is shown in.
    out.push_str(if zone.is_some() { "Z'" } else { "'" });
}

fn interval(months: i32, days: i32, nanos: i64, out: &mut String) {
    out.push_str("INTERVAL '");
    let mut parts = Vec::new();
    if months != 0 {
        parts.push(format!("{months} months"));
    }
    if days != 0 {
        parts.push(format!("{days} days"));
    }
    if nanos != 0 || parts.is_empty() {
        parts.push(format!("{} seconds", nanos as f64 / 1e9));
    }
    write_to(out, format_args!("{}'", parts.join(" ")));
}
