//! Columns from fields: what text means as a value of a type.

use std::str;
use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{
    ArrayBuilder, ArrayRef, BinaryViewBuilder, BooleanBuilder, PrimitiveBuilder, StringViewBuilder,
};
use arrow::compute::kernels::cast_utils::{Parser, parse_decimal, string_to_datetime};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Decimal256Type, DecimalType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use chrono::Utc;

/// A column that grows by fields.
pub(super) trait Column {
    /// Adds the value that a field means; false, and nothing is added, if it means none.
    fn push(&mut self, field: &[u8]) -> bool;
    fn push_null(&mut self);
    fn len(&self) -> usize;
    fn finish(&mut self) -> ArrayRef;
}

/// A column of a type; `None` if text has no values of it.
pub(super) fn column(data_type: &DataType, rows: usize) -> Option<Box<dyn Column>> {
    macro_rules! primitive {
        ($arrow:ty, $parse:expr) => {
            Box::new(Primitive {
                builder: PrimitiveBuilder::<$arrow>::with_capacity(rows)
                    .with_data_type(data_type.clone()),
                parse: $parse,
            })
        };
    }
    Some(match data_type {
        DataType::Boolean => Box::new(BooleanBuilder::with_capacity(rows)),
        DataType::Int8 => primitive!(Int8Type, |field: &[u8]| signed(field)?.try_into().ok()),
        DataType::Int16 => primitive!(Int16Type, |field: &[u8]| signed(field)?.try_into().ok()),
        DataType::Int32 => primitive!(Int32Type, |field: &[u8]| signed(field)?.try_into().ok()),
        DataType::Int64 => primitive!(Int64Type, signed),
        DataType::UInt8 => primitive!(UInt8Type, |field: &[u8]| unsigned(field)?.try_into().ok()),
        DataType::UInt16 => primitive!(UInt16Type, |field: &[u8]| unsigned(field)?.try_into().ok()),
        DataType::UInt32 => primitive!(UInt32Type, |field: &[u8]| unsigned(field)?.try_into().ok()),
        DataType::UInt64 => primitive!(UInt64Type, unsigned),
        DataType::Float32 => primitive!(Float32Type, |field: &[u8]| text(field)?.parse().ok()),
        DataType::Float64 => primitive!(Float64Type, |field: &[u8]| text(field)?.parse().ok()),
        DataType::Date32 => primitive!(Date32Type, date),
        DataType::Time64(TimeUnit::Microsecond) => {
            primitive!(Time64MicrosecondType, |field: &[u8]| Time64MicrosecondType::parse(text(
                field
            )?))
        }
        DataType::Decimal128(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            primitive!(Decimal128Type, move |field: &[u8]| decimal::<Decimal128Type>(
                field, precision, scale
            ))
        }
        DataType::Decimal256(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            primitive!(Decimal256Type, move |field: &[u8]| decimal::<Decimal256Type>(
                field, precision, scale
            ))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let zone: Option<Tz> = match zone {
                Some(zone) => Some(zone.parse().ok()?),
                None => None,
            };
            primitive!(TimestampMicrosecondType, move |field: &[u8]| timestamp(
                field,
                zone.as_ref()
            ))
        }
        DataType::Utf8View => Box::new(StringViewBuilder::with_capacity(rows)),
        DataType::BinaryView => Box::new(BinaryViewBuilder::with_capacity(rows)),
        _ => return None,
    })
}

struct Primitive<T: ArrowPrimitiveType, F> {
    builder: PrimitiveBuilder<T>,
    parse: F,
}

impl<T: ArrowPrimitiveType, F: Fn(&[u8]) -> Option<T::Native>> Column for Primitive<T, F> {
    fn push(&mut self, field: &[u8]) -> bool {
        let value = (self.parse)(field.trim_ascii());
        if let Some(value) = value {
            self.builder.append_value(value);
        }
        value.is_some()
    }

    fn push_null(&mut self) {
        self.builder.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(&self.builder)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

impl Column for BooleanBuilder {
    fn push(&mut self, field: &[u8]) -> bool {
        let value = boolean(field.trim_ascii());
        if let Some(value) = value {
            self.append_value(value);
        }
        value.is_some()
    }

    fn push_null(&mut self) {
        self.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(self)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(BooleanBuilder::finish(self))
    }
}

impl Column for StringViewBuilder {
    fn push(&mut self, field: &[u8]) -> bool {
        let Ok(value) = str::from_utf8(field) else { return false };
        self.append_value(value);
        true
    }

    fn push_null(&mut self) {
        self.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(self)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(StringViewBuilder::finish(self))
    }
}

impl Column for BinaryViewBuilder {
    fn push(&mut self, field: &[u8]) -> bool {
        self.append_value(field);
        true
    }

    fn push_null(&mut self) {
        self.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(self)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(BinaryViewBuilder::finish(self))
    }
}

fn text(field: &[u8]) -> Option<&str> {
    str::from_utf8(field).ok()
}

pub(super) fn signed(field: &[u8]) -> Option<i64> {
    let (negative, digits) = match field.split_first()? {
        (b'-', digits) => (true, digits),
        (b'+', digits) => (false, digits),
        _ => (false, field),
    };
    let value = unsigned(digits)?;
    match negative {
        true => 0i64.checked_sub_unsigned(value),
        false => value.try_into().ok(),
    }
}

fn unsigned(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(value)
}

pub(super) fn boolean(field: &[u8]) -> Option<bool> {
    match field {
        _ if field.eq_ignore_ascii_case(b"true") => Some(true),
        _ if field.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

pub(super) fn date(field: &[u8]) -> Option<i32> {
    Date32Type::parse(text(field)?)
}

/// An instant; without a zone, a local time. Text that names no offset is meant in the column's zone.
pub(super) fn timestamp(field: &[u8], zone: Option<&Tz>) -> Option<i64> {
    let text = text(field)?;
    Some(match zone {
        Some(zone) => string_to_datetime(zone, text).ok()?.timestamp_micros(),
        None => string_to_datetime(&Utc, text).ok()?.timestamp_micros(),
    })
}

fn decimal<T: DecimalType>(field: &[u8], precision: u8, scale: i8) -> Option<T::Native> {
    parse_decimal::<T>(text(field)?, precision, scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_whole_and_within_their_type() {
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), None);
        assert_eq!(signed(b"+7"), Some(7));
        for none in ["", "-", "1.0", "1e3", "0x1", "1 2"] {
            assert_eq!(signed(none.as_bytes()), None, "{none}");
        }
        let mut column = column(&DataType::Int8, 1).unwrap();
        assert!(column.push(b" -128 ") && !column.push(b"128"));
    }

    #[test]
    fn instants_are_read_in_their_zone() {
        assert_eq!(timestamp(b"1970-01-01 00:00:01.5", None), Some(1_500_000));
        assert_eq!(timestamp(b"1970-01-01T02:00:00+02:00", None), Some(0));
        let tokyo: Tz = "Asia/Tokyo".parse().unwrap();
        assert_eq!(timestamp(b"1970-01-01 09:00:00", Some(&tokyo)), Some(0));
        assert_eq!(timestamp(b"yesterday", None), None);
    }
}
