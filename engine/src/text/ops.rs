//! Everyday string operations of [`Text`], on bytes where the answer allows it. Anything else is
//! one [`Text::as_str`] away.

use std::str::FromStr;

use super::words::{skip_space, space_len};
use super::{Repr, Text, View};

impl Text {
    /// The string without whitespace (Unicode `White_Space`) at either end.
    #[must_use]
    pub fn trim(&self) -> Self {
        let View { bytes, start, end } = self.view();
        let start = skip_space(bytes, start, end);
        let mut stop = end;
        while stop > start {
            let len = last_space_len(&bytes[start..stop]);
            if len == 0 {
                break;
            }
            stop -= len;
        }
        self.part(start, stop)
    }

    /// The value that the string spells.
    ///
    /// # Errors
    /// Returns the error of the target type.
    pub fn parse<T: FromStr>(&self) -> Result<T, T::Err> {
        self.as_str().parse()
    }

    /// The string in lower case, by Unicode's rules; without an allocation where it is short ASCII.
    #[must_use]
    pub fn to_lowercase(&self) -> Self {
        match self.repr {
            Repr::Inline(inline) if self.is_ascii() => {
                Self { repr: Repr::Inline(inline.to_ascii_lowercase()) }
            }
            _ => Self::from(self.as_str().to_lowercase()),
        }
    }

    /// Whether every character is ASCII.
    pub fn is_ascii(&self) -> bool {
        self.as_bytes().is_ascii()
    }

    /// Whether the string begins with `prefix`.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.as_bytes().starts_with(prefix.as_bytes())
    }

    /// Whether the string ends with `suffix`.
    pub fn ends_with(&self, suffix: &str) -> bool {
        self.as_bytes().ends_with(suffix.as_bytes())
    }

    /// Whether `part` occurs in the string.
    pub fn contains(&self, part: &str) -> bool {
        memchr::memmem::find(self.as_bytes(), part.as_bytes()).is_some()
    }
}

/// The length of the whitespace character at the end of `bytes`, or zero.
fn last_space_len(bytes: &[u8]) -> usize {
    let len = bytes.len();
    (1..=3.min(len)).find(|&width| space_len(&bytes[len - width..]) == width).unwrap_or(0)
}
