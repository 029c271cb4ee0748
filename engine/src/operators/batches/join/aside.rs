//! Left rows that are put aside: their matches, if there are any, are in a part of the build side that is on disk.

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;

use super::build::worth_spilling;
use super::columns::bytes;
use super::partition::{PENDING_BYTES_MAX, pieces};
use crate::executor::{Task, TaskError};
use crate::operators::batches::{BATCH_ROWS, SpillWriter, Spilled, take};

/// Writes stored left batches by group, each in order.
pub(super) struct Aside<'a> {
    task: &'a Task,
    schema: SchemaRef,
    writer: SpillWriter,
    /// By group.
    pending: Vec<Vec<RecordBatch>>,
    pending_bytes: usize,
}

impl<'a> Aside<'a> {
    pub(super) fn new(
        task: &'a Task,
        schema: &SchemaRef,
        groups: usize,
    ) -> Result<Self, TaskError> {
        let writer = SpillWriter::new(task, groups as u32)?;
        let (schema, pending) = (SchemaRef::clone(schema), vec![Vec::new(); groups]);
        Ok(Self { task, schema, writer, pending, pending_bytes: 0 })
    }

    /// Adds rows of a batch, given by group.
    pub(super) fn push(&mut self, batch: &RecordBatch, rows: &[Vec<u32>]) -> Result<(), TaskError> {
        for (pending, rows) in self.pending.iter_mut().zip(rows) {
            if !rows.is_empty() {
                let taken = take(batch, &UInt32Array::from(rows.clone()))?;
                self.pending_bytes += taken.columns().iter().map(bytes).sum::<usize>();
                pending.push(taken);
            }
        }
        let pressed = || {
            let bytes = self.pending_bytes;
            bytes > worth_spilling(self.task) && self.task.pressed_by(bytes, bytes)
        };
        match self.pending_bytes > PENDING_BYTES_MAX || pressed() {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), TaskError> {
        for (group, pending) in (0..).zip(&mut self.pending) {
            if !pending.is_empty() {
                let batch = concat_batches(&self.schema, pending.iter())?;
                pending.clear();
                pieces(&batch, BATCH_ROWS).try_for_each(|batch| self.writer.write(group, batch))?;
            }
        }
        self.writer.begin_run();
        self.pending_bytes = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Spilled, TaskError> {
        self.flush()?;
        self.writer.finish()
    }
}
