//! Detaching many strings at once from the buffers that they share: their bytes are gathered in one new
//! buffer, which costs one allocation instead of two a string.

use std::sync::Arc;

use super::{Buffer, Text};

/// Strings that are to outlive their buffers; see [`Gathered::share`]. Short ones, which have none, are
/// left as they are.
#[derive(Default)]
pub(crate) struct Gathered {
    bytes: String,
}

impl Gathered {
    /// Takes a copy of the string.
    #[inline]
    pub(crate) fn add(&mut self, text: &Text) {
        if text.is_slice() {
            self.bytes.push_str(text.as_str());
        }
    }

    /// Makes what was gathered the one buffer of all.
    pub(crate) fn share(self) -> SharedGathered {
        SharedGathered { buffer: Buffer::from_string(self.bytes), next: 0 }
    }
}

/// Gathered strings, to be given back in the order in which they were added.
pub(crate) struct SharedGathered {
    buffer: Arc<Buffer>,
    next: usize,
}

impl SharedGathered {
    /// Replaces the string, which is the next of those added, by its copy in the buffer.
    #[inline]
    pub(crate) fn replace(&mut self, text: &mut Text) {
        if text.is_slice() {
            let start = self.next;
            self.next += text.len();
            *text = Text::share(&self.buffer, start, self.next);
        }
    }
}
