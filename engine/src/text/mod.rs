//! [`Text`]: the immutable string value of text pipelines. Sixteen bytes; short strings are stored
//! in place, longer ones are slices of a shared [`Buffer`], so that reading lines, splitting them
//! into words and decoding rows allocate nothing per value.
//!
//! It is not a growable string and not a rope: build with `String`, then convert.
//!
//! # Memory
//!
//! A slice keeps its whole buffer alive. Code that retains a few strings out of many (a filter with
//! low selectivity, the keys of a long-lived table) calls [`Text::compact`].

mod buffer;
mod decode;
mod gather;
mod inline;
mod ops;
mod split;
mod traits;
mod words;

use std::ops::{Bound, RangeBounds};
use std::str::Utf8Error;
use std::sync::Arc;

pub use buffer::Buffer;
pub use decode::{DecodeScope, decode_scope};
pub(crate) use gather::Gathered;
use inline::{INLINE_BYTES_MAX, Inline};
pub use split::Split;
pub use words::Words;

/// An immutable UTF-8 string of 16 bytes, cheap to clone and to slice.
///
/// Up to 14 bytes are stored in place; anything longer shares a [`Buffer`]. The representation is
/// canonical in that respect (14 bytes or fewer are *always* in place), so equality, order and hash
/// are functions of the bytes alone.
///
/// `Text` is deliberately not `Borrow<str>`: its hash feeds short strings as two words rather than
/// as `str` does, which is what makes it fast. Look up with a `Text` key: making one of a short
/// `&str` costs no allocation.
#[derive(Clone)]
pub struct Text {
    repr: Repr,
}

/// One tag byte and fifteen bytes of payload.
#[derive(Clone)]
enum Repr {
    Inline(Inline),
    /// More than 14 and less than 2^24 bytes, starting below 2^32.
    Slice {
        len: [u8; 3],
        start: u32,
        buffer: Arc<Buffer>,
    },
    /// A slice whose position or length does not fit [`Repr::Slice`].
    Long(Arc<LongSlice>),
}

/// A slice described by full-width positions.
struct LongSlice {
    buffer: Arc<Buffer>,
    start: usize,
    end: usize,
}

const _: () = assert!(size_of::<Text>() == 16);
const _: () = assert!(size_of::<Option<Text>>() == 16);

/// Lengths from here on need [`Repr::Long`].
const SLICE_BYTES_END: usize = 1 << 24;

/// Where the bytes of a `Text` lie: `bytes[start..end]`, with whatever surrounds them in the shared
/// buffer. Scanners work on this view because wide loads may then cross the end of the string.
#[derive(Clone, Copy)]
struct View<'a> {
    bytes: &'a [u8],
    start: usize,
    end: usize,
}

impl Text {
    /// The empty string.
    pub const EMPTY: Self = Self { repr: Repr::Inline(Inline::EMPTY) };

    /// The string `buffer[start..end]`, which the caller knows to be valid UTF-8 on its own.
    ///
    /// Inlined whatever the compiler's estimate, so that a short string is built in its
    /// destination: on the way through a temporary, a wide load waits for the narrow stores before
    /// it, which costs a third of splitting a line into words.
    #[inline(always)]
    pub(crate) fn share(buffer: &Arc<Buffer>, start: usize, end: usize) -> Self {
        match Self::share_short(buffer, start, end) {
            Some(text) => text,
            None => Self::share_long(buffer, start, end),
        }
    }

    /// As [`Text::share`], where the string fits in place.
    #[inline(always)]
    fn share_short(buffer: &Buffer, start: usize, end: usize) -> Option<Self> {
        let len = end - start;
        (len <= INLINE_BYTES_MAX)
            .then(|| Self { repr: Repr::Inline(Inline::load(buffer.as_bytes(), start, len)) })
    }

    /// As [`Text::share`], for more than 14 bytes.
    #[inline(never)]
    fn share_long(buffer: &Arc<Buffer>, start: usize, end: usize) -> Self {
        let len = end - start;
        match u32::try_from(start) {
            Ok(start) if len < SLICE_BYTES_END => {
                let [a, b, c, ..] = len.to_le_bytes();
                Self { repr: Repr::Slice { len: [a, b, c], start, buffer: Arc::clone(buffer) } }
            }
            _ => {
                let slice = LongSlice { buffer: Arc::clone(buffer), start, end };
                Self { repr: Repr::Long(Arc::new(slice)) }
            }
        }
    }

    /// Validates and copies `bytes`.
    ///
    /// # Errors
    /// Returns the position of the first byte that is not UTF-8.
    pub fn from_utf8(bytes: &[u8]) -> Result<Self, Utf8Error> {
        std::str::from_utf8(bytes).map(Self::from)
    }

    #[inline]
    fn view(&self) -> View<'_> {
        match &self.repr {
            Repr::Inline(inline) => View { bytes: inline.padded(), start: 0, end: inline.len() },
            Repr::Slice { len, start, buffer } => {
                let start = *start as usize;
                View { bytes: buffer.as_bytes(), start, end: start + slice_len(*len) }
            }
            Repr::Long(slice) => {
                View { bytes: slice.buffer.as_bytes(), start: slice.start, end: slice.end }
            }
        }
    }

    /// The part of this string at `start..end` of its view, which must lie on char boundaries.
    #[inline]
    fn part(&self, start: usize, end: usize) -> Self {
        match &self.repr {
            Repr::Inline(inline) => Self { repr: Repr::Inline(inline.part(start, end)) },
            Repr::Slice { buffer, .. } => Self::share(buffer, start, end),
            Repr::Long(slice) => Self::share(&slice.buffer, start, end),
        }
    }

    /// The bytes of the string. This is the accessor for hot paths: it checks nothing.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.repr {
            Repr::Inline(inline) => inline.as_bytes(),
            Repr::Slice { .. } | Repr::Long(_) => {
                let View { bytes, start, end } = self.view();
                &bytes[start..end]
            }
        }
    }

    /// The string. A slice of a text buffer costs two boundary checks; a short string, or a slice
    /// of a buffer of mixed bytes (see [`Buffer`]), is validated again on each call, because
    /// trusting the invariant would need `unsafe`. Hot paths use [`Text::as_bytes`].
    #[inline]
    pub fn as_str(&self) -> &str {
        let valid = match &self.repr {
            Repr::Inline(inline) => std::str::from_utf8(inline.as_bytes()).ok(),
            Repr::Slice { len, start, buffer } => {
                buffer.str_at(*start as usize, *start as usize + slice_len(*len))
            }
            Repr::Long(slice) => slice.buffer.str_at(slice.start, slice.end),
        };
        #[expect(clippy::expect_used, reason = "every constructor establishes the invariant")]
        valid.expect("a Text holds valid UTF-8")
    }

    /// The length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Inline(inline) => inline.len(),
            Repr::Slice { len, .. } => slice_len(*len),
            Repr::Long(slice) => slice.end - slice.start,
        }
    }

    /// Whether the string has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the bytes lie in a shared buffer, which this value keeps alive.
    pub fn is_slice(&self) -> bool {
        !matches!(self.repr, Repr::Inline(_))
    }

    /// The same string, detached from a buffer larger than itself by copying it into its own.
    #[must_use]
    pub fn compact(&self) -> Self {
        let view = self.view();
        if !self.is_slice() || view.bytes.len() == view.end - view.start {
            return self.clone();
        }
        Self::from(self.as_str())
    }

    /// The bytes `range` of this string as a string that shares its buffer; `None` where the range
    /// leaves the string or cuts a character.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Option<Self> {
        let from = match range.start_bound() {
            Bound::Included(&at) => at,
            Bound::Excluded(&at) => at.checked_add(1)?,
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(&at) => at.checked_add(1)?,
            Bound::Excluded(&at) => at,
            Bound::Unbounded => self.len(),
        };
        let bytes = self.as_bytes();
        let inside = from <= to && to <= bytes.len();
        if !inside || !is_boundary(bytes, from) || !is_boundary(bytes, to) {
            return None;
        }
        let start = self.view().start;
        Some(self.part(start + from, start + to))
    }
}

#[inline]
fn slice_len([a, b, c]: [u8; 3]) -> usize {
    u32::from_le_bytes([a, b, c, 0]) as usize
}

/// Whether a character starts at `at` of valid UTF-8, or the string ends there.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

#[cfg(test)]
mod tests;
