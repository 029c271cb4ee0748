//! A dense set of partitions whose smallest member is found in amortised constant time.

/// A set of numbers below a fixed bound.
#[derive(Debug, Default)]
pub(super) struct BitSet {
    words: Vec<u64>,
    len: u32,
    /// No word before this one has a bit set.
    low: usize,
}

impl BitSet {
    /// An empty set of numbers below `bound`.
    pub(super) fn new(bound: u32) -> Self {
        Self { words: vec![0; bound.div_ceil(64) as usize], len: 0, low: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Adds a member; whether it was new.
    pub(super) fn insert(&mut self, member: u32) -> bool {
        let (word, bit) = Self::position(member);
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += u32::from(new);
        self.low = self.low.min(word);
        new
    }

    /// Removes a member; whether it was there.
    pub(super) fn remove(&mut self, member: u32) -> bool {
        let (word, bit) = Self::position(member);
        let had = self.words.get(word).is_some_and(|w| w & bit != 0);
        if had {
            self.words[word] &= !bit;
            self.len -= 1;
        }
        had
    }

    /// All members, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.words.len() as u32 * 64).filter(|&member| {
            let (word, bit) = Self::position(member);
            self.words[word] & bit != 0
        })
    }

    /// Removes the smallest member.
    pub(super) fn pop_first(&mut self) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        while self.words[self.low] == 0 {
            self.low += 1;
        }
        let bit = self.words[self.low].trailing_zeros();
        self.words[self.low] &= self.words[self.low] - 1;
        self.len -= 1;
        u32::try_from(self.low * 64).ok().map(|base| base + bit)
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
        self.len = 0;
        self.low = 0;
    }

    fn position(member: u32) -> (usize, u64) {
        ((member / 64) as usize, 1 << (member % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_an_ordered_set(ops in prop::collection::vec((0_u8..4, 0_u32..300), 0..200)) {
            let (mut bits, mut model) = (BitSet::new(300), BTreeSet::new());
            for (op, member) in ops {
                match op {
                    0 | 1 => prop_assert_eq!(bits.insert(member), model.insert(member)),
                    2 => prop_assert_eq!(bits.remove(member), model.remove(&member)),
                    _ => prop_assert_eq!(bits.pop_first(), model.pop_first()),
                }
                prop_assert_eq!(bits.len() as usize, model.len());
                prop_assert!(bits.iter().eq(model.iter().copied()));
            }
        }
    }
}
