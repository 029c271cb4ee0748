//! External sort and top-k.
//!
//! Rows are held with their keys as bytes ([`keys`]). A refused request makes a sorted run of them on
//! disk; at the end runs and what is left in memory are merged. With a row count wanted, rows that cannot be among
//! them are dropped as they come, so that a top-k of any input holds little and writes nothing.
//!
//! The sort is stable: the order is a function of the input, whatever was spilled.

mod buffer;
mod keys;
mod merge;

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::row::Rows;
use millstream_planner::physical::{Program, SortOption};

use self::buffer::SortBuffer;
pub(crate) use self::keys::SortKeys;
use self::merge::Merge;
use super::scatter::row_bytes;
use super::{BATCH_ROWS, BatchStream, BoxBatches, SpillWriter, Spilled};
use crate::eval::{Evaluator, RowOrigin};
use crate::executor::{Task, TaskError};

/// The most runs that are merged at once.
const FAN_IN_MAX: usize = 64;
/// What a source of a merge holds, in batches: encoded, decoded, with its keys.
const BATCHES_A_SOURCE: u64 = 4;
/// Rows beyond those wanted that a top-k holds before it drops them.
const TOP_SLACK_ROWS: usize = 32 << 10;

/// How the key columns of a batch are found and encoded.
pub(crate) struct KeyColumns {
    program: Evaluator,
    keys: SortKeys,
}

impl KeyColumns {
    pub(crate) fn new(program: &Program, options: &[SortOption]) -> Result<Self, TaskError> {
        let types = program.roots.iter().filter_map(|root| program.get(*root));
        let types: Vec<_> = types.map(|node| node.data_type.clone()).collect();
        let keys = SortKeys::new(&types, options)?;
        Ok(Self { program: Evaluator::new(program)?, keys })
    }

    /// The keys of the rows of a batch.
    pub(crate) fn encode(&self, batch: &RecordBatch) -> Result<Rows, TaskError> {
        let columns = self.program.columns(batch, RowOrigin::default())?;
        Ok(self.keys.encode(&columns)?)
    }
}

/// Sorts a stream.
pub(crate) fn open(
    keys: &Program,
    options: &[SortOption],
    fetch: Option<u64>,
    schema: SchemaRef,
    mut input: BoxBatches,
    task: &Task,
) -> Result<BoxBatches, TaskError> {
    let mut sorter = Sorter {
        task: Rc::clone(task),
        schema,
        keys: Arc::new(KeyColumns::new(keys, options)?),
        fetch: fetch.map(|fetch| usize::try_from(fetch).unwrap_or(usize::MAX)),
        buffer: SortBuffer::default(),
        bound: None,
        runs: Vec::new(),
    };
    while let Some(batch) = input.next()? {
        sorter.push(batch)?;
    }
    drop(input);
    sorter.finish()
}

struct Sorter {
    task: Task,
    schema: SchemaRef,
    keys: Arc<KeyColumns>,
    fetch: Option<usize>,
    buffer: SortBuffer,
    /// No row with a key above this one is wanted.
    bound: Option<Box<[u8]>>,
    runs: Vec<Spilled>,
}

impl Sorter {
    fn push(&mut self, batch: RecordBatch) -> Result<(), TaskError> {
        self.task.check()?;
        if batch.num_rows() == 0 || self.fetch == Some(0) {
            return Ok(());
        }
        let keys = self.keys.encode(&batch)?;
        // Of equal keys the earlier row goes first, so that one equal to the bound comes too late.
        match &self.bound {
            Some(bound) => self.buffer.push(batch, keys, |key| key < bound.as_ref()),
            None => self.buffer.push(batch, keys, |_| true),
        }
        if let Some(fetch) = self.fetch
            && self.buffer.rows()
                >= fetch.saturating_mul(2).max(fetch.saturating_add(TOP_SLACK_ROWS))
        {
            self.keep_first(fetch)?;
        }
        if self.task.pressed(self.buffer.bytes()) && !self.buffer.is_empty() {
            self.spill()?;
        }
        Ok(())
    }

    /// Drops all but the first rows, and the batches that the others were in.
    fn keep_first(&mut self, fetch: usize) -> Result<(), TaskError> {
        self.buffer.sort(Some(fetch));
        self.bound = self.buffer.last_key();
        let kept = std::mem::take(&mut self.buffer);
        for start in (0..kept.rows()).step_by(BATCH_ROWS) {
            let batch = kept.gather(start, BATCH_ROWS)?;
            let keys = self.keys.encode(&batch)?;
            self.buffer.push(batch, keys, |_| true);
        }
        Ok(())
    }

    /// Rows of a batch on disk: as many of them as are merged at once fit into the task's floor.
    fn batch_rows(&self, sample: &RecordBatch) -> usize {
        let share = self.task.runtime.budget.floor() / (FAN_IN_MAX as u64 * BATCHES_A_SOURCE);
        let row = row_bytes(sample).div_ceil(sample.num_rows().max(1)).max(1);
        (share as usize / row).clamp(16, BATCH_ROWS)
    }

    fn spill(&mut self) -> Result<(), TaskError> {
        self.buffer.sort(self.fetch);
        let buffer = std::mem::take(&mut self.buffer);
        let step = self.batch_rows(&buffer.gather(0, 256)?);
        let mut writer = SpillWriter::new(&self.task, 1)?;
        for start in (0..buffer.rows()).step_by(step) {
            writer.write(0, buffer.gather(start, step)?)?;
        }
        drop(buffer);
        self.runs.push(writer.finish()?);
        // Follows what was freed.
        self.task.pressed(0);
        if self.runs.len() >= FAN_IN_MAX {
            let runs = std::mem::take(&mut self.runs);
            let run = self.merge_to_run(runs)?;
            self.runs.push(run);
        }
        Ok(())
    }

    fn merge_to_run(&self, runs: Vec<Spilled>) -> Result<Spilled, TaskError> {
        let mut first = None;
        if let Some(run) = runs.first() {
            first = run.read(&self.task, 0)?.next()?;
        }
        let step = first.map_or(BATCH_ROWS, |batch| self.batch_rows(&batch));
        let mut merged = self.merge(&runs, None)?.with_batch_rows(step);
        let mut writer = SpillWriter::new(&self.task, 1)?;
        while let Some(batch) = merged.next()? {
            writer.write(0, batch)?;
        }
        writer.finish()
    }

    fn merge(&self, runs: &[Spilled], rest: Option<BoxBatches>) -> Result<Merge, TaskError> {
        let runs = runs.iter().map(|run| run.read(&self.task, 0));
        let mut streams = runs.collect::<Result<Vec<_>, _>>()?;
        streams.extend(rest);
        let fetch = self.fetch.map(|fetch| fetch as u64);
        Ok(Merge::new(Arc::clone(&self.schema), Arc::clone(&self.keys), streams, fetch))
    }

    fn finish(mut self) -> Result<BoxBatches, TaskError> {
        // Where memory was short, what reads the rows needs it.
        if !self.runs.is_empty() && !self.buffer.is_empty() {
            self.spill()?;
        }
        self.buffer.sort(self.fetch);
        let buffer = std::mem::take(&mut self.buffer);
        let mut next = 0;
        let in_memory = Box::new(move || {
            if next >= buffer.rows() {
                return Ok(None);
            }
            let batch = buffer.gather(next, BATCH_ROWS)?;
            next += BATCH_ROWS;
            Ok(Some(batch))
        });
        match self.runs.is_empty() {
            true => Ok(in_memory),
            false => Ok(Box::new(self.merge(&self.runs, Some(in_memory))?)),
        }
    }
}
