//! Strings of at most 14 bytes, stored in place and padded with zeros, so that they compare and
//! hash as two machine words. Nothing here knows of shared buffers.

/// The longest string stored in place.
pub(super) const INLINE_BYTES_MAX: usize = 14;

/// At most 14 bytes of UTF-8. Bytes past the length are zero: equality is array equality.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Inline {
    len: u8,
    bytes: [u8; INLINE_BYTES_MAX],
}

/// `KEEP[n]` keeps the first `n` bytes of a little-endian word.
const KEEP: [u128; 16] = {
    let mut masks = [0; 16];
    let mut len = 1;
    while len < 16 {
        masks[len] = (masks[len - 1] << 8) | 0xFF;
        len += 1;
    }
    masks
};

impl Inline {
    pub(super) const EMPTY: Self = Self { len: 0, bytes: [0; INLINE_BYTES_MAX] };

    /// Copies `source[start..start + len]`. Where 16 bytes can be read this is one load and a mask
    /// instead of a call to `memcpy`.
    #[inline]
    pub(super) fn load(source: &[u8], start: usize, len: usize) -> Self {
        match source.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
            Some(chunk) => Self::from_word(u128::from_le_bytes(*chunk), len),
            None => Self::copy(&source[start..start + len]),
        }
    }

    /// Copies at most 14 bytes, as two loads that may overlap: where they do they agree.
    #[inline]
    pub(super) fn copy(source: &[u8]) -> Self {
        let len = source.len();
        let word = if let (Some(head), Some(tail)) = (source.first_chunk(), source.last_chunk()) {
            let tail = u128::from(u64::from_le_bytes(*tail));
            u128::from(u64::from_le_bytes(*head)) | (tail << (8 * (len - 8)))
        } else if let (Some(head), Some(tail)) = (source.first_chunk(), source.last_chunk()) {
            let tail = u128::from(u32::from_le_bytes(*tail));
            u128::from(u32::from_le_bytes(*head)) | (tail << (8 * (len - 4)))
        } else {
            source.iter().rev().fold(0, |word, byte| (word << 8) | u128::from(*byte))
        };
        Self::from_word(word, len)
    }

    /// The bytes `start..end` of this string.
    #[inline]
    pub(super) fn part(&self, start: usize, end: usize) -> Self {
        Self::from_word(self.word() >> (8 * start), end - start)
    }

    /// The first `len` bytes of a little-endian word; `len` is at most 14.
    #[inline]
    fn from_word(word: u128, len: usize) -> Self {
        debug_assert!(len <= INLINE_BYTES_MAX);
        let [bytes @ .., _, _] = (word & KEEP[len & 15]).to_le_bytes();
        Self { len: len as u8, bytes }
    }

    #[inline]
    fn word(&self) -> u128 {
        let [low, high] = self.halves();
        u128::from(low) | u128::from(high) << 64
    }

    /// The bytes as two little-endian words, by two loads that overlap: a copy into a padded array
    /// would be a call and a stalled load.
    #[inline(always)]
    fn halves(&self) -> [u64; 2] {
        let load = |chunk: Option<&[u8; 8]>| chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk));
        [load(self.bytes.first_chunk()), load(self.bytes.last_chunk()) >> 16]
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        // The `min` proves to the compiler that the slice is in bounds.
        &self.bytes[..self.len().min(INLINE_BYTES_MAX)]
    }

    /// All 14 bytes, zeros included.
    #[inline]
    pub(super) fn padded(&self) -> &[u8] {
        &self.bytes
    }

    /// A number that orders as the bytes do, then by length (zero padding makes `"a"` and `"a\0"`
    /// equal in their bytes).
    #[inline]
    pub(super) fn order(&self) -> u128 {
        self.word().swap_bytes() | u128::from(self.len)
    }

    /// The bytes and the length as two words, for hashing.
    #[inline(always)]
    pub(super) fn words(&self) -> [u64; 2] {
        let [low, high] = self.halves();
        [low, high | u64::from(self.len) << 56]
    }

    #[inline]
    pub(super) fn to_ascii_lowercase(self) -> Self {
        Self { len: self.len, bytes: self.bytes.map(|byte| byte.to_ascii_lowercase()) }
    }
}
