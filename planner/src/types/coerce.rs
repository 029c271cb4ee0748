//! Common types: what values of different types are cast to where they are compared or end up in one column.
//!
//! - Integers go to the wider one; a signed and an unsigned one to a signed one that holds both.
//! - Integers with decimals go to a decimal, decimals with floats to a double, integers with `float` to a
//!   `double` unless they have 16 bits at most.
//! - A date with a timestamp goes to the timestamp. Timestamps with different zones are the same instants, and
//!   have the zone of the first; a timestamp without zone is a local time in the other's.
//! - A string with a number, date, timestamp or boolean is cast to the other; with an integer to `bigint`,
//!   with a decimal or float to `double`.
//! - NULL has any type. Lists, structs and maps of the same shape go part by part.
//!
//! Strings of all encodings are `Utf8View` here, binary `BinaryView`, timestamps microseconds.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};

use super::decimal::Decimal;

/// The type as it is computed with: one encoding of strings, binary, timestamps and decimals.
#[must_use]
pub fn normal(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            DataType::BinaryView
        }
        DataType::Dictionary(_, values) => normal(values),
        DataType::RunEndEncoded(_, values) => normal(values.data_type()),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Microsecond),
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => DataType::List(item.clone()),
        other => other.clone(),
    }
}

/// The type that values of both are cast to, if there is one.
#[must_use]
pub fn common_type(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::*;
    if left == right {
        return Some(normal(left));
    }
    let (left, right) = (normal(left), normal(right));
    if let Some(number) = common_number(&left, &right) {
        return Some(number);
    }
    Some(match (&left, &right) {
        (left, right) if left == right => left.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Utf8View, other) | (other, Utf8View) => with_string(other)?,
        (Date32, time @ Timestamp(..)) | (time @ Timestamp(..), Date32) => time.clone(),
        (Timestamp(..), Timestamp(_, None)) => left.clone(),
        (Timestamp(_, None), Timestamp(..)) => right.clone(),
        (Timestamp(..), Timestamp(..)) => left.clone(),
        (span @ Duration(_), Interval(_)) | (Interval(_), span @ Duration(_)) => span.clone(),
        (List(left), List(right)) => List(Arc::new(common_field(left, right)?)),
        (Struct(left), Struct(right)) => Struct(common_fields(left, right)?),
        (Map(left, sorted), Map(right, _)) => Map(Arc::new(common_field(left, right)?), *sorted),
        _ => return None,
    })
}

/// The type that values of all are cast to, if there is one; `Null` of none.
pub fn common_of<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Option<DataType> {
    let mut types = types.into_iter();
    let mut common = types.next().map_or(DataType::Null, normal);
    for other in types {
        if *other != common {
            common = common_type(&common, other)?;
        }
    }
    Some(common)
}

/// The number type that holds numbers of both types.
pub(super) fn common_number(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::*;
    if !left.is_numeric() || !right.is_numeric() {
        return None;
    }
    if left == right {
        return Some(left.clone());
    }
    if left.is_floating() || right.is_floating() {
        let exact = |other: &DataType| matches!(other, Int8 | Int16 | UInt8 | UInt16 | Float32);
        let single = exact(left) && exact(right);
        return Some(if single { Float32 } else { Float64 });
    }
    if left.is_integer() && right.is_integer() {
        return Some(common_integer(left, right));
    }
    Some(Decimal::of(left)?.wider(Decimal::of(right)?).data_type())
}

fn common_integer(left: &DataType, right: &DataType) -> DataType {
    let (left, right) = if left.is_signed_integer() { (left, right) } else { (right, left) };
    let width = |integer: &DataType| integer.primitive_width().unwrap_or(8);
    if left.is_signed_integer() == right.is_signed_integer() {
        return if width(left) >= width(right) { left.clone() } else { right.clone() };
    }
    match width(left).max(2 * width(right)) {
        ..=2 => DataType::Int16,
        3..=4 => DataType::Int32,
        5..=8 => DataType::Int64,
        _ => DataType::Decimal128(20, 0),
    }
}

fn with_string(other: &DataType) -> Option<DataType> {
    match other {
        integer if integer.is_integer() => Some(DataType::Int64),
        number if number.is_numeric() => Some(DataType::Float64),
        DataType::Boolean | DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_) => {
            Some(other.clone())
        }
        _ => None,
    }
}

fn common_field(left: &Field, right: &Field) -> Option<Field> {
    let common = common_type(left.data_type(), right.data_type())?;
    let nullable = left.is_nullable() || right.is_nullable();
    Some(Field::new(left.name(), common, nullable))
}

/// Structs go together if they have the same names in the same order.
fn common_fields(left: &Fields, right: &Fields) -> Option<Fields> {
    if left.len() != right.len() {
        return None;
    }
    let pair = |(left, right): (&Arc<Field>, &Arc<Field>)| {
        (left.name() == right.name()).then(|| common_field(left, right)).flatten()
    };
    left.iter().zip(right.iter()).map(pair).collect()
}

/// Whether values of a type can be ordered: in a sort, `min`, `<`.
#[must_use]
pub fn is_orderable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(..) | DataType::Union(..) | DataType::Interval(_) => false,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_orderable(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().all(|field| is_orderable(field.data_type())),
        DataType::Dictionary(_, values) => is_orderable(values),
        _ => true,
    }
}

/// Whether values of a type can be told apart: as grouping columns, join keys, in `distinct`.
#[must_use]
pub fn is_hashable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Interval(_) => true,
        other => is_orderable(other),
    }
}

/// Whether a cast between these types exists; single values may still not fit.
#[must_use]
pub fn can_cast(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let (from, to) = (normal(from), normal(to));
    match (&from, &to) {
        (from, to) if from == to => true,
        (Null, _) => true,
        (from, to) if from.is_numeric() && to.is_numeric() => true,
        (Boolean, to) => to.is_numeric() || *to == Utf8View,
        (from, Boolean) => from.is_numeric() || *from == Utf8View,
        (Utf8View, BinaryView) | (BinaryView, Utf8View) => true,
        (Utf8View, Duration(_)) => false,
        (Utf8View, to) => to.is_numeric() || is_time(to) || matches!(to, Interval(_)),
        (from, Utf8View) => is_scalar(from),
        (Date32, Timestamp(..)) | (Timestamp(..), Date32 | Timestamp(..)) => true,
        (Timestamp(..) | Duration(_), Int64) | (Int64, Timestamp(..) | Duration(_)) => true,
        (Duration(_), Interval(_)) | (Interval(_), Duration(_)) => true,
        (List(from), List(to)) => can_cast(from.data_type(), to.data_type()),
        (Map(from, _), Map(to, _)) => can_cast(from.data_type(), to.data_type()),
        (Struct(from), Struct(to)) => {
            let pair =
                |(from, to): (&Arc<Field>, &Arc<Field>)| can_cast(from.data_type(), to.data_type());
            from.len() == to.len() && from.iter().zip(to.iter()).all(pair)
        }
        _ => false,
    }
}

fn is_time(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, Date32 | Timestamp(..) | Time64(_) | Duration(_))
}

fn is_scalar(data_type: &DataType) -> bool {
    data_type.is_numeric() || is_time(data_type) || matches!(data_type, DataType::Interval(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::*;

    fn common(left: DataType, right: DataType) -> Option<DataType> {
        let there = common_type(&left, &right);
        let back = common_type(&right, &left);
        assert_eq!(there, back, "the order of {left} and {right} matters");
        there
    }

    #[test]
    fn numbers_go_to_what_holds_both() {
        assert_eq!(common(Int8, Int64), Some(Int64));
        assert_eq!(common(UInt8, Int8), Some(Int16));
        assert_eq!(common(UInt8, Int64), Some(Int64));
        assert_eq!(common(UInt32, Int32), Some(Int64));
        assert_eq!(common(UInt32, UInt64), Some(UInt64));
        assert_eq!(common(UInt64, Int64), Some(Decimal128(20, 0)));
        assert_eq!(common(Float32, Int16), Some(Float32));
        assert_eq!(common(Float32, Int32), Some(Float64));
        assert_eq!(common(Float32, Float64), Some(Float64));
        assert_eq!(common(Int32, Decimal128(15, 2)), Some(Decimal128(15, 2)));
        assert_eq!(common(Int64, Decimal128(15, 2)), Some(Decimal128(22, 2)));
        assert_eq!(common(Decimal128(15, 2), Float32), Some(Float64));
        assert_eq!(common(Decimal128(15, 2), Decimal128(12, 4)), Some(Decimal128(17, 4)));
        assert_eq!(common(Decimal128(10, 2), Decimal256(50, 2)), Some(Decimal256(50, 2)));
    }

    #[test]
    fn strings_take_the_other_type() {
        assert_eq!(common(Utf8, LargeUtf8), Some(Utf8View));
        assert_eq!(common(Utf8, Utf8), Some(Utf8View));
        assert_eq!(common(Dictionary(Box::new(UInt8), Box::new(Utf8)), Utf8View), Some(Utf8View));
        assert_eq!(common(Utf8View, Int32), Some(Int64));
        assert_eq!(common(Utf8View, Decimal128(5, 2)), Some(Float64));
        assert_eq!(common(Utf8View, Date32), Some(Date32));
        assert_eq!(common(Utf8View, BinaryView), None);
    }

    #[test]
    fn times_keep_their_zone() {
        let micros = |zone: Option<&str>| Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
        assert_eq!(common(Date32, micros(None)), Some(micros(None)));
        assert_eq!(common(micros(None), micros(Some("UTC"))), Some(micros(Some("UTC"))));
        assert_eq!(
            common_type(&micros(Some("Asia/Tokyo")), &micros(Some("UTC"))),
            Some(micros(Some("Asia/Tokyo")))
        );
        assert_eq!(common(Timestamp(TimeUnit::Nanosecond, None), micros(None)), Some(micros(None)));
        assert_eq!(common(Date32, Int32), None);
        assert_eq!(common(Boolean, Int32), None);
    }

    #[test]
    fn null_and_nested_types_go_together() {
        assert_eq!(common(Null, Int8), Some(Int8));
        assert_eq!(common(Null, Utf8), Some(Utf8View));
        let list = |item| DataType::new_list(item, true);
        assert_eq!(common(list(Int8), list(Int32)), Some(list(Int32)));
        assert_eq!(common(list(Null), list(Utf8View)), Some(list(Utf8View)));
        let fields = |a, b| Struct(vec![Field::new("a", a, true), Field::new("b", b, true)].into());
        assert_eq!(
            common(fields(Int8, Utf8View), fields(Int64, Utf8View)),
            Some(fields(Int64, Utf8View))
        );
        assert_eq!(common(fields(Int8, Int8), list(Int8)), None);
        assert_eq!(common_of([&Null, &Int8, &Int32, &Float32]), Some(Float64));
        assert_eq!(common_of([]), Some(Null));
    }
}
