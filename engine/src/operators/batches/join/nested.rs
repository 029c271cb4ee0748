//! Joins that try every pair: without keys, or with none that can be hashed.
//!
//! Both sides are cut into blocks of a fixed number of rows. Pairs come in the order of left blocks, then of right
//! blocks, then of left rows, then of right rows: so the right side is read once for each left block, from disk if it
//! does not fit. Left rows without a match come after the pairs of their block, right ones at the end.

use std::rc::Rc;

use arrow::array::RecordBatch;

use super::Build;
use super::bits::Bits;
use super::columns::{Columns, NO_ROW};
use super::plan::Plan;
use super::recut::Recut;
use super::side::{Layout, Stored};
use crate::executor::{Task, TaskError};
use crate::operators::batches::{BatchStream, BoxBatches, SpillWriter, Spilled};

/// Joins when it is first asked for rows.
pub(super) fn open(task: &Task, plan: Plan, left: BoxBatches, right: Build) -> BoxBatches {
    let (task, plan) = (Task::clone(task), Rc::new(plan));
    let mut inputs = Some((left, right));
    let mut join: Option<Nested> = None;
    Box::new(move || {
        if let Some((left, right)) = inputs.take() {
            join = Some(Nested::new(&task, &plan, left, right)?);
        }
        join.as_mut().map_or(Ok(None), BatchStream::next)
    })
}

/// The blocks of the right side.
enum Blocks {
    Held(Vec<RecordBatch>),
    Spilled(Spilled),
}

struct Nested {
    task: Task,
    plan: Rc<Plan>,
    left: Recut,
    layout: Layout,
    blocks: Blocks,
    right_rows: usize,
    right_matched: Bits,
    /// The left block that is at work.
    block: Option<Block>,
    /// Pairs found; those from `given` on are still to be given.
    found: (Vec<u32>, Vec<u32>),
    given: usize,
    stage: Stage,
}

enum Stage {
    Pairs,
    /// Right rows without a match: what is left of the right side, and the number of its first row.
    Alone(BoxBatches, usize),
}

struct Block {
    batch: RecordBatch,
    matched: Vec<bool>,
    right: BoxBatches,
    /// The right block that is at work, and the number of its first row.
    columns: Option<Columns>,
    first: usize,
    /// The next left row for it.
    row: usize,
    /// What is found is of the left rows alone.
    alone: bool,
}

impl Nested {
    fn new(
        task: &Task,
        plan: &Rc<Plan>,
        left: BoxBatches,
        right: Build,
    ) -> Result<Self, TaskError> {
        let side = plan.right_side()?;
        let stored = Stored::new(right.stream()?, side);
        let (blocks, right_rows) = load(task, Recut::new(Box::new(stored), plan.rows_max))?;
        let side = plan.left_side(false)?;
        let layout = side.layout.clone();
        Ok(Self {
            task: Task::clone(task),
            plan: Rc::clone(plan),
            left: Recut::new(Box::new(Stored::new(left, side)), plan.rows_max),
            layout,
            blocks,
            right_rows,
            right_matched: Bits::new(if plan.gives.right_alone { right_rows } else { 0 }),
            block: None,
            found: (Vec::new(), Vec::new()),
            given: 0,
            stage: Stage::Pairs,
        })
    }

    fn right(&self) -> Result<BoxBatches, TaskError> {
        match &self.blocks {
            Blocks::Spilled(spilled) => spilled.read(&self.task, 0),
            Blocks::Held(blocks) => {
                let mut blocks = blocks.clone().into_iter();
                Ok(Box::new(move || Ok(blocks.next())))
            }
        }
    }

    /// Finds rows to give next; false at the end of the left side.
    fn find(&mut self) -> Result<bool, TaskError> {
        self.found.0.clear();
        self.found.1.clear();
        self.given = 0;
        if self.block.is_none() {
            let Some(batch) = self.left.next()? else { return Ok(false) };
            let (matched, right) = (vec![false; batch.num_rows()], self.right()?);
            let (columns, first, row) = (None, 0, 0);
            self.block = Some(Block { batch, matched, right, columns, first, row, alone: false });
        }
        let Some(block) = &mut self.block else { return Ok(false) };
        if block.alone {
            self.block = None;
            return Ok(true);
        }
        if block.columns.is_none() {
            self.task.check()?;
            match block.right.next()? {
                Some(batch) => block.columns = Some(Columns::of(&batch)),
                None => {
                    block.alone = true;
                    block.find_alone(&self.plan, &mut self.found);
                    return Ok(true);
                }
            }
        }
        self.find_pairs()?;
        Ok(true)
    }

    /// Tries the pairs of some left rows with the right block.
    fn find_pairs(&mut self) -> Result<(), TaskError> {
        let Some(block) = &mut self.block else { return Ok(()) };
        let Some(columns) = &block.columns else { return Ok(()) };
        let (gives, right_rows) = (self.plan.gives, columns.rows());
        let (left, right) = &mut self.found;
        while block.row < block.batch.num_rows() && left.len() + right_rows <= self.plan.rows_max {
            // Where pairs do not count, one match is enough.
            if gives.pairs || !block.matched[block.row] {
                left.extend(std::iter::repeat_n(block.row as u32, right_rows));
                right.extend(0..right_rows as u32);
            }
            block.row += 1;
        }
        self.plan.keep_pairs(&block.batch, columns, left, right)?;
        left.iter().for_each(|row| block.matched[*row as usize] = true);
        if gives.right_alone {
            right.iter().for_each(|row| self.right_matched.set(block.first + *row as usize));
        }
        if !gives.pairs {
            left.clear();
            right.clear();
        }
        if block.row == block.batch.num_rows() && left.is_empty() {
            block.end_right();
        }
        Ok(())
    }

    fn give(&mut self) -> Result<RecordBatch, TaskError> {
        let Some(block) = &mut self.block else {
            return Err(TaskError::internal("pairs of a block that is gone"));
        };
        let (left, right) = &self.found;
        let end = left.len().min(self.given + self.plan.rows_max);
        let span = std::mem::replace(&mut self.given, end)..end;
        let stored = block.columns.as_ref().filter(|_| !block.alone);
        let right = stored.map(|columns| (columns, &right[span.clone()]));
        let batch = self.plan.give(&block.batch, &self.layout, &left[span], right)?;
        if self.given == left.len() && !block.alone && block.row == block.batch.num_rows() {
            block.end_right();
        }
        Ok(batch)
    }

    fn give_alone(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        while let Stage::Alone(right, first) = &mut self.stage {
            let Some(batch) = right.next()? else { return Ok(None) };
            let rows = batch.num_rows();
            let wanted: Vec<u32> = (0..rows)
                .filter(|row| !self.right_matched.get(*first + row))
                .map(|row| row as u32)
                .collect();
            *first += rows;
            if !wanted.is_empty() {
                return self.plan.give_alone(&Columns::of(&batch), &wanted, false).map(Some);
            }
        }
        Ok(None)
    }
}

impl Block {
    fn end_right(&mut self) {
        self.first += self.columns.take().map_or(0, |columns| columns.rows());
        self.row = 0;
    }

    /// The rows that are given by whether they match.
    fn find_alone(&self, plan: &Plan, found: &mut (Vec<u32>, Vec<u32>)) {
        let gives = plan.gives;
        let wanted =
            |row: &usize| if self.matched[*row] { gives.left_matched } else { gives.left_alone };
        found.0.extend((0..self.matched.len()).filter(wanted).map(|row| row as u32));
        found.1.resize(found.0.len(), NO_ROW);
    }
}

impl BatchStream for Nested {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if let Stage::Alone(..) = self.stage {
                return self.give_alone();
            }
            if self.given < self.found.0.len() {
                return self.give().map(Some);
            }
            if !self.find()? {
                if !self.plan.gives.right_alone || self.right_rows == 0 {
                    return Ok(None);
                }
                self.stage = Stage::Alone(self.right()?, 0);
            }
        }
    }
}

/// Reads the right side: into memory as far as there is room, to disk as a whole if there is not.
fn load(task: &Task, mut input: Recut) -> Result<(Blocks, usize), TaskError> {
    let (mut held, mut bytes, mut rows) = (Vec::new(), 0, 0);
    while let Some(block) = input.next()? {
        rows += block.num_rows();
        bytes += block.columns().iter().map(super::columns::bytes).sum::<usize>();
        held.push(block);
        task.holds(bytes);
        if bytes > super::build::worth_spilling(task) && task.pressed(bytes) {
            let mut writer = SpillWriter::new(task, 1)?;
            held.into_iter().try_for_each(|block| writer.write(0, block))?;
            while let Some(block) = input.next()? {
                rows += block.num_rows();
                writer.write(0, block)?;
            }
            return Ok((Blocks::Spilled(writer.finish()?), rows));
        }
    }
    Ok((Blocks::Held(held), rows))
}
