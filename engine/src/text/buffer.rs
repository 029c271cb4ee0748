//! The shared memory behind [`Text`]: bytes that never change once they are here.
//! It does not grow, and it does not know which slices of it exist.

use std::fmt;
use std::str::Utf8Error;
use std::sync::Arc;

use super::Text;

/// Immutable bytes that [`Text`] values share.
///
/// A buffer made of text is validated once, as a whole, and slicing it checks only character
/// boundaries. A buffer made of encoded rows ([`Buffer::from_bytes`]) may hold anything; each slice
/// of it is validated where it is made, and again by [`Text::as_str`], never by
/// [`Text::as_bytes`].
pub struct Buffer {
    content: Content,
}

enum Content {
    Utf8(String),
    Mixed(Vec<u8>),
}

impl Buffer {
    /// A buffer of text.
    ///
    /// # Errors
    /// Returns the position of the first byte that is not UTF-8. Validation is vectorised.
    pub fn from_utf8(bytes: Vec<u8>) -> Result<Arc<Self>, Utf8Error> {
        Self::validated(bytes).map(Self::from_string).map_err(|(_, error)| error)
    }

    /// As [`Buffer::from_utf8`] up to the sharing, and returning the bytes to the caller where they
    /// are not UTF-8.
    pub(crate) fn validated(bytes: Vec<u8>) -> Result<String, (Vec<u8>, Utf8Error)> {
        // `String::from_utf8` is fast on ASCII alone. Elsewhere the vectorised check pays for the
        // copy that turns its borrowed verdict into an owned string.
        if !bytes.is_ascii()
            && let Ok(text) = simdutf8::basic::from_utf8(&bytes)
        {
            return Ok(text.to_owned());
        }
        String::from_utf8(bytes).map_err(|error| {
            let reason = error.utf8_error();
            (error.into_bytes(), reason)
        })
    }

    /// A buffer of text that is valid already.
    pub fn from_string(text: String) -> Arc<Self> {
        Arc::new(Self { content: Content::Utf8(text) })
    }

    /// A buffer of encoded rows, for [`decode_scope`](super::decode_scope).
    pub fn from_bytes(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { content: Content::Mixed(bytes) })
    }

    /// All bytes of the buffer.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.content {
            Content::Utf8(text) => text.as_bytes(),
            Content::Mixed(bytes) => bytes,
        }
    }

    /// The string at `start..end`; `None` where that is not one.
    #[inline]
    pub(super) fn str_at(&self, start: usize, end: usize) -> Option<&str> {
        match &self.content {
            Content::Utf8(text) => text.get(start..end),
            Content::Mixed(bytes) => simdutf8::basic::from_utf8(bytes.get(start..end)?).ok(),
        }
    }

    /// The string `buffer[start..end]`, sharing the buffer where it is longer than 14 bytes; `None`
    /// where the range leaves the buffer or is not UTF-8 on its own.
    pub fn slice(self: &Arc<Self>, start: usize, end: usize) -> Option<Text> {
        self.str_at(start, end)?;
        Some(Text::share(self, start, end))
    }

    /// Where `part` lies in this buffer, by address; `None` where it lies elsewhere.
    #[inline]
    pub(super) fn position_of(&self, part: &[u8]) -> Option<usize> {
        let own = self.as_bytes();
        let start = part.as_ptr().addr().checked_sub(own.as_ptr().addr())?;
        (start.checked_add(part.len())? <= own.len()).then_some(start)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.content {
            Content::Utf8(_) => "utf8",
            Content::Mixed(_) => "mixed",
        };
        write!(f, "Buffer({kind}, {} bytes)", self.as_bytes().len())
    }
}
