//! [`Text`] under serde: written as a string (as its bytes, in binary formats), read back as a slice of the memory it is decoded from
//! when that memory is a [`Buffer`] announced by [`decode_scope`].

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use super::{Buffer, Text};

thread_local! {
    static CURRENT: RefCell<Option<Arc<Buffer>>> = const { RefCell::new(None) };
}

/// While it lives, a `Text` decoded on this thread out of the announced buffer shares it. Dropping
/// it restores what was announced before.
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct DecodeScope {
    before: Option<Arc<Buffer>>,
    /// The scope belongs to the thread that opened it.
    not_send: PhantomData<*const ()>,
}

/// Announces `buffer` as the memory that rows are decoded from on this thread. Strings longer than
/// 14 bytes that a deserialiser hands out from within it become slices of it instead of copies.
/// Strings from elsewhere are copied, so a scope is never wrong, at worst useless.
pub fn decode_scope(buffer: &Arc<Buffer>) -> DecodeScope {
    let before = CURRENT.replace(Some(Arc::clone(buffer)));
    DecodeScope { before, not_send: PhantomData }
}

impl Drop for DecodeScope {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// The decoded string: a slice of the current buffer where it lies inside, else a copy.
///
/// Comparing addresses is sound evidence: the buffer is alive and immutable, so bytes at addresses
/// inside it are its bytes.
#[inline]
fn adopt(bytes: &[u8]) -> Option<Text> {
    CURRENT.with_borrow(|current| {
        let buffer = current.as_ref()?;
        let start = buffer.position_of(bytes)?;
        Some(Text::share(buffer, start, start + bytes.len()))
    })
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(self.as_str()),
            false => serializer.serialize_bytes(self.as_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_str(TextVisitor),
            false => deserializer.deserialize_bytes(TextVisitor),
        }
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    #[inline]
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(adopt(text.as_bytes()).unwrap_or_else(|| Text::from(text)))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Text, E> {
        Ok(Text::from(text))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text, E> {
        // The announced buffer is a block that passed its checksum: what this type wrote into it is
        // valid, and a check of each string again would take longer than the rest of decoding.
        if let Some(text) = adopt(bytes) {
            return Ok(text);
        }
        std::str::from_utf8(bytes)
            .map(Text::from)
            .map_err(|_| E::invalid_value(de::Unexpected::Bytes(bytes), &self))
    }
}
