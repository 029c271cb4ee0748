//! Merging what was spilled, partition by partition.
//!
//! The states of a partition lie in the order of their rows. If its groups are too many for memory, the first of them
//! are merged and given, what belongs to others is put aside, and taken up in another pass. Hence
//! the order of the groups is that of their first rows, however many passes there are.

use std::rc::Rc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::super::keys::RADIX;
use super::super::{SpillWriter, Spilled};
use super::groups::Groups;
use super::part::Shape;
use crate::eval::EvalError;
use crate::executor::{Task, TaskError};

/// State that is not worth spilling.
pub(super) const LITTLE_BYTES: usize = 128 << 10;

/// The groups that were spilled.
pub(super) struct Merge {
    shape: Rc<Shape>,
    task: Task,
    spilled: Spilled,
    /// The next.
    partition: u32,
    /// Of the partition before, what was put aside.
    aside: Option<Spilled>,
}

/// How a pass ended.
enum Pass {
    /// With groups that are whole, and what belongs to others.
    Whole(Box<Groups>, Option<Spilled>),
    /// With more groups than there was memory for: so many.
    Refused(usize),
}

impl Merge {
    pub(super) fn new(shape: &Rc<Shape>, spilled: Spilled, task: &Task) -> Self {
        let (shape, task) = (Rc::clone(shape), Rc::clone(task));
        Self { shape, task, spilled, partition: 0, aside: None }
    }

    /// The next groups, all of one partition and in the order of their numbers.
    pub(super) fn next(&mut self) -> Result<Option<Groups>, TaskError> {
        let (from, partition) = match self.aside.take() {
            Some(aside) => (aside, 0),
            None if self.partition < RADIX as u32 => {
                self.partition += 1;
                (self.spilled.clone(), self.partition - 1)
            }
            None => return Ok(None),
        };
        let mut most = usize::MAX;
        loop {
            match self.pass(&from, partition, most)? {
                Pass::Whole(groups, aside) => {
                    self.aside = aside;
                    return Ok(Some(*groups));
                }
                Pass::Refused(groups) => most = (groups.min(most) / 4).max(1),
            }
        }
    }

    /// Merges the first groups, `most` at most.
    fn pass(&self, from: &Spilled, partition: u32, most: usize) -> Result<Pass, TaskError> {
        let mut groups = Groups::new(&self.shape)?;
        let mut aside = None;
        let mut input = from.read(&self.task, partition)?;
        while let Some(batch) = input.next()? {
            let (held, rows) = (groups.bytes(), batch.num_rows());
            if self.task.pressed_by(held, groups.growth(rows.min(most))) && held > LITTLE_BYTES {
                if groups.len() > 1 {
                    return Ok(Pass::Refused(groups.len()));
                }
                self.task.demand(|| self.describe(&groups))?;
            }
            let first = self.add_first(&mut groups, &batch, most)?;
            let rest = batch.slice(first, rows - first);
            let unknown = groups.add_known(&self.shape.spilled_part(&rest))?;
            if unknown.true_count() > 0 {
                let writer = match &mut aside {
                    Some(writer) => writer,
                    None => aside.insert(SpillWriter::new(&self.task, 1)?),
                };
                let rest = filter_record_batch(&rest, &unknown).map_err(EvalError::from)?;
                writer.write(0, rest)?;
            }
        }
        Ok(Pass::Whole(Box::new(groups), aside.map(SpillWriter::finish).transpose()?))
    }

    /// Adds rows from the first on, until there are `most` groups. How many is the result.
    fn add_first(
        &self,
        groups: &mut Groups,
        batch: &RecordBatch,
        most: usize,
    ) -> Result<usize, TaskError> {
        let mut added = 0;
        while groups.len() < most && added < batch.num_rows() {
            let rows = (most - groups.len()).min(batch.num_rows() - added);
            groups.add(&self.shape.spilled_part(&batch.slice(added, rows)))?;
            added += rows;
        }
        Ok(added)
    }

    fn describe(&self, groups: &Groups) -> String {
        let keys = groups.keys(&[0]).and_then(|keys| Ok(self.shape.form.restore(keys)?));
        let key = keys.map_or_else(|_| String::new(), |keys| show(&keys));
        format!(
            "the values of one group, that of the key ({key}), take {} bytes and must be in memory together: give \
             tasks more memory, or use an aggregate that does not keep all values",
            groups.bytes()
        )
    }
}

/// The first row.
fn show(columns: &[ArrayRef]) -> String {
    let options = FormatOptions::new().with_null("NULL");
    let value = |column: &ArrayRef| {
        let shown =
            ArrayFormatter::try_new(column, &options).and_then(|f| f.value(0).try_to_string());
        shown.unwrap_or_default()
    };
    columns.iter().map(value).collect::<Vec<_>>().join(", ")
}
