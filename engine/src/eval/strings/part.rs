//! Parts of strings: trimmed, by characters, by separators.

use std::ops::Range;

use arrow::array::ArrayRef;
use memchr::memmem;

use super::pieces::cut;
use crate::eval::arguments::{Arguments, quoted};
use crate::eval::error::EvalError;

/// Without blanks (spaces only), or the characters of the second argument, at the ends that are meant.
pub(super) fn trim(args: Arguments<'_>, start: bool, end: bool) -> Result<ArrayRef, EvalError> {
    let Some(sets) = args.strings_at(1)? else {
        return cut(args, |_, string| {
            Ok(trimmed(string, start, end, |character| character == ' '))
        });
    };
    cut(args, |row, string| {
        let set = sets.get(row);
        Ok(trimmed(string, start, end, |character| set.contains(character)))
    })
}

fn trimmed(string: &str, start: bool, end: bool, drop: impl Fn(char) -> bool) -> Range<usize> {
    let from = if start { string.len() - string.trim_start_matches(&drop).len() } else { 0 };
    let rest = &string[from..];
    let length = if end { rest.trim_end_matches(&drop).len() } else { rest.len() };
    from..from + length
}

/// From a character, counted from 1 or, if negative, from the end (0 means 1), so many characters, or all. A part
/// that would begin before the string loses what is before it.
pub(super) fn substring(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (from, lengths) = (args.integers(1)?, args.integers_at(2)?);
    cut(args, |row, string| {
        let length = lengths.as_ref().map_or(i64::MAX, |lengths| lengths.get(row));
        Ok(part(string, from.get(row), length))
    })
}

fn part(string: &str, from: i64, length: i64) -> Range<usize> {
    if length <= 0 {
        return 0..0;
    }
    if from >= 0 {
        let start = byte_of(string, from.saturating_sub(1).max(0) as usize);
        return start..start + byte_of(&string[start..], length as usize);
    }
    let back = from.unsigned_abs() as usize;
    let (start, missing) = byte_from_end(string, back);
    let wanted = (length as usize).saturating_sub(missing);
    start..start + byte_of(&string[start..], wanted)
}

/// The first characters.
pub(super) fn left(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let counts = args.integers(1)?;
    cut(args, |row, string| Ok(0..byte_of(string, counts.get(row).max(0) as usize)))
}

/// The last characters.
pub(super) fn right(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let counts = args.integers(1)?;
    cut(args, |row, string| {
        Ok(byte_from_end(string, counts.get(row).max(0) as usize).0..string.len())
    })
}

/// Where the character `n`, from 0, begins; the end of the string if it has fewer.
pub(super) fn byte_of(string: &str, n: usize) -> usize {
    match string.as_bytes().get(..n) {
        None => string.len(),
        Some(first) if first.is_ascii() => n,
        Some(_) => string.char_indices().nth(n).map_or(string.len(), |(byte, _)| byte),
    }
}

/// Where the last `n` characters begin, and how many of them there are not.
fn byte_from_end(string: &str, n: usize) -> (usize, usize) {
    if n == 0 {
        return (string.len(), 0);
    }
    let bytes = string.as_bytes();
    if bytes.len() >= n && bytes[bytes.len() - n..].is_ascii() {
        return (bytes.len() - n, 0);
    }
    match string.char_indices().rev().nth(n - 1) {
        Some((byte, _)) => (byte, 0),
        None => (0, n - string.chars().count()),
    }
}

/// The part between separators, counted from 1 or, if negative, from the end; empty if there is none. An empty
/// separator does not split.
pub(super) fn split_part(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (separators, numbers) = (args.strings(1)?, args.integers(2)?);
    let finder = separators.constant().map(memmem::Finder::new);
    cut(args, |row, string| {
        let (separator, number) = (separators.get(row), numbers.get(row));
        if number == 0 {
            return Err(args.error(format!(
                "there is no part 0 of {}: parts are counted from 1, or from the end by -1, -2, ...",
                quoted(string)
            )));
        }
        if separator.is_empty() {
            return Ok(if number.unsigned_abs() == 1 { 0..string.len() } else { 0..0 });
        }
        let own;
        let finder = match &finder {
            Some(finder) => finder,
            None => {
                own = memmem::Finder::new(separator);
                &own
            }
        };
        Ok(nth_part(string, separator.len(), finder, number).unwrap_or(0..0))
    })
}

fn nth_part(
    string: &str,
    width: usize,
    finder: &memmem::Finder<'_>,
    number: i64,
) -> Option<Range<usize>> {
    let bytes = string.as_bytes();
    // From the end: the parts are counted from the start all the same, since separators can overlap.
    let skip = match number {
        1.. => number as u64 - 1,
        _ => (finder.find_iter(bytes).count() as u64 + 1).checked_sub(number.unsigned_abs())?,
    };
    let mut separators = finder.find_iter(bytes);
    let start = match skip.checked_sub(1) {
        None => 0,
        Some(before) => separators.nth(usize::try_from(before).ok()?)? + width,
    };
    Some(start..separators.next().unwrap_or(bytes.len()))
}
