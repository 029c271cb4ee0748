//! The hash table behind combining by key: insertion-ordered, with dense ids.
//!
//! The slots hold an id and 32 bits of the hash, so that growing them never touches the entries, and a
//! lookup touches an entry only when it is almost surely the right one. Entries lie in pages that are
//! never moved: growth copies nothing and its peak is one page.
//!
//! A table is larger than the caches as a rule, so that a lookup is two misses. Looking a batch of keys
//! up in two passes, slots first and entries then, lets the misses of a batch overlap.

use std::any::Any;

use millstream_shuffle::partition::partition_hash;

use crate::rdd::{Data, Key};
use crate::text::Text;

const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;
const SLOTS_MIN: usize = 16;

/// As many keys as are looked up together: enough misses to keep the memory busy, few enough ids to
/// stay in the first cache.
pub(crate) const BATCH: usize = 64;

struct Entry<K, S> {
    key: K,
    value: S,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The low half of the partition hash: the high half has chosen the partition and says little.
    tag: u32,
    id: u32,
}

/// The id of an empty slot, and of a key that is not there.
const NONE: u32 = u32::MAX;
const EMPTY: Slot = Slot { tag: 0, id: NONE };

/// Values by key, in the order in which the keys came.
pub(crate) struct CombineTable<K, S> {
    /// A power of two of slots, at most half of them taken; probed linearly.
    slots: Vec<Slot>,
    pages: Vec<Vec<Entry<K, S>>>,
    len: usize,
}

impl<K: Key, S> CombineTable<K, S> {
    pub(crate) fn new() -> Self {
        Self { slots: vec![EMPTY; SLOTS_MIN], pages: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The table's own bytes, without what keys and values own on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.len() * PAGE * size_of::<Entry<K, S>>() + size_of_val(self.slots.as_slice())
    }

    /// Bytes that the next chunk of insertions may allocate on top of [`Self::bytes`]: new slots, if
    /// they are nearly half taken.
    pub(crate) fn growth(&self) -> usize {
        match (self.len + PAGE) * 2 > self.slots.len() {
            true => 2 * size_of_val(self.slots.as_slice()),
            false => 0,
        }
    }

    /// First pass of a batch: the ids of the entries that have these hashes, as far as the slots tell.
    #[inline]
    pub(crate) fn candidates(&self, hashes: &[u64], ids: &mut [u32]) {
        for (hash, id) in hashes.iter().zip(ids) {
            *id = self.candidate(*hash);
        }
    }

    #[inline]
    fn candidate(&self, hash: u64) -> u32 {
        let tag = hash as u32;
        let mask = self.slots.len() - 1;
        let mut at = tag as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.tag == tag || slot.id == NONE {
                return slot.id;
            }
            at = (at + 1) & mask;
        }
    }

    /// Second pass of a batch: the value of `key`, whose candidate was `id`.
    #[inline]
    pub(crate) fn resolve(&mut self, id: u32, hash: u64, key: &K) -> Option<&mut S> {
        if id != NONE && self.entry(id).key == *key {
            return Some(&mut self.entry_mut(id).value);
        }
        // Either the key has come in since the first pass, or another has the same half of the hash.
        self.get_mut(hash, key)
    }

    /// The value of a key; `hash` is the key's partition hash.
    pub(crate) fn get_mut(&mut self, hash: u64, key: &K) -> Option<&mut S> {
        let tag = hash as u32;
        let mask = self.slots.len() - 1;
        let mut at = tag as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.id == NONE {
                return None;
            }
            if slot.tag == tag && self.entry(slot.id).key == *key {
                return Some(&mut self.entry_mut(slot.id).value);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a key that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, key: K, value: S) {
        if (self.len + 1) * 2 > self.slots.len() {
            self.grow();
        }
        place(&mut self.slots, Slot { tag: hash as u32, id: self.len as u32 });
        match self.pages.last_mut() {
            Some(page) if page.len() < PAGE => page.push(Entry { key, value }),
            _ => {
                // The first page grows as it fills, so that small tables stay small.
                let room = if self.pages.is_empty() { SLOTS_MIN } else { PAGE };
                let mut page = Vec::with_capacity(room);
                page.push(Entry { key, value });
                self.pages.push(page);
            }
        }
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![EMPTY; self.slots.len() * 2];
        for slot in self.slots.iter().filter(|slot| slot.id != NONE) {
            place(&mut slots, *slot);
        }
        self.slots = slots;
    }

    #[inline]
    fn entry(&self, id: u32) -> &Entry<K, S> {
        &self.pages[(id >> PAGE_BITS) as usize][id as usize & (PAGE - 1)]
    }

    #[inline]
    fn entry_mut(&mut self, id: u32) -> &mut Entry<K, S> {
        &mut self.pages[(id >> PAGE_BITS) as usize][id as usize & (PAGE - 1)]
    }

    /// All entries with their hashes, in insertion order, freeing pages as they are passed.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (u64, K, S)> {
        drop(self.slots);
        self.pages.into_iter().flatten().map(|Entry { key, value }| (hash_of(&key), key, value))
    }
}

fn place(slots: &mut [Slot], slot: Slot) {
    let mask = slots.len() - 1;
    let mut at = slot.tag as usize & mask;
    while slots[at].id != NONE {
        at = (at + 1) & mask;
    }
    slots[at] = slot;
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
    use super::*;

    #[test]
    fn counts_like_a_map_and_keeps_the_order() {
        let mut table = CombineTable::new();
        for n in 0..100_000u64 {
            let key = n * n % 5_003;
            let hash = hash_of(&key);
            match table.get_mut(hash, &key) {
                Some(count) => *count += 1,
                None => table.insert(hash, key, 1u64),
            }
        }
        let mut seen = std::collections::HashMap::new();
        let mut order = Vec::new();
        for n in 0..100_000u64 {
            let key = n * n % 5_003;
            *seen.entry(key).or_insert_with(|| {
                order.push(key);
                0
            }) += 1;
        }
        assert_eq!(table.len(), order.len());
        let got: Vec<(u64, u64)> = table.into_entries().map(|(_, k, v)| (k, v)).collect();
        let expected: Vec<(u64, u64)> = order.iter().map(|key| (*key, seen[key])).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn keys_with_equal_hashes_stay_apart() {
        let mut table = CombineTable::new();
        table.insert(7, 1u64, "one");
        table.insert(7, 2u64, "two");
        let mut ids = [0; 2];
        table.candidates(&[7, 8], &mut ids);
        assert_eq!(table.resolve(ids[0], 7, &2), Some(&mut "two"));
        assert_eq!(table.resolve(ids[0], 7, &3), None);
        assert_eq!(table.resolve(ids[1], 8, &1), None);
    }

    #[test]
    fn a_compact_key_lets_its_buffer_go() {
        let line = Text::from("a line that is much longer than one of its words, the inlineable");
        let word = line.slice(2..20).unwrap();
        assert_eq!(compact(word.clone()), word);
        assert_eq!(compact((word.clone(), 3u8)), (word, 3u8));
    }
}
