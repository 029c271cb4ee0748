//! Lengths and codes of strings.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array};
use arrow::datatypes::{DataType, Int32Type};

use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

/// Characters; of binary, bytes.
pub(super) fn length(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    if !matches!(args.get(0)?.data_type(), DataType::Utf8View) {
        return octet_length(args);
    }
    let strings = args.strings(0)?;
    number(args, |row| strings.get(row).chars().count() as i32)
}

/// Bytes, without a look at them.
pub(super) fn octet_length(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let value = args.get(0)?;
    let views = match value.data_type() {
        DataType::Utf8View => value.array().as_string_view().views(),
        DataType::BinaryView => value.array().as_binary_view().views(),
        _ => return Err(args.wrong(0, "a string or binary")),
    };
    number(args, |row| views[value.index(row)] as u32 as i32)
}

/// The code of the first character; 0 if there is none.
pub(super) fn ascii(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let strings = args.strings(0)?;
    number(args, |row| strings.get(row).chars().next().map_or(0, |first| u32::from(first) as i32))
}

fn number(args: Arguments<'_>, of: impl Fn(usize) -> i32) -> Result<ArrayRef, EvalError> {
    let numbers: Int32Array = args.primitives::<Int32Type>(|row| Ok(of(row)))?;
    Ok(Arc::new(numbers))
}
