//! Single values as arrays of length 1 and back, and a value of a column as text.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, StringViewArray, TimestampMicrosecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array, new_empty_array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::concat;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Field, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use millstream_planner::expr::Scalar;

use super::error::{EvalError, type_name};

/// A value as an array of length 1.
pub(crate) fn to_array(scalar: &Scalar) -> Result<ArrayRef, EvalError> {
    Ok(match scalar {
        Scalar::Null(data_type) => new_null_array(data_type, 1),
        Scalar::Boolean(value) => Arc::new(BooleanArray::from(vec![*value])),
        Scalar::Int8(value) => Arc::new(Int8Array::from_value(*value, 1)),
        Scalar::Int16(value) => Arc::new(Int16Array::from_value(*value, 1)),
        Scalar::Int32(value) => Arc::new(Int32Array::from_value(*value, 1)),
        Scalar::Int64(value) => Arc::new(Int64Array::from_value(*value, 1)),
        Scalar::UInt8(value) => Arc::new(UInt8Array::from_value(*value, 1)),
        Scalar::UInt16(value) => Arc::new(UInt16Array::from_value(*value, 1)),
        Scalar::UInt32(value) => Arc::new(UInt32Array::from_value(*value, 1)),
        Scalar::UInt64(value) => Arc::new(UInt64Array::from_value(*value, 1)),
        Scalar::Float32(value) => Arc::new(Float32Array::from_value(*value, 1)),
        Scalar::Float64(value) => Arc::new(Float64Array::from_value(*value, 1)),
        Scalar::Decimal128 { value, precision, scale } => {
            let digits = Decimal128Array::from_value(*value, 1);
            Arc::new(digits.with_precision_and_scale(*precision, *scale)?)
        }
        Scalar::Utf8(value) => Arc::new(StringViewArray::from_iter_values([value])),
        Scalar::Binary(value) => Arc::new(BinaryViewArray::from_iter_values([value])),
        Scalar::Date32(value) => Arc::new(Date32Array::from_value(*value, 1)),
        Scalar::Timestamp { micros, zone } => {
            let instants = TimestampMicrosecondArray::from_value(*micros, 1);
            Arc::new(instants.with_timezone_opt(zone.clone()))
        }
        Scalar::Interval { months, days, nanos } => {
            let interval = IntervalMonthDayNano::new(*months, *days, *nanos);
            Arc::new(IntervalMonthDayNanoArray::from_value(interval, 1))
        }
        Scalar::List(items, item) => {
            let items = to_column(items, item)?;
            let offsets = OffsetBuffer::from_lengths([items.len()]);
            let field = Arc::new(Field::new_list_field(item.clone(), true));
            Arc::new(ListArray::try_new(field, offsets, items, None)?)
        }
    })
}

/// Values of one type as a column.
pub(crate) fn to_column(scalars: &[Scalar], data_type: &DataType) -> Result<ArrayRef, EvalError> {
    let arrays = scalars.iter().map(to_array).collect::<Result<Vec<_>, _>>()?;
    if arrays.is_empty() {
        return Ok(new_empty_array(data_type));
    }
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    Ok(concat(&arrays)?)
}

/// A value of a column.
///
/// # Errors
/// [`EvalError::Unsupported`] if the type has no single values in expressions, such as a struct.
pub(crate) fn from_array(array: &dyn Array, row: usize) -> Result<Scalar, EvalError> {
    macro_rules! primitive {
        ($variant:ident, $arrow:ty) => {
            Scalar::$variant(array.as_primitive::<$arrow>().value(row))
        };
    }
    let data_type = array.data_type();
    if array.is_null(row) {
        return Ok(Scalar::Null(data_type.clone()));
    }
    Ok(match data_type {
        DataType::Null => Scalar::Null(DataType::Null),
        DataType::Boolean => Scalar::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => primitive!(Int8, Int8Type),
        DataType::Int16 => primitive!(Int16, Int16Type),
        DataType::Int32 => primitive!(Int32, Int32Type),
        DataType::Int64 => primitive!(Int64, Int64Type),
        DataType::UInt8 => primitive!(UInt8, UInt8Type),
        DataType::UInt16 => primitive!(UInt16, UInt16Type),
        DataType::UInt32 => primitive!(UInt32, UInt32Type),
        DataType::UInt64 => primitive!(UInt64, UInt64Type),
        DataType::Float32 => primitive!(Float32, Float32Type),
        DataType::Float64 => primitive!(Float64, Float64Type),
        DataType::Date32 => primitive!(Date32, Date32Type),
        DataType::Decimal128(precision, scale) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            Scalar::Decimal128 { value, precision: *precision, scale: *scale }
        }
        DataType::Utf8View => Scalar::Utf8(array.as_string_view().value(row).into()),
        DataType::BinaryView => Scalar::Binary(array.as_binary_view().value(row).into()),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            Scalar::Timestamp { micros, zone: zone.clone() }
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let interval = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let IntervalMonthDayNano { months, days, nanoseconds } = interval;
            Scalar::Interval { months, days, nanos: nanoseconds }
        }
        DataType::List(item) => {
            let items = array.as_list::<i32>().value(row);
            let items = (0..items.len()).map(|item| from_array(&items, item));
            Scalar::List(items.collect::<Result<_, _>>()?, item.data_type().clone())
        }
        other => {
            return Err(EvalError::unsupported(format!("single value of {}", type_name(other))));
        }
    })
}

/// A value of a column as messages show it: strings in quotes, NULL by that name.
pub(crate) fn describe(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "NULL".to_owned();
    }
    let options = FormatOptions::default().with_display_error(true).with_null("NULL");
    let text = ArrayFormatter::try_new(array, &options)
        .and_then(|format| format.value(row).try_to_string())
        .unwrap_or_else(|error| error.to_string());
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => format!("{text:?}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_come_back() {
        let scalars = [
            Scalar::Null(DataType::Int64),
            Scalar::Null(DataType::Null),
            true.into(),
            (-7i8).into(),
            300i16.into(),
            (-1i32).into(),
            i64::MIN.into(),
            255u8.into(),
            65535u16.into(),
            7u32.into(),
            u64::MAX.into(),
            1.5f32.into(),
            (-0.25f64).into(),
            Scalar::Decimal128 { value: -12345, precision: 15, scale: 2 },
            "a string that is too long to be inlined".into(),
            [1u8, 0, 255].as_slice().into(),
            Scalar::Date32(19_000),
            Scalar::Timestamp { micros: -1, zone: Some("Asia/Tokyo".into()) },
            Scalar::Timestamp { micros: 5, zone: None },
            Scalar::Interval { months: 1, days: -2, nanos: 3 },
            Scalar::List(vec![1i64.into(), Scalar::Null(DataType::Int64)], DataType::Int64),
            Scalar::List(vec![], DataType::Utf8View),
        ];
        for scalar in scalars {
            let array = to_array(&scalar).unwrap();
            assert_eq!((array.len(), array.data_type()), (1, &scalar.data_type()));
            assert_eq!(from_array(&array, 0).unwrap(), scalar);
        }
    }

    #[test]
    fn values_are_shown_as_they_are_written() {
        let shown = |scalar: Scalar| describe(&to_array(&scalar).unwrap(), 0);
        assert_eq!(shown("x\"y".into()), r#""x\"y""#);
        assert_eq!(shown(Scalar::Null(DataType::Int64)), "NULL");
        assert_eq!(shown(Scalar::Decimal128 { value: -5, precision: 5, scale: 2 }), "-0.05");
        assert_eq!(shown(Scalar::Date32(0)), "1970-01-01");
    }
}
