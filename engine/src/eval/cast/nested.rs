//! Lists, structs and maps, by their parts.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, LargeListArray, ListArray, MapArray, StructArray};
use arrow::datatypes::{DataType, Fields};

use super::by_arrow;
use crate::eval::error::{EvalError, type_name};

/// A nested column as another nested type. Fields of structs go by their places.
pub(super) fn cast(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    match (array.data_type(), to) {
        (DataType::List(_), DataType::List(field)) => {
            let (_, offsets, items, nulls) = array.as_list::<i32>().clone().into_parts();
            let items = super::cast(&items, field.data_type(), lenient)?;
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, items, nulls)?))
        }
        (DataType::LargeList(_), DataType::LargeList(field)) => {
            let (_, offsets, items, nulls) = array.as_list::<i64>().clone().into_parts();
            let items = super::cast(&items, field.data_type(), lenient)?;
            Ok(Arc::new(LargeListArray::try_new(Arc::clone(field), offsets, items, nulls)?))
        }
        (DataType::Struct(from), DataType::Struct(fields)) if from.len() == fields.len() => {
            Ok(Arc::new(structs(array.as_struct(), fields, lenient)?))
        }
        (DataType::Map(..), DataType::Map(field, sorted)) => {
            let (_, offsets, entries, nulls, _) = array.as_map().clone().into_parts();
            let DataType::Struct(fields) = field.data_type() else {
                return Err(EvalError::unsupported(format!(
                    "map of {}",
                    type_name(field.data_type())
                )));
            };
            let entries = structs(&entries, fields, lenient)?;
            Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?))
        }
        (from, to) if from.is_nested() && !matches!((from, to), (DataType::Struct(_), _)) => {
            by_arrow(array, to, lenient)
        }
        (from, to) => {
            let what = format!("cast of {} to {}", type_name(from), type_name(to));
            Err(EvalError::unsupported(what))
        }
    }
}

fn structs(array: &StructArray, fields: &Fields, lenient: bool) -> Result<StructArray, EvalError> {
    let (_, columns, nulls) = array.clone().into_parts();
    let columns = columns.iter().zip(fields);
    let columns = columns.map(|(column, field)| super::cast(column, field.data_type(), lenient));
    Ok(StructArray::try_new(fields.clone(), columns.collect::<Result<_, _>>()?, nulls)?)
}
