//! Cutting a stream into batches of a given length, however it comes: what is decided batch by batch is then decided by
//! the rows alone.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;

use crate::executor::TaskError;
use crate::operators::batches::{BatchStream, BoxBatches};

/// Batches of `rows` rows; the last one has the rest.
pub(super) struct Recut {
    input: BoxBatches,
    rows: usize,
    held: Vec<RecordBatch>,
    held_rows: usize,
}

impl Recut {
    pub(super) fn new(input: BoxBatches, rows: usize) -> Self {
        Self { input, rows, held: Vec::new(), held_rows: 0 }
    }

    /// The first rows of what is held.
    fn cut(&mut self, rows: usize) -> Result<RecordBatch, TaskError> {
        self.held_rows -= rows;
        let mut missing = rows;
        let mut parts = Vec::new();
        while missing > 0 {
            let batch = self.held.remove(0);
            let wanted = batch.num_rows().min(missing);
            if wanted < batch.num_rows() {
                self.held.insert(0, batch.slice(wanted, batch.num_rows() - wanted));
            }
            parts.push(batch.slice(0, wanted));
            missing -= wanted;
        }
        match parts.as_slice() {
            [one] => Ok(one.clone()),
            _ => Ok(concat_batches(&parts[0].schema(), &parts)?),
        }
    }
}

impl BatchStream for Recut {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        while self.held_rows < self.rows {
            let Some(batch) = self.input.next()? else { break };
            if batch.num_rows() > 0 {
                self.held_rows += batch.num_rows();
                self.held.push(batch);
            }
        }
        match self.rows.min(self.held_rows) {
            0 => Ok(None),
            rows => self.cut(rows).map(Some),
        }
    }
}
