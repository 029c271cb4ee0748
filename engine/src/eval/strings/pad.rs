//! Strings made longer, turned round, or of a code.

use arrow::array::ArrayRef;

use super::part::byte_of;
use super::text::{check, push, write};
use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

/// Where a string is filled up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// So many times; not at all if that is negative.
pub(super) fn repeat(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (strings, times) = (args.strings(0)?, args.integers(1)?);
    write(args, |row, out| {
        let (string, times) = (strings.get(row), times.get(row).max(0) as usize);
        if string.is_empty() {
            return Ok(());
        }
        let bytes = string.len().saturating_mul(times);
        check(args, bytes)?;
        out.reserve(bytes);
        (0..times).for_each(|_| out.push_str(string));
        Ok(())
    })
}

/// To so many characters, by the third argument over and over, or blanks. What is longer is cut at its end.
pub(super) fn pad(args: Arguments<'_>, side: Side) -> Result<ArrayRef, EvalError> {
    let (strings, lengths, fills) = (args.strings(0)?, args.integers(1)?, args.strings_at(2)?);
    write(args, |row, out| {
        let string = strings.get(row);
        let length = lengths.get(row).max(0) as usize;
        let fill = fills.map_or(" ", |fills| fills.get(row));
        let end = byte_of(string, length);
        let kept = &string[..end];
        // It is as long as it is to be if characters are left over.
        let missing = if end < string.len() { 0 } else { length - kept.chars().count() };
        if side == Side::Right {
            push(args, out, kept)?;
        }
        push_fill(args, out, fill, missing)?;
        if side == Side::Left {
            push(args, out, kept)?;
        }
        Ok(())
    })
}

fn push_fill(
    args: Arguments<'_>,
    out: &mut String,
    fill: &str,
    characters: usize,
) -> Result<(), EvalError> {
    let width = fill.chars().count();
    if width == 0 || characters == 0 {
        return Ok(());
    }
    let (whole, rest) = (characters / width, &fill[..byte_of(fill, characters % width)]);
    let bytes = fill.len().saturating_mul(whole).saturating_add(rest.len());
    check(args, out.len().saturating_add(bytes))?;
    (0..whole).for_each(|_| out.push_str(fill));
    out.push_str(rest);
    Ok(())
}

/// From end to start, by characters.
pub(super) fn reverse(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let strings = args.strings(0)?;
    write(args, |row, out| {
        out.extend(strings.get(row).chars().rev());
        Ok(())
    })
}

/// The character of a code modulo 256; nothing for a negative one.
pub(super) fn chr(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let codes = args.integers(0)?;
    write(args, |row, out| {
        let code = codes.get(row);
        if code >= 0 {
            out.push(char::from((code % 256) as u8));
        }
        Ok(())
    })
}
