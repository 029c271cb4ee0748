//! The merge of sorted streams of batches, by their keys; equal rows in the order of the streams.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::interleave_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::row::Rows;

use super::KeyColumns;
use super::keys::prefix;
use crate::executor::TaskError;
use crate::operators::batches::{BATCH_ROWS, BatchStream, BoxBatches};

/// Merges sorted streams.
pub(super) struct Merge {
    schema: SchemaRef,
    keys: Arc<KeyColumns>,
    sources: Vec<Source>,
    heap: BinaryHeap<Head>,
    /// Rows chosen and not given yet, by place in `batches`.
    chosen: Vec<(usize, usize)>,
    /// Batches that chosen rows are in; the last one of each source is its current.
    batches: Vec<RecordBatch>,
    /// Rows still wanted.
    left: u64,
    batch_rows: usize,
    started: bool,
}

struct Source {
    stream: BoxBatches,
    current: Option<Current>,
}

struct Current {
    keys: Arc<Rows>,
    /// The place of its batch in `batches`.
    place: usize,
    row: usize,
}

/// The next row of a source.
struct Head {
    prefix: u64,
    keys: Arc<Rows>,
    row: usize,
    source: usize,
}

impl Merge {
    pub(super) fn new(
        schema: SchemaRef,
        keys: Arc<KeyColumns>,
        streams: Vec<BoxBatches>,
        fetch: Option<u64>,
    ) -> Self {
        let sources = streams.into_iter().map(|stream| Source { stream, current: None }).collect();
        Self {
            schema,
            keys,
            sources,
            heap: BinaryHeap::new(),
            chosen: Vec::new(),
            batches: Vec::new(),
            left: fetch.unwrap_or(u64::MAX),
            batch_rows: BATCH_ROWS,
            started: false,
        }
    }

    /// Gives batches of so many rows.
    pub(super) fn with_batch_rows(self, batch_rows: usize) -> Self {
        Self { batch_rows, ..self }
    }

    /// Puts the next row of a source into the heap.
    fn advance(&mut self, index: usize) -> Result<(), TaskError> {
        let source = &mut self.sources[index];
        if let Some(current) = &mut source.current {
            current.row += 1;
            if current.row == current.keys.num_rows() {
                source.current = None;
            }
        }
        while source.current.is_none() {
            let Some(batch) = source.stream.next()? else { return Ok(()) };
            if batch.num_rows() > 0 {
                let keys = Arc::new(self.keys.encode(&batch)?);
                source.current = Some(Current { keys, place: self.batches.len(), row: 0 });
                self.batches.push(batch);
            }
        }
        if let Some(current) = &source.current {
            let (keys, row) = (Arc::clone(&current.keys), current.row);
            let prefix = prefix(keys.row(row).as_ref());
            self.heap.push(Head { prefix, keys, row, source: index });
        }
        Ok(())
    }

    fn give(&mut self) -> Result<RecordBatch, TaskError> {
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let merged = match batches.is_empty() {
            true => RecordBatch::new_empty(Arc::clone(&self.schema)),
            false => interleave_record_batch(&batches, &self.chosen)?,
        };
        self.chosen.clear();
        // Only what sources still stand in is needed from now on.
        let mut kept = Vec::new();
        for current in self.sources.iter_mut().filter_map(|source| source.current.as_mut()) {
            kept.push(self.batches[current.place].clone());
            current.place = kept.len() - 1;
        }
        self.batches = kept;
        Ok(merged)
    }
}

impl BatchStream for Merge {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        if !self.started {
            self.started = true;
            for source in 0..self.sources.len() {
                self.advance(source)?;
            }
        }
        while self.left > 0 && self.chosen.len() < self.batch_rows {
            let Some(head) = self.heap.pop() else { break };
            if let Some(current) = &self.sources[head.source].current {
                self.chosen.push((current.place, current.row));
            }
            self.left -= 1;
            self.advance(head.source)?;
        }
        match self.chosen.is_empty() {
            true => Ok(None),
            false => self.give().map(Some),
        }
    }
}

impl Ord for Head {
    /// Reversed, since the heap gives the largest first.
    fn cmp(&self, other: &Self) -> Ordering {
        let whole = || other.keys.row(other.row).cmp(&self.keys.row(self.row));
        other.prefix.cmp(&self.prefix).then_with(whole).then_with(|| other.source.cmp(&self.source))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}
