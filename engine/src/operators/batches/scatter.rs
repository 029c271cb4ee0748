//! The map side of an exchange of batches: rows gathered by the partition they go to.
//!
//! Rows are kept until there are enough for batches of a good size, then gathered partition by partition.
//! When that is depends on the rows alone, never on memory: the batches written must be the same whenever the
//! task is run again.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::DataType;
use millstream_planner::physical::PartSize;

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
                give(compact(&gathered)?, partition, writer)?;
            }
            rows.clear();
        }
        self.batches.clear();
        (self.held_rows, self.held_bytes) = (0, 0);
        writer.relieve()
    }
}

/// Hands a batch to a partition.
pub(crate) fn give(
    batch: RecordBatch,
    partition: u32,
    writer: &mut MapWriter<Batch>,
) -> Result<(), TaskError> {
    writer.count(partition, || PartSize {
        rows: batch.num_rows() as u64,
        bytes: row_bytes(&batch) as u64,
    });
    writer.push(partition, Batch(batch))
}

/// What the rows of a batch take, by their values alone: not by what buffers they share, nor by what lies in the place
/// of a NULL.
pub(crate) fn row_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(column_bytes).sum()
}

fn column_bytes(column: &ArrayRef) -> usize {
    let rows = column.len();
    match column.data_type() {
        DataType::Utf8View => {
            let views = column.as_string_view();
            16 * rows + valid_bytes(views.lengths(), views.nulls())
        }
        DataType::BinaryView => {
            let views = column.as_binary_view();
            16 * rows + valid_bytes(views.lengths(), views.nulls())
        }
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            4 * rows + entries_bytes(lists.values(), lists.offsets(), lists.nulls())
        }
        DataType::Map(_, _) => {
            let maps = column.as_map();
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            4 * rows + entries_bytes(&entries, maps.offsets(), maps.nulls())
        }
        DataType::Struct(_) => column.as_struct().columns().iter().map(column_bytes).sum(),
        DataType::Boolean => rows,
        // Types that columns are not brought to count for little: see `normal_type`.
        data_type => data_type.primitive_width().unwrap_or(1) * rows,
    }
}

/// The sum of the lengths that are not of NULLs.
fn valid_bytes(lengths: impl Iterator<Item = u32>, nulls: Option<&NullBuffer>) -> usize {
    match nulls {
        Some(nulls) if nulls.null_count() > 0 => {
            let valid = lengths.zip(nulls).filter(|(_, valid)| *valid);
            valid.map(|(length, _)| length as usize).sum()
        }
        _ => lengths.map(|length| length as usize).sum(),
    }
}

/// What the entries of lists take that are not NULL.
fn entries_bytes(
    values: &ArrayRef,
    offsets: &OffsetBuffer<i32>,
    nulls: Option<&NullBuffer>,
) -> usize {
    let part = |start: i32, end: i32| match end - start {
        0 => 0,
        length => column_bytes(&values.slice(start as usize, length as usize)),
    };
    match nulls {
        Some(nulls) if nulls.null_count() > 0 => {
            let lists = offsets.windows(2).zip(nulls).filter(|(_, valid)| *valid);
            lists.map(|(ends, _)| part(ends[0], ends[1])).sum()
        }
        _ => part(offsets.first(), offsets.last()),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListBuilder, StringViewBuilder};

    use super::*;

    fn bytes(column: ArrayRef) -> usize {
        row_bytes(&RecordBatch::try_from_iter([("c", column)]).unwrap())
    }

    #[test]
    fn a_column_counts_by_its_values_however_it_lies() {
        let numbers = Int64Array::from_iter_values(0..100);
        assert_eq!(bytes(Arc::new(numbers.slice(10, 20))), 160);
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        for row in 0..10 {
            if row % 3 != 0 {
                lists.values().append_value("four");
                lists.append(true);
            } else {
                lists.append(false);
            }
        }
        let lists = lists.finish();
        assert_eq!(bytes(Arc::new(lists.clone())), 10 * 4 + 6 * (16 + 4));
        let slice: ArrayRef = Arc::new(lists.slice(1, 2));
        assert_eq!(bytes(Arc::clone(&slice)), 2 * 4 + 2 * (16 + 4));
        let copied =
            arrow::compute::take(&slice, &arrow::array::UInt32Array::from(vec![0, 1]), None);
        assert_eq!(bytes(copied.unwrap()), bytes(slice));
    }

    #[test]
    fn what_lies_under_a_null_does_not_count() {
        let nulls = NullBuffer::from(vec![true, false]);
        assert_eq!(valid_bytes([3, 1000].into_iter(), Some(&nulls)), 3);
        assert_eq!(valid_bytes([3, 4].into_iter(), None), 7);
    }
}
