//! A hash join whose build side does not fit: both sides go to disk by the hash of their keys, and are joined
//! partition by partition.
//!
//! A partition that is too large is partitioned further. One that will not come apart, because one key has most of
//! its rows, is joined in passes: as much of the build side as fits at a time, with all of the left side. Either way,
//! what is found is put in order by the number of its left row, so that the rows come in the order in which they would
//! have come without a spill.
//!
//! The price is that rows are written once more when they are found, and then only: to give rows partition by
//! partition in any case would make every join hold, or write, its left side.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;

use super::bits::Bits;
use super::build::{Built, Loader, Seen};
use super::partition::{self, LEVELS, PARTITIONS, Partitioner, pieces};
use super::plan::Plan;
use super::probe::Prober;
use super::runs::{RunWriter, Runs};
use super::side::{Layout, Stored};
use crate::executor::{Task, TaskError};
use crate::operators::batches::{BatchStream, BoxBatches, Spilled};

/// Both sides of one partition on disk.
struct Pair {
    left: Spilled,
    right: Spilled,
    partition: u32,
    /// How often they have been partitioned.
    level: u32,
}

/// The join at work.
struct Work<'a> {
    task: &'a Task,
    plan: &'a Rc<Plan>,
    left: Layout,
    right: Layout,
    runs: Runs,
}

/// The build side on disk.
pub(super) struct SpilledBuild {
    pub(super) rows: Spilled,
    pub(super) layout: Layout,
    pub(super) seen: Seen,
}

/// Spills a build side of which the first rows have been read.
pub(super) fn spill_build(
    task: &Task,
    plan: &Plan,
    loader: Loader,
    layout: &Layout,
    input: &mut dyn BatchStream,
) -> Result<SpilledBuild, TaskError> {
    let mut partitioner = Partitioner::new(task, &plan.form, layout, 0)?;
    let (batches, mut sieve) = loader.into_batches()?;
    for batch in batches {
        partitioner.push(&batch, true)?;
    }
    while let Some(batch) = input.next()? {
        if let Some(batch) = sieve.pass(batch)? {
            partitioner.push(&batch, true)?;
        }
    }
    Ok(SpilledBuild { rows: partitioner.finish()?, layout: layout.clone(), seen: sieve.seen })
}

/// Joins the left side with a spilled build side.
pub(super) fn join(
    task: &Task,
    plan: &Rc<Plan>,
    left: BoxBatches,
    right: SpilledBuild,
) -> Result<BoxBatches, TaskError> {
    let side = plan.left_side(true)?;
    let layout = side.layout.clone();
    let mut left = Stored::new(left, side);
    let mut partitioner = Partitioner::new(task, &plan.form, &layout, 0)?;
    while let Some(batch) = left.next()? {
        partitioner.push(&batch, plan.gives.left_alone)?;
    }
    let left = partitioner.finish()?;
    let runs = Runs::new(task, &plan.numbered, plan.rows_max);
    let mut work = Work { task, plan, left: layout, right: right.layout, runs };
    work.join(left, right.rows)?;
    work.runs.finish(&plan.output)
}

impl Work<'_> {
    fn join(&mut self, left: Spilled, right: Spilled) -> Result<(), TaskError> {
        let mut pairs = Vec::new();
        push_pairs(&mut pairs, &left, &right, 1);
        drop((left, right));
        while let Some(pair) = pairs.pop() {
            self.join_pair(&pair, &mut pairs)?;
        }
        Ok(())
    }

    /// Joins a pair, or leaves it in smaller ones.
    fn join_pair(&mut self, pair: &Pair, pairs: &mut Vec<Pair>) -> Result<(), TaskError> {
        let gives = self.plan.gives;
        let (left, right) = (pair.left.bytes(pair.partition), pair.right.bytes(pair.partition));
        if (left == 0 && !gives.right_alone) || (right == 0 && !gives.left_alone) {
            return Ok(());
        }
        let mut input = pair.right.read(self.task, pair.partition)?;
        let mut loader = Loader::new(self.plan, &self.right);
        if loader.load(self.task, input.as_mut())? {
            return self.join_whole(pair, loader.finish()?);
        }
        let (batches, _) = loader.into_batches()?;
        let mut input = chain(batches, input);
        if pair.level == LEVELS || self.is_hot(&mut input, pair.level)? {
            return self.join_in_passes(pair, &mut input);
        }
        let right = self.partition(&mut input, &self.right, pair.level)?;
        let mut left = pair.left.read(self.task, pair.partition)?;
        let left = self.partition(left.as_mut(), &self.left, pair.level)?;
        push_pairs(pairs, &left, &right, pair.level + 1);
        Ok(())
    }

    fn partition(
        &self,
        input: &mut dyn BatchStream,
        layout: &Layout,
        level: u32,
    ) -> Result<Spilled, TaskError> {
        let mut partitioner = Partitioner::new(self.task, &self.plan.form, layout, level)?;
        while let Some(batch) = input.next()? {
            partitioner.push(&batch, true)?;
        }
        partitioner.finish()
    }

    /// Whether most of the rows that have been read would go to one partition of the next level.
    fn is_hot(&self, input: &mut Chain, level: u32) -> Result<bool, TaskError> {
        let (mut counts, mut rows) = ([0; PARTITIONS], 0);
        for batch in &input.first {
            let keys = self.plan.form.keys(&self.right.keys(batch), batch.num_rows());
            keys?.each_live(|_, hash| {
                counts[partition::of(hash, level)] += 1;
            });
            rows += batch.num_rows();
        }
        Ok(counts.into_iter().any(|count| count * 2 > rows))
    }

    fn join_whole(&mut self, pair: &Pair, built: Built) -> Result<(), TaskError> {
        let mut prober = Prober::new(self.plan, self.plan.gives, &self.left, Arc::new(built));
        let mut run = self.runs.begin()?;
        let mut left = pair.left.read(self.task, pair.partition)?;
        while let Some(batch) = left.next()? {
            for batch in pieces(&batch, self.plan.rows_max) {
                probe(&mut prober, batch, &mut run)?;
            }
        }
        give_alone(&prober, &mut run)?;
        drop(prober);
        self.runs.add(run)
    }

    fn join_in_passes(&mut self, pair: &Pair, right: &mut Chain) -> Result<(), TaskError> {
        let mut matched = Bits::new(0);
        let (mut rows, mut ended) = (0, false);
        while !ended {
            let mut loader = Loader::new(self.plan, &self.right);
            ended = loader.load(self.task, right)?;
            let (built, gives) = (Arc::new(loader.finish()?), self.plan.gives.without_left());
            let mut prober = Prober::new(self.plan, gives, &self.left, built);
            let mut run = self.runs.begin()?;
            let mut left = pair.left.read(self.task, pair.partition)?;
            let mut first = 0;
            while let Some(batch) = left.next()? {
                for batch in pieces(&batch, self.plan.rows_max) {
                    matched.grow((first + batch.num_rows()).saturating_sub(rows));
                    rows = rows.max(first + batch.num_rows());
                    probe(&mut prober, batch, &mut run)?;
                    let found = prober.matched();
                    (0..found.len())
                        .filter(|row| found[*row])
                        .for_each(|row| matched.set(first + row));
                    first += found.len();
                }
            }
            give_alone(&prober, &mut run)?;
            drop(prober);
            self.runs.add(run)?;
        }
        match self.plan.gives.follows_left() {
            true => self.give_left(pair, &matched),
            false => Ok(()),
        }
    }

    /// Gives the left rows by what all passes have found.
    fn give_left(&mut self, pair: &Pair, matched: &Bits) -> Result<(), TaskError> {
        let mut run = self.runs.begin()?;
        let mut left = pair.left.read(self.task, pair.partition)?;
        let mut first = 0;
        while let Some(batch) = left.next()? {
            let live = self.plan.form.live(&self.left.keys(&batch));
            let live = live.filter(|_| self.plan.null_aware);
            let wanted = |row: usize| {
                matched.get(first + row) == self.plan.gives.left_matched
                    && live.as_ref().is_none_or(|live| live.value(row))
            };
            let wanted: Vec<bool> = (0..batch.num_rows()).map(wanted).collect();
            first += batch.num_rows();
            let batch = filter_record_batch(&batch, &BooleanArray::from(wanted));
            for batch in pieces(&batch?, self.plan.rows_max) {
                let all: Vec<u32> = (0..batch.num_rows() as u32).collect();
                run.write(&self.plan.give(&batch, &self.left, &all, None)?)?;
            }
        }
        self.runs.add(run)
    }
}

/// In such an order that the first partition is the next one.
fn push_pairs(pairs: &mut Vec<Pair>, left: &Spilled, right: &Spilled, level: u32) {
    let pair = |partition| Pair { left: left.clone(), right: right.clone(), partition, level };
    pairs.extend((0..PARTITIONS as u32).rev().map(pair));
}

fn probe(prober: &mut Prober, batch: RecordBatch, run: &mut RunWriter) -> Result<(), TaskError> {
    prober.start(batch)?;
    while let Some(batch) = prober.next()? {
        run.write(&batch)?;
    }
    Ok(())
}

fn give_alone(prober: &Prober, run: &mut RunWriter) -> Result<(), TaskError> {
    let mut next = 0;
    while let Some((batch, after)) = prober.alone(next)? {
        run.write(&batch)?;
        next = after;
    }
    Ok(())
}

/// Batches in memory, then a stream.
struct Chain {
    first: std::collections::VecDeque<RecordBatch>,
    rest: BoxBatches,
}

fn chain(first: Vec<RecordBatch>, rest: BoxBatches) -> Chain {
    Chain { first: first.into(), rest }
}

impl BatchStream for Chain {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        match self.first.pop_front() {
            Some(batch) => Ok(Some(batch)),
            None => self.rest.next(),
        }
    }
}
