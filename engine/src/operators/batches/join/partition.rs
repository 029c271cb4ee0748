//! Spilling a side by the hash of its keys: the rows of equal keys go to one partition.

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::concat_batches;

use super::build::worth_spilling;
use super::keys::{KeyMatch, Keys};
use super::side::Layout;
use crate::executor::{Task, TaskError};
use crate::operators::batches::{BATCH_ROWS, SpillWriter, Spilled, take};

const BITS: u32 = 5;
/// Partitions of one level.
pub(super) const PARTITIONS: usize = 1 << BITS;
/// Times that rows can be partitioned further: the table uses the other bits of the hash.
pub(super) const LEVELS: u32 = 4;

/// What is buffered at most, for blocks of some size.
const BYTES_MAX: usize = 4 << 20;

/// Writes stored batches by partition.
pub(super) struct Partitioner<'a> {
    task: &'a Task,
    form: &'a KeyMatch,
    layout: &'a Layout,
    level: u32,
    writer: SpillWriter,
    buffered: Vec<Vec<RecordBatch>>,
    bytes: usize,
    /// Keys that match nothing go round.
    turn: usize,
}

impl<'a> Partitioner<'a> {
    pub(super) fn new(
        task: &'a Task,
        form: &'a KeyMatch,
        layout: &'a Layout,
        level: u32,
    ) -> Result<Self, TaskError> {
        let writer = SpillWriter::new(task, PARTITIONS as u32)?;
        let buffered = vec![Vec::new(); PARTITIONS];
        Ok(Self { task, form, layout, level, writer, buffered, bytes: 0, turn: 0 })
    }

    /// Adds a batch; of rows whose keys match nothing only if they are wanted.
    pub(super) fn push(&mut self, batch: &RecordBatch, dead: bool) -> Result<(), TaskError> {
        let rows = super::columns::rows_max(&self.layout.schema).min(BATCH_ROWS);
        pieces(batch, rows).try_for_each(|batch| self.push_piece(&batch, dead))
    }

    fn push_piece(&mut self, batch: &RecordBatch, dead: bool) -> Result<(), TaskError> {
        let keys = self.form.keys(&self.layout.keys(batch), batch.num_rows());
        let partitions = self.partitions(&keys?, dead);
        let (order, ends) = sort(&partitions);
        let rows = take(batch, &UInt32Array::from(order))?;
        let mut start = 0;
        for (buffered, end) in self.buffered.iter_mut().zip(ends) {
            if start < end {
                buffered.push(rows.slice(start, end - start));
            }
            start = end;
        }
        self.bytes += batch.columns().iter().map(super::columns::bytes).sum::<usize>();
        let pressed = || {
            self.bytes > worth_spilling(self.task) && self.task.pressed_by(self.bytes, self.bytes)
        };
        match self.bytes > BYTES_MAX || pressed() {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// By row: its partition. [`PARTITIONS`] is none.
    fn partitions(&mut self, keys: &Keys, dead: bool) -> Vec<usize> {
        let Some(live) = &keys.live else {
            return keys.hashes.iter().map(|hash| of(*hash, self.level)).collect();
        };
        let one = |(hash, live): (&u64, bool)| match (live, dead) {
            (true, _) => of(*hash, self.level),
            (false, false) => PARTITIONS,
            (false, true) => {
                self.turn = (self.turn + 1) % PARTITIONS;
                self.turn
            }
        };
        keys.hashes.iter().zip(live).map(one).collect()
    }

    fn flush(&mut self) -> Result<(), TaskError> {
        for (partition, buffered) in self.buffered.iter_mut().enumerate() {
            if !buffered.is_empty() {
                let batch = concat_batches(&self.layout.schema, buffered.iter());
                buffered.clear();
                self.writer.write(partition as u32, batch?)?;
            }
        }
        self.writer.begin_run();
        self.bytes = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Spilled, TaskError> {
        self.flush()?;
        self.writer.finish()
    }
}

/// A batch in pieces of at most so many rows.
pub(super) fn pieces(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> {
    let len = batch.num_rows();
    (0..len).step_by(rows).map(move |first| batch.slice(first, rows.min(len - first)))
}

/// The partition of a hash.
#[inline]
pub(super) fn of(hash: u64, level: u32) -> usize {
    (hash >> (u64::BITS - BITS * (level + 1))) as usize % PARTITIONS
}

/// Rows by partition, each in their order, and where each partition ends.
fn sort(partitions: &[usize]) -> (Vec<u32>, [usize; PARTITIONS]) {
    let mut starts = [0; PARTITIONS + 1];
    for partition in partitions.iter().filter(|partition| **partition < PARTITIONS) {
        starts[partition + 1] += 1;
    }
    for partition in 0..PARTITIONS {
        starts[partition + 1] += starts[partition];
    }
    let mut order = vec![0; starts[PARTITIONS]];
    let mut ends = [0; PARTITIONS];
    ends.copy_from_slice(&starts[..PARTITIONS]);
    for (row, partition) in partitions.iter().enumerate() {
        if let Some(end) = ends.get_mut(*partition) {
            order[*end] = row as u32;
            *end += 1;
        }
    }
    (order, ends)
}
