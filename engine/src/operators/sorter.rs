//! External sort: in memory while the budget allows, else runs on disk and a merge.

use std::rc::Rc;

use super::buckets::Buckets;
use super::order::RowOrder;
use super::runs::{Merged, Runs};
use super::span::HashSpan;
use crate::executor::{Task, TaskError};
use crate::rdd::{BoxStream, CHUNK_ROWS, Pace, from_fn};

/// A stable external sort. Rows that compare equal stay in the order in which they came.
pub(crate) struct Sorter<O: RowOrder> {
    task: Task,
    items: Buckets<O>,
    runs: Runs<O>,
}

impl<O: RowOrder> Sorter<O> {
    pub(crate) fn new(task: &Task) -> Self {
        Self { task: Rc::clone(task), items: Buckets::default(), runs: Runs::new(task) }
    }

    /// Makes room for rows that are known to come, with ranks in `span`, if there is memory for all of them: to
    /// grow row by row would move them many times.
    pub(crate) fn expect(&mut self, rows: usize, span: HashSpan) {
        if !self.task.pressed_by(0, Buckets::<O>::bytes_of(rows)) {
            self.items = Buckets::of(rows, span);
        }
    }

    /// Adds rows, spilling what is there if the budget refuses more.
    pub(crate) fn push(&mut self, rows: impl IntoIterator<Item = O::Row>) -> Result<(), TaskError> {
        self.task.check()?;
        let rows = rows.into_iter();
        // What is about to be allocated counts as if it were there.
        let growth = self.items.growth(rows.size_hint().0);
        if self.task.pressed_by(self.items.bytes(), growth) && !self.items.is_empty() {
            self.spill()?;
        }
        self.items.extend(rows.map(O::item));
        Ok(())
    }

    fn spill(&mut self) -> Result<(), TaskError> {
        let items = std::mem::take(&mut self.items);
        self.runs.write(items.into_sorted())
    }

    /// All items in order.
    pub(crate) fn finish(mut self) -> Result<Merged<O>, TaskError> {
        if !self.runs.is_empty()
            && !self.items.is_empty()
            && self.task.pressed_by(0, self.runs.merge_bytes() as usize)
        {
            self.spill()?;
        }
        let items = self.items.into_sorted();
        match self.runs.is_empty() {
            true => Ok(Box::new(items.map(Ok))),
            false => self.runs.merge(items),
        }
    }

    /// All rows in order, as a stream.
    pub(crate) fn into_stream(self) -> Result<BoxStream<O::Row>, TaskError> {
        if self.runs.is_empty() {
            let mut items = self.items.into_sorted();
            return Ok(from_fn(move || {
                let chunk: Vec<O::Row> = items.by_ref().take(CHUNK_ROWS).map(O::into_row).collect();
                Ok((!chunk.is_empty()).then_some(chunk))
            }));
        }
        let task = Rc::clone(&self.task);
        let mut merged = self.finish()?;
        let mut pace = Pace::default();
        Ok(from_fn(move || {
            task.check()?;
            pace.make(|count| {
                let mut chunk = Vec::with_capacity(count);
                for item in merged.by_ref().take(count) {
                    chunk.push(O::into_row(item?));
                }
                Ok((!chunk.is_empty()).then_some(chunk))
            })
        }))
    }
}
