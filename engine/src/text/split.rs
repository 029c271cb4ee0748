//! Splitting a [`Text`] at a separator character.

use super::{Text, View};

/// Iterator over the parts between separators; see [`Text::split`].
#[derive(Clone, Debug)]
pub struct Split {
    text: Text,
    separator: char,
    /// Start of the next part in the view of `text`; `None` when the last has been given.
    next: Option<usize>,
}

impl Text {
    /// The parts of the string between occurrences of `separator`, as `str::split` gives them: two
    /// adjacent separators enclose an empty part, and the empty string has one empty part. The
    /// iterator owns what it reads, so a closure may return it.
    #[inline]
    pub fn split(&self, separator: char) -> Split {
        Split { text: self.clone(), separator, next: Some(self.view().start) }
    }

    /// What stands before and after the first `separator`; `None` where there is none.
    pub fn split_once(&self, separator: char) -> Option<(Self, Self)> {
        let View { bytes, start, end } = self.view();
        let at = find(&bytes[start..end], separator)? + start;
        Some((self.part(start, at), self.part(at + separator.len_utf8(), end)))
    }
}

impl Iterator for Split {
    type Item = Text;

    #[inline]
    fn next(&mut self) -> Option<Text> {
        let start = self.next?;
        let View { bytes, end, .. } = self.text.view();
        let found = find(&bytes[start..end], self.separator);
        self.next = found.map(|at| start + at + self.separator.len_utf8());
        Some(self.text.part(start, found.map_or(end, |at| start + at)))
    }
}

impl std::iter::FusedIterator for Split {}

/// Where `separator` first occurs. A character's bytes occur in UTF-8 only as that character.
#[inline]
fn find(bytes: &[u8], separator: char) -> Option<usize> {
    match u8::try_from(separator) {
        Ok(byte) if byte.is_ascii() => memchr::memchr(byte, bytes),
        _ => memchr::memmem::find(bytes, separator.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}
