//! Keys of a fixed number of words, numbered in the order in which they come.

use super::slots::Slots;
use super::table::ABSENT;

/// As many keys as are looked up together: enough misses to keep the memory busy, few enough to
/// stay in the first cache from one pass to the next.
const GROUP: usize = 32;

/// Keys of any width.
pub(super) trait Words {
    /// The number of each key, those of new ones included.
    fn intern(&mut self, keys: &[u64], hashes: &[u64], numbers: &mut Vec<u32>);
    /// The number of each key, or [`ABSENT`].
    fn find(&self, keys: &[u64], hashes: &[u64], numbers: &mut Vec<u32>);
    /// All keys, by number.
    fn keys(&self) -> &[u64];
    /// How many.
    fn len(&self) -> usize;
    /// Bytes held.
    fn bytes(&self) -> usize;
    /// Bytes that so many more keys may add while they are put in.
    fn growth(&self, more: usize) -> usize;
    /// The hashes.
    fn slots(&self) -> &Slots;
}

/// A table for keys of at least so many words, and the number it has made of them: few widths are
/// worth code of their own. `None` if they are too wide.
pub(super) fn of_width(words: usize) -> Option<(Box<dyn Words>, usize)> {
    Some(match words {
        0..=1 => (Table::<1>::boxed(), 1),
        2 => (Table::<2>::boxed(), 2),
        3 => (Table::<3>::boxed(), 3),
        4 => (Table::<4>::boxed(), 4),
        5..=6 => (Table::<6>::boxed(), 6),
        7..=8 => (Table::<8>::boxed(), 8),
        9..=10 => (Table::<10>::boxed(), 10),
        11..=16 => (Table::<16>::boxed(), 16),
        _ => return None,
    })
}

/// A table for keys of one word.
pub(super) fn narrowest() -> Box<dyn Words> {
    Table::<1>::boxed()
}

struct Table<const N: usize> {
    slots: Slots,
    keys: Vec<[u64; N]>,
}

impl<const N: usize> Table<N> {
    fn boxed() -> Box<dyn Words> {
        Box::new(Self { slots: Slots::new(), keys: Vec::new() })
    }

    /// Asks for what a group of lookups will touch: first the slots, then the keys that these name.
    #[inline(always)]
    fn prefetch(&self, hashes: &[u64]) {
        for hash in hashes {
            self.slots.prefetch(*hash);
        }
        for hash in hashes {
            if let Some(number) = self.slots.guess(*hash) {
                prefetch_index::prefetch_index(&self.keys, number as usize);
            }
        }
    }
}

impl<const N: usize> Words for Table<N> {
    fn intern(&mut self, keys: &[u64], hashes: &[u64], numbers: &mut Vec<u32>) {
        let (keys, _) = keys.as_chunks::<N>();
        numbers.reserve(keys.len());
        let mut last: Option<(&[u64; N], u32)> = None;
        for (keys, hashes) in keys.chunks(GROUP).zip(hashes.chunks(GROUP)) {
            self.slots.reserve(keys.len());
            self.prefetch(hashes);
            for (key, &hash) in keys.iter().zip(hashes) {
                // Rows are often in the order of their keys, or nearly so.
                if let Some((_, number)) = last.filter(|(before, _)| *before == key) {
                    numbers.push(number);
                    continue;
                }
                let found = self.slots.find(hash, |number| self.keys[number as usize] == *key);
                let number = found.unwrap_or_else(|free| {
                    let number = self.keys.len() as u32;
                    self.slots.fill(free, hash, number);
                    self.keys.push(*key);
                    number
                });
                last = Some((key, number));
                numbers.push(number);
            }
        }
    }

    fn find(&self, keys: &[u64], hashes: &[u64], numbers: &mut Vec<u32>) {
        let (keys, _) = keys.as_chunks::<N>();
        numbers.reserve(keys.len());
        for (keys, hashes) in keys.chunks(GROUP).zip(hashes.chunks(GROUP)) {
            self.prefetch(hashes);
            for (key, &hash) in keys.iter().zip(hashes) {
                let found = self.slots.find(hash, |number| self.keys[number as usize] == *key);
                numbers.push(found.unwrap_or(ABSENT));
            }
        }
    }

    fn keys(&self) -> &[u64] {
        self.keys.as_flattened()
    }

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn bytes(&self) -> usize {
        self.slots.bytes() + self.keys.capacity() * size_of::<[u64; N]>()
    }

    fn growth(&self, more: usize) -> usize {
        let room = self.keys.capacity() - self.keys.len();
        let keys = if room >= more { 0 } else { 2 * self.keys.capacity() * size_of::<[u64; N]>() };
        keys + self.slots.growth(more)
    }

    fn slots(&self) -> &Slots {
        &self.slots
    }
}
