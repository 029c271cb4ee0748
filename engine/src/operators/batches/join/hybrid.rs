//! A hash join whose build side does not fit: a part of it stays in memory, by the hash of the keys, and the rest
//! goes to disk.
//!
//! ```text
//!  right ─> partitions ─┬─ kept ──────> table ──────────────────┐
//!                       └─ on disk, in groups that fit ──┐      │
//!  left ── filter, hash ─┬─ of a partition that is kept ─│──> probe ──> run ─┐
//!                        └─ put aside, by group ─────────┴──> probe ──> run ─┴─> merge by number
//! ```
//!
//! Left rows of partitions that are kept are joined as they come. Others are put aside if a filter says that they
//! may have a match, and joined group by group. A group that does not fit after all is taken apart in the same way by other
//! bits of the hash; one that will not come apart, because one key has most of its rows, is joined in [`super::passes`].
//!
//! What is found is put in order by the number of its left row, so that rows come in the order in which they would
//! have come without a spill, whatever was kept. So it is written once more, all but what the last group gives: to give rows in
//! an order of partitions would make every join hold, or write, its left side.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::aside::Aside;
use super::build::{Built, Loader, Seen, Sieve};
use super::hash::Probe;
use super::keys::Keys;
use super::partition::{self, Away, LEVELS, PARTITIONS, Parted, Partitioner, pieces};
use super::passes;
use super::plan::Plan;
use super::probe::Prober;
use super::runs::{RunWriter, Runs};
use super::side::{Layout, Stored};
use crate::executor::{Task, TaskError};
use crate::operators::batches::{BatchStream, BoxBatches, Spilled};

/// A build side of which only a part is in memory.
pub(super) struct HybridBuild {
    parted: Parted,
    layout: Layout,
    pub(super) seen: Seen,
}

/// Partitions a build side of which the first rows have been read.
pub(super) fn build(
    task: &Task,
    plan: &Rc<Plan>,
    loader: Loader,
    layout: &Layout,
    input: &mut dyn BatchStream,
) -> Result<HybridBuild, TaskError> {
    let (batches, sieve) = loader.into_batches()?;
    let (parted, seen) = part(task, plan, layout, (batches, sieve), input, 0)?;
    Ok(HybridBuild { parted, layout: layout.clone(), seen })
}

/// Partitions rows that have been read, and those that follow.
fn part(
    task: &Task,
    plan: &Rc<Plan>,
    layout: &Layout,
    (batches, mut sieve): (Vec<RecordBatch>, Sieve),
    input: &mut dyn BatchStream,
    level: u32,
) -> Result<(Parted, Seen), TaskError> {
    let mut partitioner = Partitioner::new(task, plan, layout, level)?;
    for batch in batches {
        partitioner.push(&batch)?;
    }
    while let Some(batch) = input.next()? {
        if let Some(batch) = sieve.pass(batch)? {
            partitioner.push(&batch)?;
        }
    }
    Ok((partitioner.finish()?, sieve.seen))
}

/// Joins the left side with a build side of which only a part is in memory.
pub(super) fn join(
    task: &Task,
    plan: &Rc<Plan>,
    left: BoxBatches,
    right: HybridBuild,
) -> Result<BoxBatches, TaskError> {
    let side = plan.left_side(true)?;
    let layout = side.layout.clone();
    let runs = Runs::new(task, &plan.numbered, plan.rows_max);
    let mut work = Work { task, plan, left: layout, right: right.layout, runs };
    let mut groups = Vec::new();
    work.probe(&mut Stored::new(left, side), right.parted, &mut groups)?;
    let last = work.join_groups(groups)?;
    work.runs.finish(last, &plan.output)
}

/// A group of partitions on disk, and the left rows that may match.
pub(super) struct Group {
    left: Spilled,
    left_partition: u32,
    right: Spilled,
    right_partitions: Vec<u32>,
    /// How often its rows have been partitioned.
    level: u32,
}

/// The join at work.
pub(super) struct Work<'a> {
    pub(super) task: &'a Task,
    pub(super) plan: &'a Rc<Plan>,
    pub(super) left: Layout,
    pub(super) right: Layout,
    pub(super) runs: Runs,
}

impl Work<'_> {
    /// Joins left rows with what is in memory. The rest becomes groups, the first of them at the end.
    fn probe(
        &mut self,
        left: &mut dyn BatchStream,
        right: Parted,
        groups: &mut Vec<Group>,
    ) -> Result<(), TaskError> {
        let Parted { built, away } = right;
        let mut prober = Prober::new(self.plan, self.plan.gives, &self.left, built);
        let mut run = self.runs.begin()?;
        let mut aside = Aside::new(self.task, &self.left.schema, away.groups.len())?;
        let mut rows = vec![Vec::new(); away.groups.len()];
        while let Some(batch) = left.next()? {
            for batch in pieces(&batch, self.plan.rows_max) {
                let keys = self.plan.form.keys(&self.left.keys(&batch), batch.num_rows())?;
                find_away(&away, &keys, &mut rows);
                prober.start_without(batch.clone(), keys, rows.iter().flatten());
                give(&mut prober, &mut run)?;
                aside.push(&batch, &rows)?;
            }
        }
        give_alone(&mut prober, &mut run)?;
        drop(prober);
        self.runs.add(run)?;
        let left = aside.finish()?;
        let group = |group: usize| Group {
            left: left.clone(),
            left_partition: group as u32,
            right: away.rows.clone(),
            right_partitions: away.groups.partitions(group).collect(),
            level: away.level + 1,
        };
        groups.extend((0..away.groups.len()).rev().map(group));
        Ok(())
    }

    /// Joins groups from the end. What the last one gives need not wait for others.
    fn join_groups(&mut self, mut groups: Vec<Group>) -> Result<Option<BoxBatches>, TaskError> {
        while let Some(group) = groups.pop() {
            self.task.check()?;
            if group.is_without_left() && !self.plan.gives.right_alone {
                continue;
            }
            if groups.is_empty() {
                self.runs.settle()?;
            }
            let mut input = group.right(self.task)?;
            let mut loader = Loader::new(self.plan, &self.right);
            if loader.load(self.task, input.as_mut())? {
                let mut rows = self.join_whole(&group, loader.finish()?)?;
                if groups.is_empty() {
                    return Ok(Some(rows));
                }
                let mut run = self.runs.begin()?;
                while let Some(batch) = rows.next()? {
                    run.write(&batch)?;
                }
                drop(rows);
                self.runs.add(run)?;
                continue;
            }
            let (task, plan, level) = (self.task, self.plan, group.level);
            let (batches, sieve) = loader.into_batches()?;
            if level == LEVELS || self.is_hot(&batches, level)? {
                passes::join(self, &group, &mut chain(batches, input))?;
                continue;
            }
            let right = &self.right;
            let (parted, _) = part(task, plan, right, (batches, sieve), input.as_mut(), level)?;
            self.probe(group.left(task)?.as_mut(), parted, &mut groups)?;
        }
        Ok(None)
    }

    fn join_whole(&self, group: &Group, built: Built) -> Result<BoxBatches, TaskError> {
        let left = group.left(self.task)?;
        Ok(Box::new(Probe::new(self.plan, left, &self.left, Arc::new(built))))
    }

    /// Whether most of the rows that have been read would go to one partition of the next level.
    fn is_hot(&self, batches: &[RecordBatch], level: u32) -> Result<bool, TaskError> {
        let (mut counts, mut rows) = ([0; PARTITIONS], 0);
        for batch in batches {
            let keys = self.plan.form.keys(&self.right.keys(batch), batch.num_rows());
            keys?.each_live(|_, hash| {
                counts[partition::of(hash, level)] += 1;
            });
            rows += batch.num_rows();
        }
        Ok(counts.into_iter().any(|count| count * 2 > rows))
    }
}

impl Group {
    fn is_without_left(&self) -> bool {
        self.left.bytes(self.left_partition) == 0
    }

    pub(super) fn left(&self, task: &Task) -> Result<BoxBatches, TaskError> {
        self.left.read(task, self.left_partition)
    }

    fn right(&self, task: &Task) -> Result<BoxBatches, TaskError> {
        let (right, task) = (self.right.clone(), Task::clone(task));
        let mut partitions = self.right_partitions.clone().into_iter();
        let mut current: Option<BoxBatches> = None;
        Ok(Box::new(move || {
            loop {
                if let Some(current) = &mut current
                    && let Some(batch) = current.next()?
                {
                    return Ok(Some(batch));
                }
                let Some(partition) = partitions.next() else { return Ok(None) };
                current = Some(right.read(&task, partition)?);
            }
        }))
    }
}

/// The rows whose matches may be on disk, by group.
fn find_away(away: &Away, keys: &Keys, rows: &mut [Vec<u32>]) {
    rows.iter_mut().for_each(Vec::clear);
    keys.each_live(|row, hash| {
        if let Some(group) = away.group_of(hash) {
            rows[group].push(row as u32);
        }
    });
}

/// Gives what there is for the batch that a prober has been started with.
pub(super) fn give(prober: &mut Prober, run: &mut RunWriter) -> Result<(), TaskError> {
    while let Some(batch) = prober.next()? {
        run.write(&batch)?;
    }
    Ok(())
}

pub(super) fn give_alone(prober: &mut Prober, run: &mut RunWriter) -> Result<(), TaskError> {
    while let Some(batch) = prober.alone()? {
        run.write(&batch)?;
    }
    Ok(())
}

/// Batches in memory, then a stream.
fn chain(first: Vec<RecordBatch>, mut rest: BoxBatches) -> BoxBatches {
    let mut first = first.into_iter();
    Box::new(move || match first.next() {
        Some(batch) => Ok(Some(batch)),
        None => rest.next(),
    })
}
