//! Strings that are written anew: one buffer, which all rows use, and the column it is copied into.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};

use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

/// The bytes a string may have.
const MAX_BYTES: usize = i32::MAX as usize;

/// A column of strings, each appended to an empty buffer for the rows in which no argument is NULL.
pub(in crate::eval) fn write(
    args: Arguments<'_>,
    mut of: impl FnMut(usize, &mut String) -> Result<(), EvalError>,
) -> Result<ArrayRef, EvalError> {
    let nulls = args.nulls();
    let mut out = StringViewBuilder::with_capacity(args.rows);
    let mut buffer = String::new();
    for row in 0..args.rows {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            out.append_null();
            continue;
        }
        buffer.clear();
        of(row, &mut buffer)?;
        out.try_append_value(&buffer)?;
    }
    Ok(Arc::new(out.finish()))
}

/// Appends, if the string does not become longer than strings may be.
#[inline]
pub(super) fn push(args: Arguments<'_>, buffer: &mut String, more: &str) -> Result<(), EvalError> {
    check(args, buffer.len() + more.len())?;
    buffer.push_str(more);
    Ok(())
}

/// Refuses what would have more bytes than a string may have.
#[inline]
pub(super) fn check(args: Arguments<'_>, bytes: usize) -> Result<(), EvalError> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(args.error(format!(
        "the result would have {bytes} bytes, and a string has at most {MAX_BYTES}: make less of one row"
    )))
}
