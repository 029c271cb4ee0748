//! Strings in strings.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::Int32Type;
use memchr::memmem;

use super::part::byte_of;
use crate::eval::arguments::{Arguments, Strings};
use crate::eval::error::EvalError;

pub(super) fn contains(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (strings, needles) = (args.strings(0)?, args.strings(1)?);
    let find = finder(needles);
    Ok(Arc::new(args.booleans(|row| find(row, strings.get(row)).is_some())))
}

pub(super) fn starts_with(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (strings, needles) = (args.strings(0)?, args.strings(1)?);
    Ok(Arc::new(args.booleans(|row| strings.get(row).starts_with(needles.get(row)))))
}

pub(super) fn ends_with(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (strings, needles) = (args.strings(0)?, args.strings(1)?);
    Ok(Arc::new(args.booleans(|row| strings.get(row).ends_with(needles.get(row)))))
}

/// Where the second is in the first at or after a character, 1 if not said: the character it begins with, from 1,
/// or 0. What is empty is at 1; nothing is before 1.
pub(super) fn position(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (strings, needles, from) = (args.strings(0)?, args.strings(1)?, args.integers_at(2)?);
    let find = finder(needles);
    let position = |row: usize| {
        let from = from.as_ref().map_or(1, |from| from.get(row));
        if from < 1 {
            return 0;
        }
        if needles.get(row).is_empty() {
            return 1;
        }
        let string = strings.get(row);
        let start = byte_of(string, from as usize - 1);
        let found = find(row, &string[start..]);
        found.map_or(0, |byte| string[..start + byte].chars().count() as i32 + 1)
    };
    let positions: Int32Array = args.primitives::<Int32Type>(|row| Ok(position(row)))?;
    Ok(Arc::new(positions))
}

/// Finds the string of a row in another: the byte where it is. What is constant is prepared once.
fn finder<'a>(needles: Strings<'a>) -> impl Fn(usize, &str) -> Option<usize> + 'a {
    let prepared = needles.constant().map(memmem::Finder::new);
    move |row, string| match &prepared {
        Some(finder) => finder.find(string.as_bytes()),
        None => string.find(needles.get(row)),
    }
}
