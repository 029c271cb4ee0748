//! A build side by the hash of its keys: rows of equal keys are in one partition. Partitions stay in memory for as long
//! as there is room, and go to disk one by one, the largest first.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::concat_batches;

use super::build::{Built, Loader, table_bytes, worth_spilling};
use super::columns::{bytes, owned, rows_max};
use super::filter::Filter;
use super::groups::Groups;
use super::keys::Keys;
use super::plan::Plan;
use super::side::Layout;
use crate::executor::{Task, TaskError};
use crate::operators::batches::{BATCH_ROWS, SpillWriter, Spilled, batch_of, take};

const BITS: u32 = 5;
/// Partitions of one level.
pub(super) const PARTITIONS: usize = 1 << BITS;
/// Times that rows can be partitioned: the table uses the other bits of the hash.
pub(super) const LEVELS: u32 = 4;

/// Partitions that are on disk from the start: there would be no room to keep all.
const SPILLED_FIRST: usize = PARTITIONS / 8;
/// What waits at most for being written, or being made a batch of what is kept.
pub(super) const PENDING_BYTES_MAX: usize = 4 << 20;

/// A build side that is being partitioned.
pub(super) struct Partitioner<'a> {
    task: &'a Task,
    plan: &'a Rc<Plan>,
    layout: &'a Layout,
    level: u32,
    writer: SpillWriter,
    partitions: [Partition; PARTITIONS],
    pending_bytes: usize,
    filter: Filter,
    /// Keys that match nothing go round.
    turn: usize,
}

#[derive(Default)]
struct Partition {
    on_disk: bool,
    /// Parts of batches, which they hold as a whole.
    pending: Vec<RecordBatch>,
    /// None of what is on disk.
    kept: Vec<RecordBatch>,
    /// What all rows take in memory as columns, and for a table.
    bytes: usize,
    table_bytes: usize,
}

/// A partitioned build side.
pub(super) struct Parted {
    /// The partitions in memory.
    pub(super) built: Arc<Built>,
    pub(super) away: Away,
}

/// The partitions on disk.
pub(super) struct Away {
    pub(super) rows: Spilled,
    pub(super) groups: Groups,
    /// Of the keys on both sides of the divide.
    filter: Option<Filter>,
    pub(super) level: u32,
}

impl<'a> Partitioner<'a> {
    /// By the part of the hash that is used at this level.
    pub(super) fn new(
        task: &'a Task,
        plan: &'a Rc<Plan>,
        layout: &'a Layout,
        level: u32,
    ) -> Result<Self, TaskError> {
        let mut partitions: [Partition; PARTITIONS] = std::array::from_fn(|_| Partition::default());
        partitions[..SPILLED_FIRST].iter_mut().for_each(|partition| partition.on_disk = true);
        Ok(Self {
            task,
            plan,
            layout,
            level,
            writer: SpillWriter::new(task, PARTITIONS as u32)?,
            partitions,
            pending_bytes: 0,
            filter: Filter::new(task.runtime.budget.floor()),
            turn: 0,
        })
    }

    /// Adds a stored batch.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let rows = rows_max(&self.layout.schema).min(BATCH_ROWS);
        pieces(batch, rows).try_for_each(|batch| self.push_piece(&batch))
    }

    fn push_piece(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let columns = self.layout.keys(batch);
        let keys = self.plan.form.keys(&columns, batch.num_rows())?;
        keys.each_live(|_, hash| self.filter.add(hash));
        let places = self.places(&keys);
        let (order, ends) = sort(&places);
        let rows = take(batch, &UInt32Array::from(order))?;
        let table_bytes = table_bytes(&self.plan.form, &columns, batch.num_rows());
        let mut start = 0;
        for (partition, end) in self.partitions.iter_mut().zip(ends) {
            if start < end {
                partition.pending.push(rows.slice(start, end - start));
                partition.table_bytes += table_bytes * (end - start) / batch.num_rows();
            }
            start = end;
        }
        self.pending_bytes += batch.columns().iter().map(bytes).sum::<usize>();
        if self.pending_bytes > PENDING_BYTES_MAX {
            self.flush()?;
        }
        self.relieve()
    }

    /// By row: its partition.
    fn places(&mut self, keys: &Keys) -> Vec<usize> {
        let Some(live) = &keys.live else {
            return keys.hashes.iter().map(|hash| of(*hash, self.level)).collect();
        };
        let one = |(hash, live): (&u64, bool)| match live {
            true => of(*hash, self.level),
            false => {
                self.turn = (self.turn + 1) % PARTITIONS;
                self.turn
            }
        };
        keys.hashes.iter().zip(live).map(one).collect()
    }

    /// Brings together what is pending: on disk, or as batches that own no more than their rows.
    fn flush(&mut self) -> Result<(), TaskError> {
        for (at, partition) in (0..).zip(&mut self.partitions) {
            if partition.pending.is_empty() {
                continue;
            }
            let batch = concat_batches(&self.layout.schema, partition.pending.iter())?;
            partition.pending.clear();
            partition.bytes += batch.columns().iter().map(bytes).sum::<usize>();
            match partition.on_disk {
                true => self.writer.write(at, batch)?,
                false => {
                    let columns = batch.columns().iter().cloned().map(owned).collect();
                    partition.kept.push(batch_of(&self.layout.schema, columns, batch.num_rows())?);
                }
            }
        }
        self.writer.begin_run();
        self.pending_bytes = 0;
        Ok(())
    }

    /// Spills partitions until there is room to go on.
    fn relieve(&mut self) -> Result<(), TaskError> {
        while self.is_pressed() {
            if self.pending_bytes > 0 {
                self.flush()?;
                continue;
            }
            let kept = self.partitions.iter_mut().enumerate().filter(|(_, one)| !one.on_disk);
            let Some((at, largest)) = kept.max_by_key(|(_, partition)| partition.bytes) else {
                return Ok(());
            };
            largest.on_disk = true;
            for batch in largest.kept.drain(..) {
                self.writer.write(at as u32, batch)?;
            }
            self.writer.begin_run();
        }
        Ok(())
    }

    fn is_pressed(&self) -> bool {
        let kept = || self.partitions.iter().filter(|partition| !partition.on_disk);
        let table_bytes: usize = kept().map(|partition| partition.table_bytes).sum();
        let bytes = self.pending_bytes + kept().map(|partition| partition.bytes).sum::<usize>();
        bytes + table_bytes > worth_spilling(self.task)
            && self.task.pressed_by(bytes + table_bytes, table_bytes + self.pending_bytes)
    }

    /// Makes the table of what is kept, and groups of the rest.
    pub(super) fn finish(mut self) -> Result<Parted, TaskError> {
        self.flush()?;
        let mut sizes = [None; PARTITIONS];
        let (mut kept_bytes, mut loader) = (0, Loader::new(self.plan, self.layout));
        for (partition, size) in self.partitions.into_iter().zip(&mut sizes) {
            let bytes = partition.bytes + partition.table_bytes;
            match partition.on_disk {
                true => *size = (bytes > 0).then_some(bytes),
                false => kept_bytes += bytes,
            }
            partition.kept.into_iter().try_for_each(|batch| loader.push(batch))?;
        }
        let built = Arc::new(loader.finish()?);
        let least = (self.task.runtime.budget.floor() / 2) as usize;
        let groups = Groups::new(&sizes, kept_bytes.max(least));
        let filter = Some(self.filter).filter(Filter::is_useful);
        let away = Away { rows: self.writer.finish()?, groups, filter, level: self.level };
        Ok(Parted { built, away })
    }
}

impl Away {
    /// The group in which a key may have matches.
    #[inline]
    pub(super) fn group_of(&self, hash: u64) -> Option<usize> {
        let group = self.groups.of(of(hash, self.level))?;
        self.filter.as_ref().is_none_or(|filter| filter.may_contain(hash)).then_some(group)
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

/// Rows by place, each in their order, and where each place ends.
fn sort(places: &[usize]) -> (Vec<u32>, [usize; PARTITIONS]) {
    let mut ends = [0; PARTITIONS];
    places.iter().for_each(|place| ends[*place] += 1);
    let mut start = 0;
    for end in &mut ends {
        start += std::mem::replace(end, start);
    }
    let mut order = vec![0; places.len()];
    for (row, place) in places.iter().enumerate() {
        order[ends[*place]] = row as u32;
        ends[*place] += 1;
    }
    (order, ends)
}
