//! The hash table behind combining by key.
//!
//! A table is larger than the caches as a rule, so that a lookup is a cache miss. Entries lie in the
//! slots themselves, which makes it one, and keys are looked up a batch at a time before anything is
//! changed, which lets the misses of a batch overlap.
//!
//! The order of the entries means nothing; whoever needs one sorts them.

use std::any::Any;

use millstream_shuffle::partition::partition_hash;

use crate::rdd::{Data, Key};
use crate::text::Text;

const SLOTS_MIN: usize = 16;

/// As many keys as are looked up together: enough misses to keep the memory busy, few enough slots to
/// stay in the first cache between the passes.
const BATCH: usize = 64;

/// Odd; spreads hashes over the slots. Entries leave a table in the order of its slots: were that the
/// order of the hashes, they would fill the table of a reader from one end to the other, and crowd there.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Values by key.
pub(crate) struct CombineTable<K, S> {
    /// A power of two of slots, at most three quarters of them taken; probed linearly.
    slots: Vec<Option<(K, S)>>,
    len: usize,
}

/// What a lookup of many keys has found, row by row; kept from one lookup to the next for its memory.
#[derive(Default)]
pub(crate) struct Found {
    rows: Vec<(u64, u32)>,
}

/// The slot of a key that was not there.
const NONE: u32 = u32::MAX;

impl Found {
    /// By row, the hash of its key and the slot of its entry.
    #[inline]
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, u32)> {
        self.rows.iter().copied()
    }
}

impl<K: Key, S> CombineTable<K, S> {
    pub(crate) fn new() -> Self {
        Self { slots: empty(SLOTS_MIN), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The table's own bytes, without what keys and values own on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
    }

    /// Bytes that `rows` more keys may make the table allocate on top of [`Self::bytes`].
    pub(crate) fn growth(&self, rows: usize) -> usize {
        match fits(self.len + rows, self.slots.len()) {
            true => 0,
            false => 2 * self.bytes(),
        }
    }

    /// Looks up all rows by their keys, and makes room for as many new ones: until the next lookup no
    /// entry moves.
    pub(crate) fn find<V>(&mut self, rows: &[(K, V)], found: &mut Found) {
        while !fits(self.len + rows.len(), self.slots.len()) {
            self.grow();
        }
        found.rows.clear();
        for batch in rows.chunks(BATCH) {
            let start = found.rows.len();
            found.rows.extend(batch.iter().map(|(key, _)| (hash_of(key), NONE)));
            let found = &mut found.rows[start..];
            // So short a loop that the processor has a dozen of its misses under way at once; what it
            // computes is of no interest.
            let taken = found.iter().filter(|(hash, _)| self.slots[self.home(*hash)].is_some());
            std::hint::black_box(taken.count());
            for ((key, _), (hash, slot)) in batch.iter().zip(found) {
                *slot = self.slot(*hash, key);
            }
        }
    }

    #[inline(always)]
    fn slot(&self, hash: u64, key: &K) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash);
        loop {
            match &self.slots[at] {
                Some((known, _)) if known == key => return at as u32,
                Some(_) => at = (at + 1) & mask,
                None => return NONE,
            }
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        // The product's high bits depend on all bits of the hash.
        (hash.wrapping_mul(SPREAD) >> 32) as usize & (self.slots.len() - 1)
    }

    /// The value of a key: at `slot`, where [`Self::find`] has found it, or wherever it has come to be
    /// since, with an earlier row of the same lookup.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: u32, hash: u64, key: &K) -> Option<&mut S> {
        let slot = match slot {
            NONE => self.slot_again(hash, key),
            slot => slot,
        };
        self.slots.get_mut(slot as usize)?.as_mut().map(|(_, value)| value)
    }

    #[inline(never)]
    fn slot_again(&self, hash: u64, key: &K) -> u32 {
        self.slot(hash, key)
    }

    /// Adds a key that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, key: K, value: S) {
        if !fits(self.len + 1, self.slots.len()) {
            self.grow();
        }
        self.place(hash, key, value);
        self.len += 1;
    }

    fn place(&mut self, hash: u64, key: K, value: S) {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash);
        while self.slots[at & mask].is_some() {
            at += 1;
        }
        self.slots[at & mask] = Some((key, value));
    }

    #[cold]
    fn grow(&mut self) {
        let larger = empty(self.slots.len() * 2);
        for (key, value) in std::mem::replace(&mut self.slots, larger).into_iter().flatten() {
            self.place(hash_of(&key), key, value);
        }
    }

    /// All entries with their hashes.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (u64, K, S)> {
        self.slots.into_iter().flatten().map(|(key, value)| (hash_of(&key), key, value))
    }
}

fn empty<T>(len: usize) -> Vec<Option<T>> {
    std::iter::repeat_with(|| None).take(len).collect()
}

fn fits(len: usize, slots: usize) -> bool {
    len * 4 <= slots * 3
}

/// A value that does not keep a large input buffer alive, for few values of many buffers: keys in a
/// table, keys of a sample.
pub(crate) fn compact<T: Data>(value: T) -> T {
    if !std::mem::needs_drop::<T>() {
        return value;
    }
    let mut value = value;
    let any: &mut dyn Any = &mut value;
    if let Some(text) = any.downcast_mut::<Text>() {
        *text = text.compact();
        return value;
    }
    if any.is::<String>() {
        return value;
    }
    // Outside a decode scope whatever comes from a shared buffer is copied. A value that does not
    // survive its own encoding stays as it is.
    let copy = postcard::to_stdvec(&value).ok().and_then(|bytes| postcard::from_bytes(&bytes).ok());
    copy.unwrap_or(value)
}

/// The partition hash, as the operators use it.
#[inline]
pub(crate) fn hash_of<K: Key>(key: &K) -> u64 {
    partition_hash(key)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn counts_like_a_map() {
        let rows: Vec<(u64, u64)> = (0..100_000).map(|n| (n * n % 5_003, n)).collect();
        let mut table = CombineTable::new();
        let mut expected: HashMap<u64, u64> = HashMap::new();
        let mut found = Found::default();
        for chunk in rows.chunks(1000) {
            table.find(chunk, &mut found);
            for ((key, n), (hash, slot)) in chunk.iter().zip(found.rows()) {
                *expected.entry(*key).or_default() += n;
                match table.get_mut(slot, hash, key) {
                    Some(sum) => *sum += n,
                    None => table.insert(hash, *key, *n),
                }
            }
        }
        assert_eq!(table.len(), expected.len());
        let got: HashMap<u64, u64> = table.into_entries().map(|(_, k, v)| (k, v)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn keys_with_equal_hashes_stay_apart() {
        let mut table = CombineTable::new();
        table.insert(7, 1u64, "one");
        table.insert(7, 2u64, "two");
        assert_eq!(table.get_mut(NONE, 7, &1), Some(&mut "one"));
        assert_eq!(table.get_mut(NONE, 7, &2), Some(&mut "two"));
        assert_eq!(table.get_mut(NONE, 7, &3), None);
    }

    #[test]
    fn a_compact_key_lets_its_buffer_go() {
        let line = Text::from("a line that is much longer than one of its words, the inlineable");
        let word = line.slice(2..20).unwrap();
        assert_eq!(compact(word.clone()), word);
        assert_eq!(compact((word.clone(), 3u8)), (word, 3u8));
    }
}
