//! The hash table behind combining by key: insertion-ordered, with dense ids.
//!
//! The table proper holds an id and 32 bits of the hash, so that growing it never touches the entries.
//! Entries lie in pages that are never moved: growth copies nothing and its peak is one page.

use std::any::Any;

use hashbrown::HashTable;
use millstream_shuffle::partition::partition_hash;

use crate::rdd::{Data, Key};
use crate::text::Text;

const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;

struct Entry<K, S> {
    hash: u64,
    key: K,
    value: S,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The low half of the partition hash: the high half has chosen the partition and says little.
    tag: u32,
    id: u32,
}

impl Slot {
    /// The table uses the lowest bits for the bucket and the highest seven to tell keys apart.
    #[inline]
    fn spread(tag: u32) -> u64 {
        u64::from(tag) | u64::from(tag) << 32
    }
}

/// Values by key, in the order in which the keys came.
pub(crate) struct CombineTable<K, S> {
    slots: HashTable<Slot>,
    pages: Vec<Vec<Entry<K, S>>>,
    len: usize,
}

impl<K: Key, S> CombineTable<K, S> {
    pub(crate) fn new() -> Self {
        Self { slots: HashTable::new(), pages: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The table's own bytes, without what keys and values own on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.len() * PAGE * size_of::<Entry<K, S>>()
            + self.slots.capacity() * (size_of::<Slot>() + 1) * 8 / 7
    }

    /// Bytes that the next insertion will allocate on top of [`Self::bytes`], when the slots grow.
    pub(crate) fn growth(&self) -> usize {
        match self.slots.len() < self.slots.capacity() {
            true => 0,
            false => self.slots.capacity() * 2 * (size_of::<Slot>() + 1) * 8 / 7,
        }
    }

    /// The value of a key; `hash` is the key's partition hash.
    #[inline]
    pub(crate) fn get_mut(&mut self, hash: u64, key: &K) -> Option<&mut S> {
        let tag = hash as u32;
        let pages = &self.pages;
        let slot = self
            .slots
            .find(Slot::spread(tag), |slot| slot.tag == tag && entry(pages, slot.id).key == *key)?;
        let id = slot.id as usize;
        Some(&mut self.pages[id >> PAGE_BITS][id & (PAGE - 1)].value)
    }

    /// Adds a key that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, key: K, value: S) {
        let slot = Slot { tag: hash as u32, id: self.len as u32 };
        self.slots.insert_unique(Slot::spread(slot.tag), slot, |slot| Slot::spread(slot.tag));
        match self.pages.last_mut() {
            Some(page) if page.len() < PAGE => page.push(Entry { hash, key, value }),
            _ => {
                // The first page grows as it fills, so that small tables stay small.
                let room = if self.pages.is_empty() { 16 } else { PAGE };
                let mut page = Vec::with_capacity(room);
                page.push(Entry { hash, key, value });
                self.pages.push(page);
            }
        }
        self.len += 1;
    }

    /// All entries with their hashes, in insertion order, freeing pages as they are passed.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (u64, K, S)> {
        drop(self.slots);
        self.pages.into_iter().flatten().map(|Entry { hash, key, value }| (hash, key, value))
    }
}

#[inline]
fn entry<K, S>(pages: &[Vec<Entry<K, S>>], id: u32) -> &Entry<K, S> {
    &pages[(id >> PAGE_BITS) as usize][id as usize & (PAGE - 1)]
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
        assert_eq!(table.get_mut(7, &2), Some(&mut "two"));
        assert_eq!(table.get_mut(7, &3), None);
    }

    #[test]
    fn a_compact_key_lets_its_buffer_go() {
        let line = Text::from("a line that is much longer than one of its words, the inlineable");
        let word = line.slice(2..20).unwrap();
        assert_eq!(compact(word.clone()), word);
        assert_eq!(compact((word.clone(), 3u8)), (word, 3u8));
    }
}
