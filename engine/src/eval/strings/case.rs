//! Small letters and capitals, by Unicode's tables and no language's.

use arrow::array::ArrayRef;

use super::text::write;
use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

pub(super) fn lower(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let strings = args.strings(0)?;
    write(args, |row, out| {
        push_lower(strings.get(row), out);
        Ok(())
    })
}

pub(super) fn upper(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let strings = args.strings(0)?;
    write(args, |row, out| {
        let string = strings.get(row);
        if string.is_ascii() {
            out.push_str(string);
            out.make_ascii_uppercase();
        } else {
            out.extend(string.chars().flat_map(char::to_uppercase));
        }
        Ok(())
    })
}

/// Each word with a capital and small letters after it. Words have blanks between them.
pub(super) fn init_cap(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let strings = args.strings(0)?;
    let mut small = String::new();
    write(args, |row, out| {
        small.clear();
        push_lower(strings.get(row), &mut small);
        let mut begins = true;
        for character in small.chars() {
            if begins {
                out.extend(character.to_uppercase());
            } else {
                out.push(character);
            }
            begins = character == ' ';
        }
        Ok(())
    })
}

fn push_lower(string: &str, out: &mut String) {
    if string.is_ascii() {
        out.push_str(string);
        out.make_ascii_lowercase();
    } else if string.contains('Σ') {
        // The one letter whose small form depends on its neighbours.
        out.push_str(&string.to_lowercase());
    } else {
        out.extend(string.chars().flat_map(char::to_lowercase));
    }
}
