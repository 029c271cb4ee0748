//! Reading one partition of a table, file by file, with its projection, its condition and its bound.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{BatchCoalescer, filter_record_batch};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use millstream_planner::physical::Program;

use super::condition::{Column, Condition, Test, repeat};
use super::prune::Bounds;
use super::splits::Piece;
use super::table::FileTable;
use crate::executor::{Metrics, Task, TaskError};
use crate::operators::batches::{BATCH_ROWS, BatchStream, batch_of};

/// The wanted columns of some rows of a file, in the order in which they were wanted.
pub(crate) struct Rows {
    /// How many.
    pub(crate) rows: usize,
    /// Of these types.
    pub(crate) columns: Vec<ArrayRef>,
    /// They pass the condition: no need to test them again.
    pub(crate) tested: bool,
}

/// The rows of a piece of one file.
pub(crate) trait FileRows {
    fn next(&mut self) -> Result<Option<Rows>, TaskError>;
}

/// A partition being read.
pub(super) struct TableScan {
    table: FileTable,
    task: Task,
    schema: SchemaRef,
    /// By column given: its place in the table.
    projection: Vec<u32>,
    /// Columns that are read of each file.
    wanted: Vec<FieldRef>,
    /// By column of the table: its place among these.
    places: HashMap<u32, usize>,
    test: Option<Test>,
    pieces: std::vec::IntoIter<Piece>,
    current: Option<Current>,
    /// Rows that may still be given.
    left: u64,
    /// Rows that were read, of all files.
    row: u64,
    /// Joins what files and conditions leave of batches.
    joined: BatchCoalescer,
    /// Batches without columns, which are but a number.
    counted: VecDeque<RecordBatch>,
}

struct Current {
    rows: Box<dyn FileRows>,
    columns: Vec<Column>,
    condition: Option<Condition>,
}

impl TableScan {
    pub(super) fn new(
        table: &FileTable,
        partition: u32,
        projection: &[u32],
        predicate: Option<&Program>,
        fetch: Option<u64>,
        task: &Task,
    ) -> Result<Self, TaskError> {
        let field = |at: &u32| table.field(*at);
        let given = projection.iter().map(field).collect::<Option<Vec<FieldRef>>>();
        let given =
            given.ok_or_else(|| TaskError::internal("a scan of columns that are not there"))?;
        let test =
            predicate.map(|predicate| Test::new(predicate, &given, partition)).transpose()?;
        let (mut wanted, mut places) = (Vec::new(), HashMap::new());
        for (at, field) in projection.iter().zip(&given).filter(|(at, _)| table.is_data(**at)) {
            places.entry(*at).or_insert_with(|| {
                wanted.push(Arc::clone(field));
                wanted.len() - 1
            });
        }
        let schema: SchemaRef = Arc::new(Schema::new(given));
        let joined = BatchCoalescer::new(Arc::clone(&schema), BATCH_ROWS)
            .with_biggest_coalesce_batch_size(Some(BATCH_ROWS / 2));
        Ok(Self {
            pieces: table.pieces(partition).into_iter(),
            table: table.clone(),
            task: Rc::clone(task),
            schema,
            projection: projection.to_vec(),
            wanted,
            places,
            test,
            current: None,
            left: fetch.unwrap_or(u64::MAX),
            row: 0,
            joined,
            counted: VecDeque::new(),
        })
    }

    /// Opens the next piece in which rows can pass; false at the end.
    fn open(&mut self) -> Result<bool, TaskError> {
        for piece in self.pieces.by_ref() {
            self.task.check()?;
            let column = |at: &u32| match self.table.constant(piece.file, *at) {
                Some(value) => Column::Constant(value.clone()),
                // All that are not of directories are read.
                None => Column::Data(self.places.get(at).copied().unwrap_or_default()),
            };
            let columns: Vec<Column> = self.projection.iter().map(column).collect();
            let condition = self.test.as_ref().map(|test| test.over(&columns));
            if condition.as_ref().is_some_and(|condition| !condition.may_pass(|_| Bounds::ANY)) {
                continue;
            }
            // Without a condition, what is read is given.
            let limit = if condition.is_none() { self.left } else { u64::MAX };
            let rows = self.table.open_piece(
                &piece,
                &self.wanted,
                condition.clone(),
                limit,
                &self.task,
            )?;
            self.current = Some(Current { rows, columns, condition });
            return Ok(true);
        }
        Ok(false)
    }

    /// Takes rows of a file.
    fn take(&mut self, rows: Rows) -> Result<(), TaskError> {
        let Some(current) = &self.current else { return Ok(()) };
        let condition = current.condition.as_ref().filter(|_| !rows.tested);
        let mask = condition.map(|condition| {
            condition.mask(|column| Arc::clone(&rows.columns[column]), rows.rows, self.row)
        });
        self.row += rows.rows as u64;
        let column = |column: &Column| match column {
            Column::Data(at) => Ok(Arc::clone(&rows.columns[*at])),
            Column::Constant(value) => repeat(value, rows.rows),
        };
        let columns = current.columns.iter().map(column).collect::<Result<Vec<_>, _>>();
        let batch = columns
            .and_then(|columns| batch_of(&self.schema, columns, rows.rows))
            .map_err(fault)?;
        let mask = mask.transpose()?.filter(|mask| mask.true_count() < batch.num_rows());
        if self.schema.fields().is_empty() {
            let passed = mask.map(|mask| filter_record_batch(&batch, &mask)).transpose();
            self.counted.push_back(passed.map_err(fault)?.unwrap_or(batch));
            return Ok(());
        }
        if let Some(mask) = mask {
            return self.joined.push_batch_with_filter(batch, &mask).map_err(fault);
        }
        if batch.num_rows() >= BATCH_ROWS / 2 {
            // Large ones are given as they are, and not copied behind what is left of others.
            self.joined.finish_buffered_batch().map_err(fault)?;
        }
        self.joined.push_batch(batch).map_err(fault)
    }

    /// No more than the rows that may be given.
    fn give(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= rows as u64;
        Metrics::add(&self.task.metrics.rows_in, rows as u64);
        if rows < batch.num_rows() { batch.slice(0, rows) } else { batch }
    }
}

fn fault(error: ArrowError) -> TaskError {
    TaskError::internal(format!("a batch of a file: {error}"))
}

impl BatchStream for TableScan {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if self.left == 0 {
                self.current = None;
                return Ok(None);
            }
            let counted = self.counted.pop_front();
            if let Some(batch) = counted.or_else(|| self.joined.next_completed_batch()) {
                return Ok(Some(self.give(batch)));
            }
            if self.joined.get_buffered_rows() as u64 >= self.left {
                self.joined.finish_buffered_batch().map_err(fault)?;
                continue;
            }
            self.task.check()?;
            if let Some(current) = &mut self.current {
                match current.rows.next()? {
                    Some(rows) => self.take(rows)?,
                    None => self.current = None,
                }
            } else if !self.open()? {
                if self.joined.is_empty() {
                    return Ok(None);
                }
                self.joined.finish_buffered_batch().map_err(fault)?;
            }
        }
    }
}
