//! The phases of an aggregation: reading, giving what is in memory or merging what is not, and passing rows on.

use std::rc::Rc;

use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use millstream_planner::physical::AggregateMode;

use super::super::keys::RADIX;
use super::super::{BATCH_ROWS, BatchStream, BoxBatches, SpillWriter};
use super::groups::Groups;
use super::judge::Judge;
use super::merge::{LITTLE_BYTES, Merge};
use super::part::{Part, Shape};
use crate::eval::{EvalError, RowOrigin};
use crate::executor::{Task, TaskError};

/// The rows of an aggregation.
pub(super) struct Grouping {
    shape: Rc<Shape>,
    task: Task,
    input: BoxBatches,
    /// Rows read.
    rows: u64,
    /// Says whether grouping here is worth it; only if all groups are made whole elsewhere.
    judge: Option<Judge>,
    phase: Phase,
}

enum Phase {
    /// Reads and groups.
    Read,
    /// Gives groups in memory.
    Give(Give),
    /// Gives groups that were spilled.
    Merge(Box<Merged>),
    /// Passes rows on, each as a group.
    Pass,
}

struct Give {
    groups: Groups,
    numbers: Vec<u32>,
    given: usize,
}

/// Groups of all sizes of parts, in batches of one size.
struct Merged {
    merge: Merge,
    batches: BatchCoalescer,
    give: Option<Give>,
    ended: bool,
}

impl Grouping {
    pub(super) fn new(shape: Rc<Shape>, input: BoxBatches, task: &Task) -> Result<Self, TaskError> {
        let judge = (shape.mode == AggregateMode::Partial && shape.keys > 0).then(Judge::new);
        Ok(Self { shape, task: Rc::clone(task), input, rows: 0, judge, phase: Phase::Read })
    }

    fn read(&mut self) -> Result<Option<Part>, TaskError> {
        self.task.check()?;
        let Some(batch) = self.input.next()? else { return Ok(None) };
        let at = RowOrigin { partition: self.task.id.partition, row: self.rows };
        self.rows += batch.num_rows() as u64;
        Ok(Some(self.shape.part(&batch, at)?))
    }

    /// Reads until the end, or until grouping is not worth it.
    fn group(&mut self) -> Result<Phase, TaskError> {
        let mut groups = Groups::new(&self.shape)?;
        let mut spill = None;
        while let Some(part) = self.read()? {
            let held = groups.bytes();
            if self.task.pressed_by(held, groups.growth(part.rows)) && held > LITTLE_BYTES {
                let writer = match &mut spill {
                    Some(writer) => writer,
                    None => spill.insert(SpillWriter::new(&self.task, RADIX as u32)?),
                };
                groups.spill(writer)?;
                groups = Groups::new(&self.shape)?;
            }
            groups.add(&part)?;
            if self.judge.as_mut().is_some_and(|judge| !judge.goes_on(&part.hashes)) {
                break;
            }
        }
        let Some(mut writer) = spill else { return Ok(Phase::Give(Give::by_partition(groups))) };
        groups.spill(&mut writer)?;
        let merge = Merge::new(&self.shape, writer.finish()?, &self.task);
        let batches = BatchCoalescer::new(Rc::clone(&self.shape).schema.clone(), BATCH_ROWS);
        Ok(Phase::Merge(Box::new(Merged { merge, batches, give: None, ended: false })))
    }
}

impl BatchStream for Grouping {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            match &mut self.phase {
                Phase::Read => self.phase = self.group()?,
                Phase::Give(give) => match give.next()? {
                    Some(batch) => return Ok(Some(batch)),
                    None => self.phase = Phase::Pass,
                },
                Phase::Merge(merged) => match merged.next()? {
                    Some(batch) => return Ok(Some(batch)),
                    None => self.phase = Phase::Pass,
                },
                // Only a judge that has stopped has left anything.
                Phase::Pass => {
                    let Some(part) = self.read()? else { return Ok(None) };
                    return Ok(Some(Groups::give_each(&self.shape, &part)?));
                }
            }
        }
    }
}

impl Give {
    fn by_partition(groups: Groups) -> Self {
        Self { numbers: groups.by_partition().numbers, groups, given: 0 }
    }

    fn by_number(groups: Groups) -> Self {
        Self { numbers: (0..groups.len() as u32).collect(), groups, given: 0 }
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EvalError> {
        let rest = &self.numbers[self.given..];
        let numbers = &rest[..rest.len().min(BATCH_ROWS)];
        self.given += numbers.len();
        (!numbers.is_empty()).then(|| self.groups.give(numbers)).transpose()
    }
}

impl Merged {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if let Some(batch) = self.batches.next_completed_batch() {
                return Ok(Some(batch));
            }
            if self.ended {
                return Ok(None);
            }
            if let Some(give) = &mut self.give {
                match give.next()? {
                    Some(batch) => self.batches.push_batch(batch).map_err(EvalError::from)?,
                    None => self.give = None,
                }
            } else if let Some(groups) = self.merge.next()? {
                self.give = Some(Give::by_number(groups));
            } else {
                self.batches.finish_buffered_batch().map_err(EvalError::from)?;
                self.ended = true;
            }
        }
    }
}
