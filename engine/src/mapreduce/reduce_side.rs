//! The reduce side of a job: sorted rows, cut into keys with their values while they pass by.

use super::output::{Counters, Output};
use super::{BATCH_ROWS, Reducer};
use crate::rdd::PartitionRows;

/// The values of one key, in the order of the input. They are read as they are asked for.
pub struct Values<'a, K, V> {
    key: &'a K,
    first: Option<V>,
    rest: &'a mut SortedRows<K, V>,
}

impl<K: Eq, V> Iterator for Values<'_, K, V> {
    type Item = V;

    #[inline]
    fn next(&mut self) -> Option<V> {
        self.first.take().or_else(|| self.rest.next_of(self.key))
    }
}

/// Rows in the order of their keys, with one looked at in advance.
struct SortedRows<K, V> {
    rows: PartitionRows<(K, V)>,
    ahead: Option<(K, V)>,
}

impl<K: Eq, V> SortedRows<K, V> {
    fn next(&mut self) -> Option<(K, V)> {
        self.ahead.take().or_else(|| self.rows.next())
    }

    /// The next value, if it is of this key.
    #[inline]
    fn next_of(&mut self, key: &K) -> Option<V> {
        let (next, value) = self.next()?;
        if next == *key {
            return Some(value);
        }
        self.ahead = Some((next, value));
        None
    }
}

/// What a reducer emits for one partition.
pub(super) struct Reducing<R: Reducer> {
    reducer: R,
    rows: SortedRows<R::Key, R::Value>,
    out: Output<R::Out>,
    ready: std::vec::IntoIter<R::Out>,
    ended: bool,
}

impl<R: Reducer> Reducing<R> {
    pub(super) fn new(
        mut reducer: R,
        counters: &Counters,
        rows: PartitionRows<(R::Key, R::Value)>,
    ) -> Self {
        let mut out = Output::new(counters);
        reducer.setup(&mut out);
        let rows = SortedRows { rows, ahead: None };
        Self { reducer, rows, out, ready: Vec::new().into_iter(), ended: false }
    }

    fn reduce_some(&mut self) {
        while self.out.rows.len() < BATCH_ROWS {
            let Some((key, value)) = self.rows.next() else {
                self.reducer.cleanup(&mut self.out);
                self.ended = true;
                break;
            };
            let mut values = Values { key: &key, first: Some(value), rest: &mut self.rows };
            self.reducer.reduce(&key, &mut values, &mut self.out);
            values.for_each(drop);
        }
        self.ready = std::mem::take(&mut self.out.rows).into_iter();
    }
}

impl<R: Reducer> Iterator for Reducing<R> {
    type Item = R::Out;

    #[inline]
    fn next(&mut self) -> Option<R::Out> {
        loop {
            if let Some(row) = self.ready.next() {
                return Some(row);
            }
            if self.ended {
                return None;
            }
            self.reduce_some();
        }
    }
}
