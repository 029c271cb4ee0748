//! The types that columns of files have in tables, and which differences between files are bridged.
//!
//! Strings and binaries are views, instants are microseconds, dictionaries are their values. A type is
//! widened to one that holds all of its values exactly, and never otherwise.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

/// The type of a column in a table, by its type in a file.
pub(crate) fn table_type(found: &DataType) -> DataType {
    match found {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            DataType::BinaryView
        }
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Date64 => DataType::Date32,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Dictionary(_, value) => table_type(value),
        DataType::RunEndEncoded(_, values) => table_type(values.data_type()),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            DataType::List(table_field(item))
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(table_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(table_field(entries), *sorted),
        other => other.clone(),
    }
}

fn table_field(field: &FieldRef) -> FieldRef {
    Arc::new(Field::new(field.name(), table_type(field.data_type()), field.is_nullable()))
}

/// The columns of a file as those of a table.
pub(crate) fn table_schema(found: &Schema) -> SchemaRef {
    Arc::new(Schema::new(found.fields().iter().map(table_field).collect::<Vec<_>>()))
}

/// Whether each value of one type is exactly one of the other.
pub(crate) fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    if from == to || *from == Null {
        return true;
    }
    match (from, to) {
        (Decimal128(p, s), Decimal128(q, t) | Decimal256(q, t))
        | (Decimal256(p, s), Decimal256(q, t)) => {
            t >= s && i16::from(*q) - i16::from(*t) >= i16::from(*p) - i16::from(*s)
        }
        (_, Decimal128(q, t) | Decimal256(q, t)) => {
            digits(from).is_some_and(|digits| i16::from(*q) - i16::from(*t) >= digits)
        }
        (Float32, Float64) => true,
        (Int8 | UInt8 | Int16 | UInt16, Float32 | Float64) | (Int32 | UInt32, Float64) => true,
        (List(a), List(b)) => widens(a.data_type(), b.data_type()),
        _ => match (integer(from), integer(to)) {
            (Some((bits, signed)), Some((wider, to_signed))) => {
                (signed == to_signed && bits <= wider) || (!signed && to_signed && bits < wider)
            }
            _ => false,
        },
    }
}

/// Width and sign of an integer type.
fn integer(data_type: &DataType) -> Option<(u8, bool)> {
    Some(match data_type {
        DataType::Int8 => (8, true),
        DataType::Int16 => (16, true),
        DataType::Int32 => (32, true),
        DataType::Int64 => (64, true),
        DataType::UInt8 => (8, false),
        DataType::UInt16 => (16, false),
        DataType::UInt32 => (32, false),
        DataType::UInt64 => (64, false),
        _ => return None,
    })
}

/// Digits of the largest value of an integer type.
fn digits(data_type: &DataType) -> Option<i16> {
    Some(match integer(data_type)? {
        (8, _) => 3,
        (16, _) => 5,
        (32, _) => 10,
        (_, true) => 19,
        (_, false) => 20,
    })
}

/// The narrowest type that both widen to, if there is one.
pub(crate) fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    if widens(a, b) {
        return Some(b.clone());
    }
    if widens(b, a) {
        return Some(a.clone());
    }
    match (a, b) {
        (DataType::Decimal128(p, s), DataType::Decimal128(q, t)) => {
            let (scale, whole) =
                ((*s).max(*t), (i16::from(*p) - i16::from(*s)).max(i16::from(*q) - i16::from(*t)));
            let precision = u8::try_from(whole + i16::from(scale)).ok().filter(|p| *p <= 38)?;
            Some(DataType::Decimal128(precision, scale))
        }
        (DataType::Struct(a), DataType::Struct(b)) => {
            let fields = merge(a.iter().chain(b.iter()).cloned().map(|field| (field, ())), common);
            Some(DataType::Struct(fields.ok()?.into_iter().collect()))
        }
        (DataType::List(a), DataType::List(b)) => {
            let item = common(a.data_type(), b.data_type())?;
            Some(DataType::List(Arc::new(Field::new(a.name(), item, true))))
        }
        _ => {
            let ((a, _), (b, _)) = (integer(a)?, integer(b)?);
            (a.max(b) < 64).then_some(DataType::Int64)
        }
    }
}

/// Fields by name, each of a type that all of its name have in common, in the order in which names first
/// appear. The error is the name, its type so far, and the type that does not go with it, with its origin.
pub(crate) fn merge<O>(
    fields: impl IntoIterator<Item = (FieldRef, O)>,
    common: impl Fn(&DataType, &DataType) -> Option<DataType>,
) -> Result<Vec<FieldRef>, (FieldRef, FieldRef, O)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut merged: Vec<FieldRef> = Vec::new();
    for (field, origin) in fields {
        let Some(place) = places.get(field.name()) else {
            places.insert(field.name().clone(), merged.len());
            merged.push(field);
            continue;
        };
        let known = &mut merged[*place];
        if known.data_type() == field.data_type() && known.is_nullable() >= field.is_nullable() {
            continue;
        }
        let Some(data_type) = common(known.data_type(), field.data_type()) else {
            return Err((Arc::clone(known), field, origin));
        };
        let nullable = known.is_nullable() || field.is_nullable();
        *known = Arc::new(Field::new(field.name(), data_type, nullable));
    }
    Ok(merged)
}

/// A column as another type; a value that does not fit is an error.
pub(crate) fn cast_column(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == to {
        return Ok(Arc::clone(column));
    }
    if let (DataType::Struct(_), DataType::Struct(fields)) = (column.data_type(), to) {
        return cast_struct(column, fields);
    }
    cast_with_options(column, to, &CastOptions { safe: false, ..CastOptions::default() })
}

/// Members by name; missing ones are NULL.
fn cast_struct(
    column: &ArrayRef,
    fields: &arrow::datatypes::Fields,
) -> Result<ArrayRef, ArrowError> {
    use arrow::array::{Array, AsArray, StructArray};
    let column = column.as_struct();
    let member = |field: &FieldRef| match column.column_by_name(field.name()) {
        Some(member) => cast_column(member, field.data_type()),
        None => Ok(new_null_array(field.data_type(), column.len())),
    };
    let members = fields.iter().map(member).collect::<Result<Vec<_>, _>>()?;
    let nulls = column.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), members, nulls, column.len())?))
}

#[cfg(test)]
mod tests {
    use DataType::*;

    use super::*;

    #[test]
    fn types_widen_only_where_every_value_is_kept() {
        for (from, to) in [
            (Int32, Int64),
            (UInt32, Int64),
            (Int32, Float64),
            (Float32, Float64),
            (Null, Utf8View),
            (Decimal128(10, 2), Decimal128(12, 4)),
            (Int32, Decimal128(12, 2)),
        ] {
            assert!(widens(&from, &to), "{from} to {to}");
            assert!(!widens(&to, &from), "{to} to {from}");
        }
        for (from, to) in [
            (Int64, Float64),
            (UInt64, Int64),
            (Int64, Utf8View),
            (Decimal128(10, 2), Decimal128(10, 3)),
            (Int32, Decimal128(11, 2)),
            (Date32, Timestamp(TimeUnit::Microsecond, None)),
        ] {
            assert!(!widens(&from, &to), "{from} to {to}");
        }
    }

    #[test]
    fn columns_merge_by_name() {
        let field = |name: &str, data_type, nullable| {
            Arc::new(Field::new(name, data_type, nullable)) as FieldRef
        };
        let fields =
            [field("a", Int32, false), field("b", Utf8View, false), field("a", Int64, true)];
        let merged = merge(fields.map(|field| (field, ())), common).unwrap();
        assert_eq!(merged, [field("a", Int64, true), field("b", Utf8View, false)]);
        let fields = [field("a", Int32, false), field("a", Utf8View, false)];
        assert!(merge(fields.map(|field| (field, ())), common).is_err());
    }
}
