//! One bit a row.

/// Bits, all unset at first.
pub(super) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    pub(super) fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    /// Appends so many bits.
    pub(super) fn grow(&mut self, by: usize) {
        self.len += by;
        self.words.resize(self.len.div_ceil(64), 0);
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    /// Those from `first` on that are set, or that are unset, in order.
    pub(super) fn that_are(&self, set: bool, first: usize) -> impl Iterator<Item = usize> {
        let (mut at, flip) = (first, if set { 0 } else { u64::MAX });
        std::iter::from_fn(move || {
            while at < self.len {
                let rest = (self.words[at / 64] ^ flip) >> (at % 64);
                if rest == 0 {
                    at = (at / 64 + 1) * 64;
                    continue;
                }
                let found = at + rest.trailing_zeros() as usize;
                at = found + 1;
                return (found < self.len).then_some(found);
            }
            None
        })
    }
}
