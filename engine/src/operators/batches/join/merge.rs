//! Joins of two sides that both come in the order of their keys, in memory that does not depend on their lengths.
//!
//! The right side is cut where its key changes, after some thousand rows each. The left rows up to the last key of such
//! a segment are joined with it by a table, as [`super::hash`] does: so a key with more rows than memory has room for is
//! no case of its own. Where segments end depends on the rows of the right side alone.

use std::cell::RefCell;
use std::rc::Rc;

use arrow::array::RecordBatch;
use arrow::row::Rows;
use millstream_planner::physical::{Program, SortOption};

use super::plan::Plan;
use super::{Build, hash};
use crate::eval::{Evaluator, RowOrigin};
use crate::executor::{Task, TaskError};
use crate::operators::batches::sort::SortKeys;
use crate::operators::batches::{BATCH_ROWS, BoxBatches};

/// Joins segment by segment.
pub(super) fn open(
    task: &Task,
    plan: Plan,
    left: BoxBatches,
    right: Build,
) -> Result<BoxBatches, TaskError> {
    let left = Ordered::new(left, &plan.join.left_keys)?;
    let right = Ordered::new(right.stream()?, &plan.join.right_keys)?;
    let mut merge =
        Merge { task: Task::clone(task), plan: Rc::new(plan), left, right, segment: None };
    Ok(Box::new(move || merge.next()))
}

type Shared<T> = Rc<RefCell<T>>;

struct Merge {
    task: Task,
    plan: Rc<Plan>,
    left: Shared<Ordered>,
    right: Shared<Ordered>,
    segment: Option<BoxBatches>,
}

impl Merge {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if let Some(segment) = &mut self.segment
                && let Some(batch) = segment.next()?
            {
                return Ok(Some(batch));
            }
            let left = self.left.borrow_mut().has_more()?;
            let right = self.right.borrow_mut().has_more()?;
            let gives = self.plan.gives;
            let more = left && (right || gives.left_alone) || right && gives.right_alone;
            if !more {
                return Ok(None);
            }
            self.segment = Some(self.begin()?);
        }
    }

    /// Joins the next rows of the right side with the left rows up to the last of their keys.
    fn begin(&self) -> Result<BoxBatches, TaskError> {
        let bound: Shared<Bound> = Rc::default();
        let (source, to) = (Rc::clone(&self.right), Rc::clone(&bound));
        let right = move || source.borrow_mut().segment(&mut to.borrow_mut());
        let source = Rc::clone(&self.left);
        let left = move || source.borrow_mut().up_to(&bound.borrow());
        hash::start(&self.task, &self.plan, Box::new(left), Build::Stream(Box::new(right)))
    }
}

/// Where a segment of the right side is.
#[derive(Default)]
struct Bound {
    rows: usize,
    /// The last key so far.
    key: Vec<u8>,
    /// There are no rows after it.
    last: bool,
}

/// One side, with its keys in a form in which their order is that of bytes.
struct Ordered {
    input: BoxBatches,
    evaluator: Evaluator,
    keys: SortKeys,
    batch: Option<(RecordBatch, Rows)>,
    /// The next row of the batch.
    row: usize,
}

impl Ordered {
    fn new(input: BoxBatches, keys: &Program) -> Result<Shared<Self>, TaskError> {
        let types = keys.roots.iter().filter_map(|root| Some(keys.get(*root)?.data_type.clone()));
        let types: Vec<_> = types.collect();
        let options = vec![SortOption { descending: false, nulls_first: true }; types.len()];
        Ok(Rc::new(RefCell::new(Self {
            input,
            evaluator: Evaluator::new(keys)?,
            keys: SortKeys::new(&types, &options)?,
            batch: None,
            row: 0,
        })))
    }

    /// Whether there is another row. Reads on if need be.
    fn has_more(&mut self) -> Result<bool, TaskError> {
        while self.batch.as_ref().is_none_or(|(batch, _)| self.row == batch.num_rows()) {
            let Some(batch) = self.input.next()? else {
                self.batch = None;
                return Ok(false);
            };
            let keys = self.evaluator.columns(&batch, RowOrigin::default())?;
            let keys = self.keys.encode(&keys)?;
            (self.batch, self.row) = (Some((batch, keys)), 0);
        }
        Ok(true)
    }

    /// The next rows of a segment; `None` at its end.
    fn segment(&mut self, bound: &mut Bound) -> Result<Option<RecordBatch>, TaskError> {
        if !self.has_more()? {
            bound.last = true;
            return Ok(None);
        }
        let Some((batch, keys)) = &self.batch else { return Ok(None) };
        let first = self.row;
        let wanted = BATCH_ROWS.saturating_sub(bound.rows).min(batch.num_rows() - first);
        if wanted > 0 {
            bound.key.clear();
            bound.key.extend_from_slice(keys.row(first + wanted - 1).data());
        }
        let end = match bound.rows + wanted < BATCH_ROWS {
            true => first + wanted,
            false => end_of(keys, first + wanted, &bound.key),
        };
        bound.rows += end - first;
        self.row = end;
        Ok((end > first).then(|| batch.slice(first, end - first)))
    }

    /// The next rows up to the last key of a segment.
    fn up_to(&mut self, bound: &Bound) -> Result<Option<RecordBatch>, TaskError> {
        if !self.has_more()? {
            return Ok(None);
        }
        let Some((batch, keys)) = &self.batch else { return Ok(None) };
        let end = match bound.last {
            true => batch.num_rows(),
            false => end_of(keys, self.row, &bound.key),
        };
        let first = std::mem::replace(&mut self.row, end);
        Ok((end > first).then(|| batch.slice(first, end - first)))
    }
}

/// The first row from `first` on whose key is above a bound.
fn end_of(keys: &Rows, first: usize, bound: &[u8]) -> usize {
    let (mut low, mut high) = (first, keys.num_rows());
    while low < high {
        let middle = low.midpoint(high);
        match keys.row(middle).data() <= bound {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
