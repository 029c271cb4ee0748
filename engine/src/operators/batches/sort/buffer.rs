//! Rows held in memory to be sorted, with their keys.

use arrow::array::RecordBatch;
use arrow::compute::interleave_record_batch;
use arrow::error::ArrowError;
use arrow::row::Rows;

use super::keys::prefix;
use crate::operators::batches::{compact, row_bytes};

/// Batches with the keys of their rows.
#[derive(Default)]
pub(super) struct SortBuffer {
    batches: Vec<RecordBatch>,
    keys: Vec<Rows>,
    entries: Vec<Entry>,
    /// Of the batches and keys.
    bytes: usize,
}

/// One row, by the start of its key.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    batch: u32,
    row: u32,
}

impl SortBuffer {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// About what it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.entries.len() * size_of::<Entry>()
    }

    pub(super) fn rows(&self) -> usize {
        self.entries.len()
    }

    /// Adds the rows of a batch for which `wanted` says so of their key.
    pub(super) fn push(&mut self, batch: RecordBatch, keys: Rows, wanted: impl Fn(&[u8]) -> bool) {
        let index = self.batches.len() as u32;
        let before = self.entries.len();
        for (row, key) in (0..).zip(keys.iter()) {
            if wanted(key.as_ref()) {
                self.entries.push(Entry { prefix: prefix(key.as_ref()), batch: index, row });
            }
        }
        if self.entries.len() > before {
            self.bytes += row_bytes(&batch) + keys.size();
            self.batches.push(batch);
            self.keys.push(keys);
        }
    }

    /// Puts the rows in order; equal ones in the order in which they came. Keeps the first `fetch`.
    pub(super) fn sort(&mut self, fetch: Option<usize>) {
        let keys = &self.keys;
        let compare = |a: &Entry, b: &Entry| {
            let whole = || {
                let key = |entry: &Entry| keys[entry.batch as usize].row(entry.row as usize);
                key(a).cmp(&key(b)).then((a.batch, a.row).cmp(&(b.batch, b.row)))
            };
            a.prefix.cmp(&b.prefix).then_with(whole)
        };
        if let Some(fetch) = fetch.filter(|fetch| *fetch < self.entries.len()) {
            if fetch > 0 {
                self.entries.select_nth_unstable_by(fetch - 1, compare);
            }
            self.entries.truncate(fetch);
        }
        self.entries.sort_unstable_by(compare);
    }

    /// The key of the last row; of sorted rows, the largest.
    pub(super) fn last_key(&self) -> Option<Box<[u8]>> {
        let last = self.entries.last()?;
        Some(self.keys[last.batch as usize].row(last.row as usize).as_ref().into())
    }

    /// The rows from `start` on, at most `count`, as they stand now.
    pub(super) fn gather(&self, start: usize, count: usize) -> Result<RecordBatch, ArrowError> {
        let end = self.entries.len().min(start + count);
        let rows: Vec<(usize, usize)> = self.entries[start..end]
            .iter()
            .map(|entry| (entry.batch as usize, entry.row as usize))
            .collect();
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        compact(&interleave_record_batch(&batches, &rows)?)
    }
}
