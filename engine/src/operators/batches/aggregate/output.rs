//! Giving groups in batches whose cuts are a function of the groups alone.

use std::rc::Rc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;

use super::super::BATCH_ROWS;
use super::groups::Groups;
use super::merge::Merge;
use super::part::Shape;
use crate::eval::EvalError;
use crate::executor::TaskError;

/// Values kept of groups that go to one batch; more only if they are of one group.
const BATCH_VALUES: usize = 1 << 16;

/// What a batch still has room for.
pub(super) struct Room {
    rows: usize,
    values: usize,
}

impl Room {
    pub(super) fn of_batch() -> Self {
        Self { rows: BATCH_ROWS, values: BATCH_VALUES }
    }

    /// How many groups, of so many values each, have room, and whether there is a next one that has none.
    pub(super) fn take(&mut self, weights: impl Iterator<Item = usize>) -> (usize, bool) {
        let mut taken = 0;
        for weight in weights {
            let fits = weight <= self.values || self.rows == BATCH_ROWS;
            if self.rows == 0 || !fits {
                return (taken, true);
            }
            self.rows -= 1;
            self.values = self.values.saturating_sub(weight);
            taken += 1;
        }
        (taken, false)
    }
}

/// The groups that an aggregation gives.
pub(super) struct Output {
    shape: Rc<Shape>,
    /// Groups in memory.
    groups: Option<InOrder>,
    /// Those that were spilled.
    merge: Option<Merge>,
    /// Of the next batch.
    pieces: Vec<RecordBatch>,
    room: Room,
}

/// Groups in the order in which they are given.
struct InOrder {
    groups: Groups,
    numbers: Vec<u32>,
    given: usize,
}

impl Output {
    /// Groups that are all in memory.
    pub(super) fn in_memory(shape: &Rc<Shape>, groups: Groups) -> Self {
        let numbers = groups.by_partition().numbers;
        Self::new(shape, Some(InOrder { groups, numbers, given: 0 }), None)
    }

    /// Groups that were spilled.
    pub(super) fn merged(shape: &Rc<Shape>, merge: Merge) -> Self {
        Self::new(shape, None, Some(merge))
    }

    fn new(shape: &Rc<Shape>, groups: Option<InOrder>, merge: Option<Merge>) -> Self {
        let (shape, room) = (Rc::clone(shape), Room::of_batch());
        Self { shape, groups, merge, pieces: Vec::new(), room }
    }

    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if let Some(groups) = &mut self.groups {
                if groups.next(&mut self.room, &mut self.pieces)? {
                    return Ok(self.batch()?);
                }
                self.groups = None;
            }
            match self.merge.as_mut().map_or(Ok(None), Merge::next)? {
                Some(groups) => {
                    let numbers = (0..groups.len() as u32).collect();
                    self.groups = Some(InOrder { groups, numbers, given: 0 });
                }
                None => return Ok(self.batch()?),
            }
        }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, EvalError> {
        self.room = Room::of_batch();
        let pieces = std::mem::take(&mut self.pieces);
        Ok(match pieces.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(concat_batches(&self.shape.schema, several)?),
        })
    }
}

impl InOrder {
    /// Adds the next groups to a batch. Whether it is full is the result.
    fn next(&mut self, room: &mut Room, pieces: &mut Vec<RecordBatch>) -> Result<bool, EvalError> {
        let rest = &self.numbers[self.given..];
        let (taken, full) = room.take(self.groups.weights(rest));
        if taken > 0 {
            pieces.push(self.groups.give(&rest[..taken])?);
            self.given += taken;
        }
        Ok(full)
    }
}
