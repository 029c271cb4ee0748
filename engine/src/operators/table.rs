//! The hash table behind combining by key.
//!
//! A table is larger than the caches as a rule, so that a lookup is a cache miss. Entries lie in the
//! slots themselves, which makes it one, and the slots of a batch of keys are asked for before the
//! first of them is looked up, which lets the misses of a batch overlap. The hash lies in the slot, too: a
//! table that grows or is emptied never touches what its keys own elsewhere.
//!
//! The order of the entries means nothing; whoever needs one sorts them.

use std::num::NonZeroU64;

use millstream_shuffle::partition::partition_hash;
use prefetch_index::prefetch_index;

use super::compact::compact_each;
use crate::rdd::Key;

const SLOTS_MIN: usize = 16;

/// As many keys as are looked up together: enough misses to keep the memory busy, few enough slots to
/// stay in the first cache from one pass to the next.
const BATCH: usize = 64;

/// Odd; spreads hashes over the slots. Entries leave a table in the order of its slots: were that the
/// order of the hashes, they would fill the table of a reader from one end to the other, and crowd there.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Values by key.
pub(crate) struct CombineTable<K, S> {
    /// A power of two of slots, at most three quarters of them taken; probed linearly.
    slots: Vec<Option<Entry<K, S>>>,
    len: usize,
    /// Slots filled since the last [`Self::compact_keys`].
    fresh: Vec<u32>,
}

/// The hash is not zero, so that a free slot needs no mark of its own.
struct Entry<K, S> {
    hash: NonZeroU64,
    key: K,
    value: S,
}

impl<K: Key, S> CombineTable<K, S> {
    pub(crate) fn new() -> Self {
        Self { slots: empty(SLOTS_MIN), len: 0, fresh: Vec::new() }
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

    /// Makes room for `rows` more keys: while they are added, no entry moves.
    pub(crate) fn reserve(&mut self, rows: usize) {
        while !fits(self.len + rows, self.slots.len()) {
            self.grow();
        }
    }

    /// The hashes of the first keys of `rows`, as many as are best looked up next.
    #[inline]
    pub(crate) fn hashes<V>(&self, rows: &[(K, V)]) -> impl Iterator<Item = u64> + use<K, S, V> {
        let mut hashes = [0; BATCH];
        let len = rows.len().min(BATCH);
        for (hash, (key, _)) in hashes.iter_mut().zip(rows) {
            *hash = hash_of(key);
            prefetch_index(&self.slots, self.home(*hash));
        }
        hashes.into_iter().take(len)
    }

    /// The slot of a key, or the free slot that it would take.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, key: &K) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash);
        loop {
            match &self.slots[at] {
                Some(entry) if entry.hash.get() == hash && entry.key == *key => return Ok(at),
                Some(_) => at = (at + 1) & mask,
                None => return Err(at),
            }
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        // The product's high bits depend on all bits of the hash.
        (hash.wrapping_mul(SPREAD) >> 32) as usize & (self.slots.len() - 1)
    }

    /// Updates the value in a slot where [`Self::find`] has found a key.
    #[inline(always)]
    pub(crate) fn update(&mut self, slot: usize, f: impl FnOnce(&mut S)) {
        if let Some(entry) = &mut self.slots[slot] {
            f(&mut entry.value);
        }
    }

    /// Adds a key in the free slot that [`Self::find`] has given for it.
    #[inline]
    pub(crate) fn fill(&mut self, slot: usize, hash: u64, key: K, value: S) {
        let hash = NonZeroU64::new(hash).unwrap_or(NonZeroU64::MIN);
        self.slots[slot] = Some(Entry { hash, key, value });
        self.len += 1;
        if std::mem::needs_drop::<K>() {
            self.fresh.push(slot as u32);
        }
    }

    /// Detaches the keys that were added since the last time from the buffers that they came in. To be
    /// called before [`Self::reserve`] moves them.
    pub(crate) fn compact_keys(&mut self) {
        compact_each(&mut self.slots, &self.fresh, |slot| {
            slot.as_mut().map(|entry| &mut entry.key)
        });
        self.fresh.clear();
    }

    #[cold]
    fn grow(&mut self) {
        let larger = empty(self.slots.len() * 2);
        let mask = larger.len() - 1;
        for entry in std::mem::replace(&mut self.slots, larger).into_iter().flatten() {
            let mut at = self.home(entry.hash.get());
            while self.slots[at].is_some() {
                at = (at + 1) & mask;
            }
            self.slots[at] = Some(entry);
        }
    }

    /// All entries with their hashes.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (u64, K, S)> {
        self.slots.into_iter().flatten().map(|entry| (entry.hash.get(), entry.key, entry.value))
    }
}

fn empty<T>(len: usize) -> Vec<Option<T>> {
    std::iter::repeat_with(|| None).take(len).collect()
}

fn fits(len: usize, slots: usize) -> bool {
    len * 4 <= slots * 3
}

/// The partition hash, as the operators use it: with one for zero, so that room can be saved where a hash
/// is kept. That two more keys of 2^64 share a hash changes nothing.
#[inline]
pub(crate) fn hash_of<K: Key>(key: &K) -> u64 {
    partition_hash(key).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use super::*;
    use crate::text::{Buffer, Text};

    /// Adds the values of equal keys.
    fn add_all<K: Key>(table: &mut CombineTable<K, u64>, rows: &[(K, u64)]) {
        table.reserve(rows.len());
        let mut rest = rows;
        while !rest.is_empty() {
            let mut count = 0;
            for (hash, (key, n)) in table.hashes(rest).zip(rest) {
                count += 1;
                match table.find(hash, key) {
                    Ok(slot) => table.update(slot, |sum| *sum += n),
                    Err(slot) => table.fill(slot, hash, key.clone(), *n),
                }
            }
            rest = &rest[count..];
        }
        table.compact_keys();
    }

    #[test]
    fn counts_like_a_map() {
        let rows: Vec<(u64, u64)> = (0..100_000).map(|n| (n * n % 5_003, n)).collect();
        let mut table = CombineTable::new();
        let mut expected: HashMap<u64, u64> = HashMap::new();
        for (key, n) in &rows {
            *expected.entry(*key).or_default() += n;
        }
        for chunk in rows.chunks(1000) {
            add_all(&mut table, chunk);
        }
        assert_eq!(table.len(), expected.len());
        let got: HashMap<u64, u64> = table.into_entries().map(|(_, k, v)| (k, v)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn keys_with_equal_hashes_stay_apart() {
        let mut table = CombineTable::new();
        let hash = hash_of(&7u64);
        for (key, value) in [(1u64, "one"), (2, "two")] {
            let free = table.find(hash, &key).unwrap_err();
            table.fill(free, hash, key, value);
        }
        assert!(table.find(hash, &3).is_err());
        let mut got: Vec<_> = table.into_entries().collect();
        got.sort();
        assert_eq!(got, [(hash, 1, "one"), (hash, 2, "two")]);
    }

    #[test]
    fn keys_let_the_buffer_of_their_rows_go() {
        let line = "short incomprehensibilities incomprehensibilities unintelligibility";
        let buffer = Buffer::from_string(line.to_owned());
        let line = buffer.slice(0, line.len()).unwrap();
        let rows: Vec<(Text, u64)> = line.words().map(|word| (word, 1)).collect();
        let mut table = CombineTable::new();
        add_all(&mut table, &rows);
        drop((rows, line));
        assert_eq!(Arc::strong_count(&buffer), 1);
        let mut got: Vec<_> = table.into_entries().map(|(_, key, n)| (key, n)).collect();
        got.sort();
        let expected = [("incomprehensibilities", 2), ("short", 1), ("unintelligibility", 1)];
        assert_eq!(got, expected.map(|(key, n)| (Text::from(key), n)));
    }

    #[test]
    fn a_slot_of_numbers_has_no_room_for_a_mark() {
        assert_eq!(size_of::<Option<Entry<u64, u64>>>(), 24);
        assert_eq!(size_of::<Option<Entry<Text, u64>>>(), 32);
    }
}
