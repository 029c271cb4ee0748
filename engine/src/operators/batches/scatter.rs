//! The map side of an exchange of batches: rows gathered by the partition they go to.
//!
//! Rows are kept until there are enough for batches of a good size, then gathered partition by partition.
//! When that is depends on the rows alone, never on memory: the batches written must be the same whenever the
//! task is run again.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::DataType;

use super::batch::{BATCH_ROWS, Batch, compact};
use crate::executor::{MapWriter, TaskError};

/// Rows are gathered when there are this many,
const GATHER_ROWS: usize = 64 << 10;
/// or when they take about this many bytes.
const GATHER_BYTES: usize = 4 << 20;

/// Gathers rows by partition.
pub(crate) struct Scatter {
    batches: Vec<RecordBatch>,
    /// By partition, where its rows are: batch and row.
    rows: Vec<Vec<(usize, usize)>>,
    held_rows: usize,
    held_bytes: usize,
}

impl Scatter {
    pub(crate) fn new(partitions: u32) -> Self {
        let rows = (0..partitions).map(|_| Vec::new()).collect();
        Self { batches: Vec::new(), rows, held_rows: 0, held_bytes: 0 }
    }

    /// Adds a batch, each row to its partition.
    pub(crate) fn push(
        &mut self,
        batch: RecordBatch,
        partitions: impl Iterator<Item = u32>,
        writer: &mut MapWriter<Batch>,
    ) -> Result<(), TaskError> {
        let index = self.batches.len();
        for (row, partition) in partitions.enumerate() {
            self.rows[partition as usize].push((index, row));
        }
        self.held_rows += batch.num_rows();
        self.held_bytes += row_bytes(&batch);
        self.batches.push(batch);
        if self.held_rows >= GATHER_ROWS || self.held_bytes >= GATHER_BYTES {
            self.flush(writer)?;
        }
        Ok(())
    }

    /// Hands on all rows held.
    pub(crate) fn flush(&mut self, writer: &mut MapWriter<Batch>) -> Result<(), TaskError> {
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        for (partition, rows) in (0..).zip(&mut self.rows) {
            for piece in rows.chunks(BATCH_ROWS) {
                let gathered = interleave_record_batch(&batches, piece)?;
                writer.push(partition, Batch(compact(&gathered)?))?;
            }
            rows.clear();
        }
        self.batches.clear();
        (self.held_rows, self.held_bytes) = (0, 0);
        writer.relieve()
    }
}

/// What the rows of a batch take, by their values alone: not by what buffers they share.
pub(crate) fn row_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(column_bytes).sum()
}

fn column_bytes(column: &ArrayRef) -> usize {
    match column.data_type() {
        DataType::Utf8View => {
            16 * column.len() + column.as_string_view().lengths().map(|n| n as usize).sum::<usize>()
        }
        DataType::BinaryView => {
            16 * column.len() + column.as_binary_view().lengths().map(|n| n as usize).sum::<usize>()
        }
        data_type => match data_type.primitive_width() {
            Some(width) => width * column.len(),
            // Booleans take less, nested columns are measured as they are.
            None => column.to_data().get_slice_memory_size().unwrap_or(0),
        },
    }
}
