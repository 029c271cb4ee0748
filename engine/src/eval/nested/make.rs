//! Lists and structs of values, and the fields of structs.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, StructArray, new_empty_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{interleave, nullif};
use arrow::datatypes::DataType;

use super::lists::{item_field, offset};
use crate::eval::arguments::Arguments;
use crate::eval::cast::cast;
use crate::eval::error::EvalError;
use crate::eval::value::Value;

/// A list of the arguments, NULLs among them.
pub(super) fn make_list(args: Arguments<'_>, result: &DataType) -> Result<ArrayRef, EvalError> {
    let unlike = || EvalError::unsupported(format!("list of type {result}"));
    let item = item_field(result).ok_or_else(unlike)?;
    let width = args.values.len();
    offset(args, width.saturating_mul(args.rows))?;
    let columns = args.values.iter().map(|value| cast(value.array(), item.data_type(), false));
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
    let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let place = |row: usize| {
        args.values.iter().enumerate().map(move |(column, value)| (column, value.index(row)))
    };
    let elements = match width {
        0 => new_empty_array(item.data_type()),
        _ => interleave(&columns, &(0..args.rows).flat_map(place).collect::<Vec<_>>())?,
    };
    let offsets = OffsetBuffer::from_repeated_length(width, args.rows);
    Ok(Arc::new(ListArray::try_new(item, offsets, elements, None)?))
}

/// A struct of the second, fourth, ... argument. The names, which are between them, are those of its type.
pub(super) fn make_struct(args: Arguments<'_>, result: &DataType) -> Result<ArrayRef, EvalError> {
    let DataType::Struct(fields) = result else {
        return Err(EvalError::unsupported(format!("struct of type {result}")));
    };
    let values = args.values.iter().skip(1).step_by(2).zip(fields);
    let columns = values
        .map(|(value, field)| cast(&value.clone().into_array(args.rows)?, field.data_type(), false))
        .collect::<Result<_, EvalError>>()?;
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
}

/// A field of a struct; NULL if the struct is.
pub(super) fn get_field(args: Arguments<'_>) -> Result<Value, EvalError> {
    let structs = args.get(0)?.array().as_struct_opt();
    let structs = structs.ok_or_else(|| args.wrong(0, "a struct"))?;
    let name = args.strings(1)?.constant().ok_or_else(|| args.wrong(1, "a constant name"))?;
    let column = structs.column_by_name(name).ok_or_else(|| {
        args.error(format!(
            "there is no field '{name}': there are {}",
            structs.column_names().join(", ")
        ))
    })?;
    args.get(0)?.map(|_| match structs.nulls() {
        None => Ok(Arc::clone(column)),
        Some(nulls) => Ok(nullif(column, &BooleanArray::new(!nulls.inner(), None))?),
    })
}
