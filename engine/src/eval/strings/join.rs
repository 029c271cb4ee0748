//! Strings one after the other.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewArray, StringViewBuilder};
use arrow::datatypes::DataType;

use super::text::{push, write};
use crate::eval::arguments::{Arguments, Strings};
use crate::eval::error::EvalError;
use crate::eval::value::Value;

/// One after the other; NULL if one is.
pub(super) fn concat(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let strings: Vec<Strings<'_>> =
        (0..args.values.len()).map(|position| args.strings(position)).collect::<Result<_, _>>()?;
    write(args, |row, out| strings.iter().try_for_each(|strings| push(args, out, strings.get(row))))
}

/// The second and later arguments, strings and lists of strings, with the first between them. NULLs are passed
/// over; a NULL separator gives NULL.
pub(super) fn concat_ws(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let separators = args.strings(0)?;
    let parts: Vec<Part<'_>> =
        (1..args.values.len()).map(|position| part(args, position)).collect::<Result<_, _>>()?;
    let mut out = StringViewBuilder::with_capacity(args.rows);
    let mut buffer = String::new();
    for row in 0..args.rows {
        if separators.array.is_null(separators.index(row)) {
            out.append_null();
            continue;
        }
        buffer.clear();
        let mut joined =
            Joined { args, separator: separators.get(row), any: false, out: &mut buffer };
        parts.iter().try_for_each(|part| part.append(row, &mut joined))?;
        out.try_append_value(&buffer)?;
    }
    Ok(Arc::new(out.finish()))
}

/// The strings of a list with the second argument between them; NULLs are passed over.
pub(in crate::eval) fn list_join(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (lists, separators) = (part(args, 0)?, args.strings(1)?);
    write(args, |row, out| {
        lists.append(row, &mut Joined { args, separator: separators.get(row), any: false, out })
    })
}

enum Part<'a> {
    Strings(&'a StringViewArray, &'a Value),
    Lists(&'a ListArray, &'a StringViewArray, &'a Value),
    /// The literal NULL without a type.
    Nothing,
}

fn part(args: Arguments<'_>, position: usize) -> Result<Part<'_>, EvalError> {
    let value = args.get(position)?;
    let array = value.array();
    match array.data_type() {
        DataType::Utf8View => Ok(Part::Strings(array.as_string_view(), value)),
        DataType::Null => Ok(Part::Nothing),
        DataType::List(item) if *item.data_type() == DataType::Utf8View => {
            let lists = array.as_list::<i32>();
            Ok(Part::Lists(lists, lists.values().as_string_view(), value))
        }
        _ => Err(args.wrong(position, "a string or a list of strings")),
    }
}

struct Joined<'a> {
    args: Arguments<'a>,
    separator: &'a str,
    any: bool,
    out: &'a mut String,
}

impl Joined<'_> {
    fn push(&mut self, strings: &StringViewArray, index: usize) -> Result<(), EvalError> {
        if strings.is_null(index) {
            return Ok(());
        }
        if self.any {
            push(self.args, self.out, self.separator)?;
        }
        self.any = true;
        push(self.args, self.out, strings.value(index))
    }
}

impl Part<'_> {
    fn append(&self, row: usize, joined: &mut Joined<'_>) -> Result<(), EvalError> {
        match self {
            Self::Nothing => Ok(()),
            Self::Strings(strings, value) => joined.push(strings, value.index(row)),
            Self::Lists(lists, strings, value) => {
                let index = value.index(row);
                if lists.is_null(index) {
                    return Ok(());
                }
                let offsets = lists.value_offsets();
                let items = offsets[index] as usize..offsets[index + 1] as usize;
                items.into_iter().try_for_each(|item| joined.push(strings, item))
            }
        }
    }
}
