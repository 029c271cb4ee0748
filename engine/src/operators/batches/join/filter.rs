//! A Bloom filter over the hashes of keys: what it does not contain has no match on disk, and is not written there.

/// What it takes, if memory is ample.
const BYTES_MAX: usize = 8 << 20;
/// Of the memory that a task is sure to get.
const PART_OF_FLOOR: u64 = 32;

/// Each hash sets four bits of one word.
pub(super) struct Filter {
    words: Vec<u64>,
    shift: u32,
}

impl Filter {
    /// As large as a task with this floor can afford: how many keys there will be is not known.
    pub(super) fn new(floor: u64) -> Self {
        let bytes = ((floor / PART_OF_FLOOR) as usize).clamp(64, BYTES_MAX);
        let bits = (bytes / size_of::<u64>()).ilog2();
        Self { words: vec![0; 1 << bits], shift: u64::BITS - bits }
    }

    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        let (word, bits) = self.place(hash);
        self.words[word] |= bits;
    }

    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.words[word] & bits == bits
    }

    /// Whether enough bits are unset for it to pay.
    pub(super) fn is_useful(&self) -> bool {
        let set: u64 = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
        set * 4 <= self.words.len() as u64 * u64::from(u64::BITS) * 3
    }

    /// The other bits of the hash say where a row lies in tables and partitions, so that rows of one of these
    /// have them in common.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = 1 << (mixed & 63)
            | 1 << (mixed >> 6 & 63)
            | 1 << (mixed >> 12 & 63)
            | 1 << (mixed >> 18 & 63);
        ((mixed >> self.shift) as usize, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Well mixed, as hashes are.
    fn hash(n: u64) -> u64 {
        let n = (n + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (n ^ n >> 31).wrapping_mul(0x94d0_49bb_1331_11eb)
    }

    #[test]
    fn it_contains_what_was_added_and_little_else() {
        let mut filter = Filter::new(1 << 20);
        let keys = filter.words.len() as u64 * 6;
        (0..keys).for_each(|n| filter.add(hash(n)));
        assert!((0..keys).all(|n| filter.may_contain(hash(n))));
        assert!(filter.is_useful());
        let wrong = (keys..keys * 11).filter(|n| filter.may_contain(hash(*n))).count() as u64;
        assert!(wrong < keys, "{wrong} of {} others", keys * 10);
    }

    #[test]
    fn it_is_of_no_use_when_it_is_full() {
        let mut filter = Filter::new(0);
        assert!(filter.is_useful());
        (0..1000).for_each(|n| filter.add(hash(n)));
        assert!(!filter.is_useful());
    }
}
