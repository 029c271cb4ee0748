//! External sort: in memory while the budget allows, else runs on disk and a merge.

use std::rc::Rc;

use super::order::RowOrder;
use super::runs::Runs;
use crate::executor::{Task, TaskError};
use crate::rdd::{BoxStream, CHUNK_ROWS, Pace, from_fn};

/// A stable external sort. Rows that compare equal stay in the order in which they came.
pub(crate) struct Sorter<O: RowOrder> {
    task: Task,
    items: Vec<O::Item>,
    runs: Runs<O>,
}

impl<O: RowOrder> Sorter<O> {
    pub(crate) fn new(task: &Task) -> Self {
        Self { task: Rc::clone(task), items: Vec::new(), runs: Runs::new(task) }
    }

    /// Makes room for rows that are known to come, if there is memory for all of them and their sort: to
    /// grow row by row would move them many times.
    pub(crate) fn expect(&mut self, rows: usize) {
        let bytes = rows * size_of::<O::Item>();
        if !self.task.pressed_by(0, bytes + bytes / 2) {
            self.items.reserve_exact(rows);
        }
    }

    /// Adds rows, spilling what is there if the budget refuses more.
    pub(crate) fn push(&mut self, rows: impl IntoIterator<Item = O::Row>) -> Result<(), TaskError> {
        self.task.check()?;
        let rows = rows.into_iter();
        let incoming = rows.size_hint().0;
        // What is about to be allocated counts as if it were there: the vector's growth, and the
        // scratch space of the sort, which is half of it.
        let size = size_of::<O::Item>();
        let growth = match self.items.len() + incoming > self.items.capacity() {
            true => (2 * self.items.capacity()).max(incoming) * size,
            false => 0,
        };
        let scratch = self.items.len() * size / 2;
        let held = self.items.capacity() * size;
        if self.task.pressed_by(held, growth + scratch) && !self.items.is_empty() {
            self.spill()?;
        }
        self.items.extend(rows.map(O::item));
        Ok(())
    }

    fn sort(&mut self) {
        self.items.sort_by(O::compare);
    }

    fn spill(&mut self) -> Result<(), TaskError> {
        self.sort();
        let items = std::mem::take(&mut self.items);
        self.runs.write(items.into_iter())
    }

    /// All items in order.
    pub(crate) fn finish(
        mut self,
    ) -> Result<Box<dyn Iterator<Item = Result<O::Item, TaskError>>>, TaskError> {
        if !self.runs.is_empty()
            && !self.items.is_empty()
            && self.task.pressed_by(0, self.runs.merge_bytes() as usize)
        {
            self.spill()?;
        }
        self.sort();
        match self.runs.is_empty() {
            true => Ok(Box::new(self.items.into_iter().map(Ok))),
            false => self.runs.merge(self.items),
        }
    }

    /// All rows in order, as a stream.
    pub(crate) fn into_stream(mut self) -> Result<BoxStream<O::Row>, TaskError> {
        if self.runs.is_empty() {
            self.sort();
            let mut items = self.items.into_iter();
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
