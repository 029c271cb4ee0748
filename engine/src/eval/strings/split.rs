//! The parts of strings between separators, as lists.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field};

use super::Prepared;
use super::pattern::{Patterns, for_each_match};
use super::pieces::Pieces;
use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

/// The parts between matches of a regular expression, at most as many as the third argument says if that is
/// positive. An empty pattern gives the characters.
pub(super) fn split(
    args: Arguments<'_>,
    result: &DataType,
    prepared: Option<&Prepared>,
) -> Result<ArrayRef, EvalError> {
    let (strings, patterns, limits) = (args.strings(0)?, args.strings(1)?, args.integers_at(2)?);
    let mut compiled = Patterns::new(args.function, prepared);
    let nulls = args.nulls();
    let mut pieces = Pieces::of(strings.array, args.rows * 2);
    let mut offsets = Vec::with_capacity(args.rows + 1);
    offsets.push(0);
    for row in 0..args.rows {
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
            let limit = limits.as_ref().map_or(0, |limits| limits.get(row));
            let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
            let (string, pattern) = (strings.get(row), patterns.get(row));
            let index = strings.index(row);
            if pattern.is_empty() {
                push_characters(&mut pieces, index, string, limit);
            } else {
                let regex = compiled.get(pattern)?;
                let (mut done, mut left) = (0, limit.unwrap_or(usize::MAX));
                for_each_match(regex, string, |start, end| {
                    if left <= 1 {
                        return Ok(false);
                    }
                    // An empty match at the start separates nothing.
                    if end > 0 {
                        pieces.push(index, done..start);
                        (done, left) = (end, left - 1);
                    }
                    Ok(true)
                })?;
                pieces.push(index, done..string.len());
            }
        }
        offsets.push(i32::try_from(pieces.len()).map_err(|_| too_many(args))?);
    }
    let item = match result {
        DataType::List(item) => item.clone(),
        _ => Arc::new(Field::new_list_field(DataType::Utf8View, true)),
    };
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(ListArray::try_new(item, offsets, Arc::new(pieces.finish(None)?), nulls)?))
}

/// The characters, the last part with all that is left if there is a limit.
fn push_characters(pieces: &mut Pieces<'_>, index: usize, string: &str, limit: Option<usize>) {
    if string.is_empty() {
        return pieces.push_empty();
    }
    let mut starts = string.char_indices().map(|(byte, _)| byte).skip(1);
    let (mut done, mut left) = (0, limit.unwrap_or(usize::MAX));
    while let Some(next) = starts.next().filter(|_| left > 1) {
        pieces.push(index, done..next);
        (done, left) = (next, left - 1);
    }
    pieces.push(index, done..string.len());
}

fn too_many(args: Arguments<'_>) -> EvalError {
    args.error(format!(
        "the strings of a batch have more than {} parts: split shorter ones, or with a limit",
        i32::MAX
    ))
}
