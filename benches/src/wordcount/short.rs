//! Counts of words of up to 15 bytes, which fit a 16-byte key with their length.

/// The longest word that has a [`Key`].
pub(super) const SHORT_LEN_MAX: usize = 15;

/// A word's bytes, zeros after them, and its length in the last byte: one key a word, none of them zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Key(u128);

impl Key {
    /// The key of the `len` bytes of `text` from `start`; `len` is from 1 to [`SHORT_LEN_MAX`].
    #[inline]
    pub(super) fn of(text: &[u8], start: usize, len: usize) -> Self {
        let bytes = match text[start..].first_chunk() {
            Some(bytes) => *bytes,
            None => padded(&text[start..]),
        };
        let word = u128::from_le_bytes(bytes) & !(u128::MAX << (8 * len));
        Self(word | (len as u128) << 120)
    }

    /// The key as bytes, of which the first `len` are the word.
    pub(super) fn bytes(self) -> ([u8; 16], usize) {
        (self.0.to_le_bytes(), (self.0 >> 120) as usize)
    }

    /// Two halves multiplied to 128 bits and folded, as in wyhash.
    #[inline]
    pub(super) fn hash(self) -> u64 {
        let low = self.0 as u64 ^ 0xA076_1D64_78BD_642F;
        let high = (self.0 >> 64) as u64 ^ 0xE703_7ED1_A0B4_28DB;
        let product = u128::from(low) * u128::from(high);
        (product >> 64) as u64 ^ product as u64
    }
}

#[cold]
fn padded(rest: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..rest.len()].copy_from_slice(rest);
    bytes
}

/// Half a cache line; a zero key marks a free slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: Key,
    count: u64,
}

/// A table of open addressing with linear probing, at most half full.
#[derive(Clone, Debug)]
pub(super) struct ShortCounts {
    /// A power of two of slots.
    slots: Vec<Slot>,
    used: usize,
}

impl Default for ShortCounts {
    fn default() -> Self {
        Self { slots: vec![Slot::default(); 1 << 12], used: 0 }
    }
}

impl ShortCounts {
    /// Adds `count` to the key's count.
    #[inline]
    pub(super) fn add(&mut self, key: Key, count: u64) {
        let mask = self.slots.len() - 1;
        let mut i = key.hash() as usize;
        loop {
            let slot = &mut self.slots[i & mask];
            if slot.key == key {
                slot.count += count;
                return;
            }
            if slot.key == Key::default() {
                *slot = Slot { key, count };
                self.used += 1;
                if 2 * self.used > mask {
                    self.grow();
                }
                return;
            }
            i += 1;
        }
    }

    /// Adds 1 to the count of each key. Not inlined, so that the loop stays one of its own.
    #[inline(never)]
    pub(super) fn add_each(&mut self, keys: &[Key]) {
        for key in keys {
            self.add(*key, 1);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![Slot::default(); 4 * self.slots.len()];
        let old = std::mem::replace(self, Self { slots: larger, used: 0 });
        old.for_each(|key, count| self.add(key, count));
    }

    /// Calls `each` with every key and its count.
    pub(super) fn for_each(&self, mut each: impl FnMut(Key, u64)) {
        for slot in self.slots.iter().filter(|slot| slot.count > 0) {
            each(slot.key, slot.count);
        }
    }

    /// Distinct words.
    pub(super) fn len(&self) -> usize {
        self.used
    }
}
