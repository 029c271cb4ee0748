//! Types as text.

use std::sync::Arc;

use arrow_schema::{DataType, Field, IntervalUnit};

/// A type in the manner of SQL: `bigint`, `decimal(15,2)`, `list<string>`.
#[must_use]
pub fn type_name(data_type: &DataType) -> String {
    let plain = match data_type {
        DataType::Null => "null",
        DataType::Boolean => "boolean",
        DataType::Int8 => "tinyint",
        DataType::Int16 => "smallint",
        DataType::Int32 => "int",
        DataType::Int64 => "bigint",
        DataType::UInt8 => "unsigned tinyint",
        DataType::UInt16 => "unsigned smallint",
        DataType::UInt32 => "unsigned int",
        DataType::UInt64 => "unsigned bigint",
        DataType::Float16 => "half",
        DataType::Float32 => "float",
        DataType::Float64 => "double",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "binary",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Time32(_) | DataType::Time64(_) => "time",
        DataType::Timestamp(_, None) => "timestamp",
        DataType::Duration(_) => "duration",
        DataType::Interval(IntervalUnit::YearMonth) => "interval year to month",
        DataType::Interval(_) => "interval",
        _ => return nested_name(data_type),
    };
    plain.to_owned()
}

fn nested_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => format!("timestamp({zone})"),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => format!("list<{}>", type_name(item.data_type())),
        DataType::Struct(fields) => {
            let field =
                |field: &Arc<Field>| format!("{}: {}", field.name(), type_name(field.data_type()));
            format!("struct<{}>", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                let names: Vec<_> =
                    fields.iter().map(|field| type_name(field.data_type())).collect();
                format!("map<{}>", names.join(", "))
            }
            other => format!("map<{}>", type_name(other)),
        },
        DataType::Dictionary(_, values) => type_name(values),
        DataType::RunEndEncoded(_, values) => type_name(values.data_type()),
        _ => "union".to_owned(),
    }
}
