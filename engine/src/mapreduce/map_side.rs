//! The map side of a job: rows through the mapper, and what it emits through the combiner.

use std::hash::Hash;

use millstream_shuffle::partition::partition_hash;

use super::output::{Counters, Output};
use super::{BATCH_ROWS, Combiner, Mapper};
use crate::operators::compact;
use crate::rdd::{Data, PartitionRows};

/// What a mapper emits for one partition.
pub(super) struct Mapping<M: Mapper, C> {
    mapper: M,
    rows: PartitionRows<M::In>,
    out: Output<(M::Key, M::Value)>,
    combine: Option<CombineCache<C, M::Key, M::Value>>,
    ready: std::vec::IntoIter<(M::Key, M::Value)>,
    ended: bool,
}

impl<M: Mapper, C: Combiner<M::Key, M::Value>> Mapping<M, C> {
    pub(super) fn new(
        mut mapper: M,
        combiner: Option<C>,
        counters: &Counters,
        rows: PartitionRows<M::In>,
    ) -> Self {
        let mut out = Output::new(counters);
        mapper.setup(&mut out);
        let combine = combiner.map(CombineCache::new);
        Self { mapper, rows, out, combine, ready: Vec::new().into_iter(), ended: false }
    }

    fn map_some(&mut self) {
        while self.out.rows.len() < BATCH_ROWS {
            let Some(row) = self.rows.next() else {
                self.mapper.cleanup(&mut self.out);
                self.ended = true;
                break;
            };
            self.mapper.map(row, &mut self.out);
        }
        let mut emitted = std::mem::take(&mut self.out.rows);
        if let Some(cache) = &mut self.combine {
            emitted =
                emitted.into_iter().filter_map(|(key, value)| cache.push(key, value)).collect();
            if self.ended {
                emitted.extend(cache.drain());
            }
        }
        self.ready = emitted.into_iter();
    }
}

impl<M: Mapper, C: Combiner<M::Key, M::Value>> Iterator for Mapping<M, C> {
    type Item = (M::Key, M::Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.ready.next() {
                return Some(row);
            }
            if self.ended {
                return None;
            }
            self.map_some();
        }
    }
}

/// Places of the cache: enough for the frequent keys of skewed data, and few enough for the
/// processor's second-level cache.
const SLOTS: usize = 1 << 13;

/// Combines pairs in a direct-mapped cache: each key has one place, and a key that finds another one
/// there sends that on its way. Frequent keys are combined well, rare ones pass through, and memory
/// is bounded. What comes out depends on the input alone.
struct CombineCache<C, K, V> {
    combiner: C,
    slots: Vec<Option<(K, V)>>,
}

impl<C: Combiner<K, V>, K: Data + Hash + Eq, V> CombineCache<C, K, V> {
    fn new(combiner: C) -> Self {
        Self { combiner, slots: std::iter::repeat_with(|| None).take(SLOTS).collect() }
    }

    /// Takes a pair; returns the one that had to make room for it.
    fn push(&mut self, key: K, value: V) -> Option<(K, V)> {
        // The low bits: the partition is found from the high ones.
        let at = partition_hash(&key) as usize % SLOTS;
        let slot = self.slots.get_mut(at)?;
        match slot.take() {
            Some((known, old)) if known == key => {
                let value = self.combiner.combine(&known, old, value);
                *slot = Some((known, value));
                None
            }
            // What stays for long must not hold on to the buffer that it was read from.
            before => {
                *slot = Some((compact(key), value));
                before
            }
        }
    }

    /// Takes out all that is left.
    fn drain(&mut self) -> impl Iterator<Item = (K, V)> {
        self.slots.drain(..).flatten()
    }
}
