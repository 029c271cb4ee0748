//! The hash table behind combining after an exchange: its entries lie in hash order, nearly.
//!
//! A key's home is its hash scaled to the table, so that homes are in the order of the hashes. Probing
//! moves an entry off its home by a few slots: what lies between two empty slots is in the right place as
//! a whole and is sorted on the way out. That takes the place of sorting all entries, in what is
//! the canonical order of everything by key.
//!
//! Entries lie in the slots themselves, so that a lookup is one cache miss, and keys are approached a
//! batch at a time, which lets the misses of a batch overlap.

use prefetch_index::prefetch_index;

use super::span::{HashSpan, Places};
use super::table::hash_of;
use crate::rdd::Key;

const HOMES_MIN: usize = 16;

/// As many keys as are approached together: enough misses to keep the memory busy, few enough slots to
/// stay in the first cache until they are used.
const BATCH: usize = 64;

/// Random hashes leave no entry as far from its home as this; hashes that come in order, while the table
/// is too small for all of them, do.
const FAR: usize = 512;

/// Values by key. Room is made once a chunk, by [`Self::reserve`]; between two calls no entry moves.
pub(crate) struct OrderedTable<K, S> {
    /// The homes, and behind them those entries which probing has carried past the last home.
    slots: Vec<Option<(K, S)>>,
    homes: Places,
    len: usize,
    span: HashSpan,
    /// No more keys than this will come, where that is known.
    keys_max: Option<usize>,
    /// An entry lies far from its home: there should be more homes, if that can help.
    crowded: bool,
}

/// The homes of a batch of keys.
pub(crate) struct Homes([u32; BATCH]);

impl Default for Homes {
    fn default() -> Self {
        Self([0; BATCH])
    }
}

impl<K: Key, S> OrderedTable<K, S> {
    /// A table for keys with hashes in `span`, at most `keys_max` of them.
    pub(crate) fn new(span: HashSpan, keys_max: Option<usize>) -> Self {
        // Doubled as keys come, it will end at just what all of them need, if it comes to that.
        let homes = keys_max.map_or(0, homes_for).div_ceil(16).max(HOMES_MIN);
        let (slots, homes) = (empty(homes), span.places(homes));
        Self { slots, homes, len: 0, span, keys_max, crowded: false }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The table's own bytes, without what keys and values own on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
    }

    /// Bytes that making room for `rows` more keys allocates on top of [`Self::bytes`].
    pub(crate) fn growth(&self, rows: usize) -> usize {
        match self.wanted(rows) {
            homes if homes > self.homes.count() => homes * size_of::<Option<(K, S)>>(),
            _ => 0,
        }
    }

    /// Makes room for `rows` more keys.
    pub(crate) fn reserve(&mut self, rows: usize) {
        let homes = self.wanted(rows);
        self.crowded = false;
        if homes > self.homes.count() {
            self.grow(homes);
        }
    }

    /// How many homes there should be for `rows` more keys.
    fn wanted(&self, rows: usize) -> usize {
        let mut homes = self.homes.count();
        while homes_for(self.len + rows) > homes {
            homes *= 2;
        }
        // Equal hashes crowd however many homes there are: growth has to end.
        let most = self.keys_max.map_or(64 * self.len, |keys| 2 * homes_for(keys));
        match self.crowded && homes == self.homes.count() && 4 * homes <= 2 * most {
            true => 4 * homes,
            false => homes,
        }
    }

    /// Finds the homes of up to [`BATCH`] keys, the first of `rows`, and brings them near. Returns how
    /// many.
    #[inline]
    pub(crate) fn approach<V>(&self, rows: &[(K, V)], homes: &mut Homes) -> usize {
        let batch = &rows[..rows.len().min(BATCH)];
        for ((key, _), home) in batch.iter().zip(&mut homes.0) {
            let at = self.homes.of(hash_of(key));
            prefetch_index(&self.slots, at);
            *home = at as u32;
        }
        batch.len()
    }

    /// The value of a key whose home is the one at `index` of the batch, or where to insert it.
    #[inline(always)]
    pub(crate) fn find(&mut self, homes: &Homes, index: usize, key: &K) -> Result<&mut S, usize> {
        match self.probe(homes.0[index] as usize, key) {
            Ok(at) => match &mut self.slots[at] {
                Some((_, value)) => Ok(value),
                None => Err(at),
            },
            Err(at) => Err(at),
        }
    }

    #[inline(always)]
    fn probe(&self, home: usize, key: &K) -> Result<usize, usize> {
        let mut at = home;
        while let Some(Some((known, _))) = self.slots.get(at) {
            if known == key {
                return Ok(at);
            }
            at += 1;
        }
        Err(at)
    }

    /// Adds a key where [`Self::find`] has said.
    #[inline]
    pub(crate) fn insert(&mut self, homes: &Homes, index: usize, at: usize, key: K, value: S) {
        self.crowded |= at - homes.0[index] as usize > FAR;
        self.put(at, key, value);
        self.len += 1;
    }

    fn put(&mut self, at: usize, key: K, value: S) {
        match self.slots.get_mut(at) {
            Some(slot) => *slot = Some((key, value)),
            None => {
                if self.slots.len() == self.slots.capacity() {
                    self.slots.reserve_exact(FAR);
                }
                self.slots.push(Some((key, value)));
            }
        }
    }

    #[cold]
    fn grow(&mut self, homes: usize) {
        let old = std::mem::replace(&mut self.slots, empty(homes));
        self.homes = self.span.places(homes);
        // In order, so that each is put behind those before it.
        for (key, value) in old.into_iter().flatten() {
            let home = self.homes.of(hash_of(&key));
            let free = self.slots[home..].iter().position(Option::is_none);
            self.put(free.map_or(self.slots.len(), |free| home + free), key, value);
        }
    }

    /// All entries, in the order of their hashes, and of equal hashes in the order in which they came.
    pub(crate) fn into_sorted(self) -> SortedEntries<K, S> {
        SortedEntries { slots: self.slots.into_iter() }
    }
}

/// The entries of an [`OrderedTable`].
pub(crate) struct SortedEntries<K, S> {
    slots: std::vec::IntoIter<Option<(K, S)>>,
}

impl<K: Key, S> SortedEntries<K, S> {
    /// The next `count` entries or somewhat more; none at the end.
    pub(crate) fn take(&mut self, count: usize) -> Vec<(K, S)> {
        let mut out = Vec::with_capacity(count + BATCH);
        let mut group = 0;
        for slot in self.slots.by_ref() {
            match slot {
                Some(entry) => out.push(entry),
                None => {
                    sort(&mut out[group..]);
                    group = out.len();
                    if group >= count {
                        return out;
                    }
                }
            }
        }
        sort(&mut out[group..]);
        out
    }
}

#[inline]
fn sort<K: Key, S>(entries: &mut [(K, S)]) {
    if entries.len() > 1 {
        entries.sort_by_key(|(key, _)| hash_of(key));
    }
}

fn empty<T>(homes: usize) -> Vec<Option<T>> {
    let mut slots = Vec::with_capacity(homes + homes / 64 + BATCH);
    slots.extend(std::iter::repeat_with(|| None).take(homes));
    slots
}

/// Homes so that half of them are taken by so many keys.
fn homes_for(keys: usize) -> usize {
    2 * keys
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use millstream_shuffle::partition::partition_of;

    use super::super::table::CombineTable;
    use super::*;

    fn count<K: Key>(table: &mut OrderedTable<K, u64>, rows: &[(K, u64)]) {
        let mut homes = Homes::default();
        for chunk in rows.chunks(1000) {
            table.reserve(chunk.len());
            let mut rest = chunk;
            while !rest.is_empty() {
                let batch = table.approach(rest, &mut homes);
                for (index, (key, n)) in rest[..batch].iter().enumerate() {
                    match table.find(&homes, index, key) {
                        Ok(sum) => *sum += n,
                        Err(at) => table.insert(&homes, index, at, key.clone(), *n),
                    }
                }
                rest = &rest[batch..];
            }
        }
    }

    fn sorted<K: Key>(table: OrderedTable<K, u64>) -> Vec<(K, u64)> {
        let mut entries = table.into_sorted();
        let mut all = Vec::new();
        loop {
            let some = entries.take(100);
            if some.is_empty() {
                return all;
            }
            all.extend(some);
        }
    }

    fn expected<K: Key>(rows: &[(K, u64)]) -> Vec<(K, u64)> {
        let mut sums: HashMap<&K, u64> = HashMap::new();
        rows.iter().for_each(|(key, n)| *sums.entry(key).or_default() += n);
        let mut sums: Vec<(K, u64)> = sums.into_iter().map(|(key, n)| (key.clone(), n)).collect();
        sums.sort_by_key(|(key, _)| hash_of(key));
        sums
    }

    #[test]
    fn counts_like_a_map_and_comes_out_in_hash_order() {
        let rows: Vec<(u64, u64)> = (0..100_000).map(|n| (n * n % 50_003, n)).collect();
        for keys_max in [None, Some(100_000), Some(25_002)] {
            let mut table = OrderedTable::new(HashSpan::ALL, keys_max);
            count(&mut table, &rows);
            assert_eq!(sorted(table), expected(&rows));
        }
    }

    #[test]
    fn the_hashes_of_a_partition_fill_the_whole_table() {
        for partition in 0..3 {
            let keys = (0..60_000).map(|n| (format!("{n}"), 1));
            let rows: Vec<_> =
                keys.filter(|(key, _)| partition_of(hash_of(key), 3) == partition).collect();
            let mut table = OrderedTable::new(HashSpan::of_partition(partition, 3), None);
            count(&mut table, &rows);
            assert!(!table.crowded);
            let (low, high) = table.slots.split_at(table.homes.count() / 2);
            let taken = [low, high].map(|half| half.iter().flatten().count() as f64);
            assert!((taken[0] / taken[1] - 1.0).abs() < 0.05, "{taken:?}");
            assert_eq!(sorted(table), expected(&rows));
        }
    }

    #[test]
    fn keys_that_come_in_hash_order_do_not_crowd() {
        let mut rows: Vec<(u64, u64)> = (0..300_000).map(|n| (n, 1)).collect();
        rows.sort_by_key(|(key, _)| hash_of(key));
        let mut table = OrderedTable::new(HashSpan::ALL, Some(rows.len()));
        count(&mut table, &rows[..10_000]);
        assert!(table.homes.count() >= 300_000, "{:?} for all keys", table.homes);
        count(&mut table, &rows[10_000..]);
        assert!(table.homes.count() <= 1_000_000, "{:?}", table.homes);
        assert_eq!(sorted(table), rows);
    }

    #[test]
    fn entries_of_a_map_side_table_do_not_crowd() {
        let mut map = CombineTable::new();
        for key in 0..200_000u64 {
            map.reserve(1);
            let hash = hash_of(&key);
            if let Err(free) = map.find(hash, &key) {
                map.fill(free, hash, key, 1);
            }
        }
        let rows: Vec<(u64, u64)> = map.into_entries().map(|(_, key, n)| (key, n)).collect();
        let mut table = OrderedTable::new(HashSpan::ALL, None);
        for part in rows.chunks(1000) {
            count(&mut table, part);
            assert!(!table.crowded);
        }
    }

    /// A key with the hash of all others.
    #[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
    struct Same(u64);

    impl std::hash::Hash for Same {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            state.write_u64(0);
        }
    }

    #[test]
    fn equal_hashes_stay_apart_in_the_order_in_which_they_came() {
        let rows: Vec<(Same, u64)> = (0..6_000).map(|n| (Same(n * 7 % 3_000), 1)).collect();
        let mut table = OrderedTable::new(HashSpan::ALL, Some(rows.len()));
        count(&mut table, &rows);
        let expected: Vec<_> = (0..3_000).map(|n| (Same(n * 7 % 3_000), 2)).collect();
        assert_eq!(sorted(table), expected);
    }
}
