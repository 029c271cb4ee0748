//! The phases of an aggregation: grouping, giving the groups, and passing on rows that were not worth grouping.

use std::rc::Rc;

use arrow::array::RecordBatch;
use millstream_planner::physical::AggregateMode;

use super::super::keys::RADIX;
use super::super::{BatchStream, BoxBatches, SpillWriter};
use super::groups::Groups;
use super::judge::Judge;
use super::merge::{LITTLE_BYTES, Merge};
use super::output::Output;
use super::part::{Part, Shape};
use crate::eval::RowOrigin;
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
    /// Gives groups.
    Give(Box<Output>),
    /// Passes rows on, each as a group.
    Pass,
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
    fn group(&mut self) -> Result<Output, TaskError> {
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
        self.task.holds(groups.bytes());
        let Some(mut writer) = spill else { return Ok(Output::in_memory(&self.shape, groups)) };
        groups.spill(&mut writer)?;
        let merge = Merge::new(&self.shape, writer.finish()?, &self.task);
        Ok(Output::merged(&self.shape, merge))
    }
}

impl BatchStream for Grouping {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            match &mut self.phase {
                Phase::Read => self.phase = Phase::Give(Box::new(self.group()?)),
                Phase::Give(output) => match output.next()? {
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
