//! Other characters in the place of some.

use ahash::AHashMap;
use arrow::array::ArrayRef;
use memchr::memmem;

use super::text::{push, write};
use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

/// All of the second in the first by the third, or by nothing. What is empty is not found.
pub(super) fn replace(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (strings, what, with) = (args.strings(0)?, args.strings(1)?, args.strings_at(2)?);
    let prepared = what.constant().map(memmem::Finder::new);
    write(args, |row, out| {
        let (string, what) = (strings.get(row), what.get(row));
        let with = with.map_or("", |with| with.get(row));
        if what.is_empty() {
            return push(args, out, string);
        }
        let own;
        let finder = match &prepared {
            Some(finder) => finder,
            None => {
                own = memmem::Finder::new(what);
                &own
            }
        };
        let mut done = 0;
        for found in finder.find_iter(string.as_bytes()) {
            push(args, out, &string[done..found])?;
            push(args, out, with)?;
            done = found + what.len();
        }
        push(args, out, &string[done..])
    })
}

/// Each character of the second that is in the first by the one at its place in the third, or by nothing if that
/// is shorter.
pub(super) fn translate(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (strings, from, to) = (args.strings(0)?, args.strings(1)?, args.strings(2)?);
    let prepared = from.constant().zip(to.constant()).map(|(from, to)| Translation::new(from, to));
    write(args, |row, out| {
        let own;
        let translation = match &prepared {
            Some(translation) => translation,
            None => {
                own = Translation::new(from.get(row), to.get(row));
                &own
            }
        };
        translation.apply(strings.get(row), out);
        // A character is at most four bytes.
        super::text::check(args, out.len())
    })
}

/// What becomes of characters; of those that are named twice, the first counts.
struct Translation(AHashMap<char, Option<char>>);

impl Translation {
    fn new(from: &str, to: &str) -> Self {
        let mut to = to.chars();
        let mut all = AHashMap::new();
        for character in from.chars() {
            let becomes = to.next();
            all.entry(character).or_insert(becomes);
        }
        Self(all)
    }

    fn apply(&self, string: &str, out: &mut String) {
        let becomes = |character| self.0.get(&character).copied().unwrap_or(Some(character));
        out.extend(string.chars().filter_map(becomes));
    }
}
