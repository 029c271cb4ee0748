//! Maps: made of two lists, looked up, and taken apart.

use std::sync::Arc;

use ahash::AHashSet;
use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray};
use arrow::datatypes::{DataType, Field};

use super::elements::{choose, keys, order};
use super::lists::{Gather, Lists};
use crate::eval::arguments::Arguments;
use crate::eval::cast::cast;
use crate::eval::error::EvalError;
use crate::eval::scalar::describe;
use crate::eval::value::Value;

/// A map of the keys of the first list to the values of the second at their places.
///
/// # Errors
/// If the lists are not of the same length, or a key is NULL or comes twice.
pub(super) fn make_map(args: Arguments<'_>, result: &DataType) -> Result<ArrayRef, EvalError> {
    let unlike = || EvalError::unsupported(format!("map of type {result}"));
    let DataType::Map(field, sorted) = result else { return Err(unlike()) };
    let DataType::Struct(parts) = field.data_type() else { return Err(unlike()) };
    let [key, value] = &parts[..] else { return Err(unlike()) };

    let (key_lists, key_elements) = Lists::with_elements(args, 0)?;
    let (value_lists, value_elements) = Lists::with_elements(args, 1)?;
    let rows = keys(key_elements)?;
    let mut seen = AHashSet::new();
    let nulls = args.nulls();
    let (mut all_keys, mut all_values) = (Gather::new(args.rows), Gather::new(args.rows));
    for row in 0..args.rows {
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
            let (keys, values) = (key_lists.elements(row), value_lists.elements(row));
            if keys.len() != values.len() {
                return Err(args.error(format!("{} keys and {} values", keys.len(), values.len())));
            }
            seen.clear();
            for key in keys {
                if key_elements.is_null(key) {
                    return Err(args.error("a key is NULL, which no key of a map can be"));
                }
                if !seen.insert(rows.row(key).data()) {
                    let key = describe(key_elements, key);
                    return Err(args.error(format!("the key {key} is there twice")));
                }
                all_keys.push(key);
            }
            values.for_each(|value| all_values.push(value));
        }
        all_keys.end(args)?;
        all_values.end(args)?;
    }
    let (keys, offsets) = all_keys.finish(key_elements)?;
    let (values, _) = all_values.finish(value_elements)?;
    let columns =
        vec![cast(&keys, key.data_type(), false)?, cast(&values, value.data_type(), false)?];
    let entries = StructArray::try_new(parts.clone(), columns, None)?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?))
}

/// The value of a key; NULL if there is none.
pub(super) fn get(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (maps, wanted) = (Lists::of(args, 0)?, args.get(1)?);
    let map = args.get(0)?.array().as_map_opt().ok_or_else(|| args.wrong(0, "a map"))?;
    let order = order(map.keys(), wanted.array())?;
    choose(args, map.values(), |row| {
        let index = wanted.index(row);
        maps.elements(row).find(|entry| order(*entry, index).is_eq())
    })
}

/// The keys (0) or values (1) of maps, as lists.
pub(super) fn part(args: Arguments<'_>, column: usize) -> Result<Value, EvalError> {
    let value = args.get(0)?;
    let map = value.array().as_map_opt().ok_or_else(|| args.wrong(0, "a map"))?;
    let elements = Arc::clone(map.entries().column(column));
    let item = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    let lists = ListArray::try_new(item, map.offsets().clone(), elements, map.nulls().cloned())?;
    value.map(|_| Ok(Arc::new(lists) as ArrayRef))
}
