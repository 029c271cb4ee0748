//! What makes [`Text`] a well-behaved value: conversions, equality, order, hash and display. All of
//! them are functions of the bytes, never of where the bytes lie.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::inline::{INLINE_BYTES_MAX, Inline};
use super::{Buffer, Repr, Text};

impl From<&str> for Text {
    #[inline]
    fn from(text: &str) -> Self {
        if text.len() <= INLINE_BYTES_MAX {
            return Self { repr: Repr::Inline(Inline::load(text.as_bytes(), 0, text.len())) };
        }
        Self::from(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        let len = text.len();
        if len <= INLINE_BYTES_MAX {
            return Self { repr: Repr::Inline(Inline::load(text.as_bytes(), 0, len)) };
        }
        Self::share(&Buffer::from_string(text), 0, len)
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<char> for Text {
    fn from(character: char) -> Self {
        Self::from(&*character.encode_utf8(&mut [0; 4]))
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.as_str().to_owned()
    }
}

impl From<&Text> for String {
    fn from(text: &Text) -> Self {
        text.as_str().to_owned()
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Text {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        match (&self.repr, &other.repr) {
            (Repr::Inline(a), Repr::Inline(b)) => a.words() == b.words(),
            // Fourteen bytes or fewer are always in place, so these cannot be equal.
            (Repr::Inline(_), _) | (_, Repr::Inline(_)) => false,
            _ => self.as_bytes() == other.as_bytes(),
        }
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<Text> for &str {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<Text> for str {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Ord for Text {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.repr, &other.repr) {
            (Repr::Inline(a), Repr::Inline(b)) => a.order().cmp(&b.order()),
            _ => self.as_bytes().cmp(other.as_bytes()),
        }
    }
}

impl PartialOrd for Text {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Text {
    /// Two words for a string in place, the bytes and their length for a longer one.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.repr {
            Repr::Inline(inline) => {
                let [low, high] = inline.words();
                state.write_u64(low);
                state.write_u64(high);
            }
            Repr::Slice { .. } | Repr::Long(_) => {
                let bytes = self.as_bytes();
                state.write(bytes);
                state.write_usize(bytes.len());
            }
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
