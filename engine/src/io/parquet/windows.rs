//! Late materialisation: the columns of the condition are read first, the others for the rows that pass.
//!
//! ```text
//!  row group   |---------- window ----------|---------- window ----------|
//!  condition   x x x . . x . . . . . . . . x  decoded once, and kept for the window
//!  others      | few pass: only those rows    many pass: all, then filtered
//! ```
//!
//! Which of both ways is taken depends on the share of rows that pass, so on the data alone.

use std::collections::VecDeque;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{FilterBuilder, concat};
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::ParquetError;

use super::chunks::Chunks;
use super::columns::Columns;
use crate::executor::TaskError;
use crate::io::files::Condition;
use crate::operators::batches::BATCH_ROWS;

/// Batches of a window. Its columns of the condition are in memory at one time.
const WINDOW_BATCHES: usize = 16;
/// Rows are picked one by one where fewer than one in so many pass.
const PICK_SHARE: usize = 4;

/// Opens readers over one row group.
pub(super) struct GroupSource {
    pub(super) chunks: Chunks,
    pub(super) group: usize,
    /// Rows of the row group.
    pub(super) rows: usize,
    /// Of these, those that may pass.
    pub(super) selection: Option<RowSelection>,
}

impl GroupSource {
    /// A reader of the columns, over what is picked of the selected rows.
    pub(super) fn open(
        &self,
        columns: &Columns,
        picked: Option<RowSelection>,
    ) -> parquet::errors::Result<ParquetRecordBatchReader> {
        let selection = match (&self.selection, picked) {
            (Some(selection), Some(picked)) => Some(selection.and_then(&picked)),
            (Some(selection), None) => Some(selection.clone()),
            (None, picked) => picked,
        };
        let file = columns.file.clone();
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.chunks.clone(), file)
                .with_batch_size(BATCH_ROWS)
                .with_row_groups(vec![self.group])
                .with_projection(columns.mask());
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        builder.build()
    }

    fn selected(&self) -> usize {
        self.selection.as_ref().map_or(self.rows, RowSelection::row_count)
    }
}

/// One row group, window by window. Gives all wanted columns of the rows that pass.
pub(super) struct Windows {
    source: GroupSource,
    condition: Condition,
    /// Which wanted columns are read first, and which later.
    first: Vec<usize>,
    rest: Vec<usize>,
    first_columns: Columns,
    rest_columns: Columns,
    reader: ParquetRecordBatchReader,
    /// Selected rows before the next window.
    done: usize,
    /// The number of the first row of the group in the file.
    first_row: u64,
    ready: VecDeque<Vec<ArrayRef>>,
}

/// A batch of the columns of the condition, with the rows that pass.
struct Tested {
    columns: Vec<ArrayRef>,
    mask: BooleanArray,
}

/// Failures of the decoder are told from others: the caller says where they are.
pub(super) enum Failure {
    Decoder(ParquetError),
    Column(usize, arrow::error::ArrowError),
    Task(TaskError),
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        Self::Decoder(error)
    }
}

impl From<arrow::error::ArrowError> for Failure {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::Decoder(error.into())
    }
}

impl Windows {
    pub(super) fn open(
        source: GroupSource,
        columns: &Columns,
        condition: Condition,
        first_row: u64,
    ) -> Result<Self, Failure> {
        let first = condition.data_columns();
        let rest: Vec<usize> =
            (0..columns.wanted.len()).filter(|column| !first.contains(column)).collect();
        let (first_columns, rest_columns) = (columns.select(&first), columns.select(&rest));
        let reader = source.open(&first_columns, None)?;
        Ok(Self {
            source,
            condition,
            first,
            rest,
            first_columns,
            rest_columns,
            reader,
            done: 0,
            first_row,
            ready: VecDeque::new(),
        })
    }

    /// The wanted columns of the next rows that pass.
    pub(super) fn next(&mut self) -> Result<Option<Vec<ArrayRef>>, Failure> {
        loop {
            if let Some(columns) = self.ready.pop_front() {
                return Ok(Some(columns));
            }
            let window = self.test()?;
            if window.is_empty() {
                return Ok(None);
            }
            self.complete(window)?;
        }
    }

    /// Reads the columns of the condition for a window and tests them.
    fn test(&mut self) -> Result<Vec<Tested>, Failure> {
        let mut window = Vec::with_capacity(WINDOW_BATCHES);
        let mut row = self.first_row + self.done as u64;
        while window.len() < WINDOW_BATCHES
            && let Some(batch) = self.reader.next().transpose()?
        {
            let rows = batch.num_rows();
            let columns = adapt(&self.first_columns, &batch, &self.first)?;
            let column = |wanted: usize| {
                // Its condition names no other columns.
                ArrayRef::clone(&columns[self.first.binary_search(&wanted).unwrap_or_default()])
            };
            let mask = self.condition.mask(column, rows, row).map_err(Failure::Task)?;
            row += rows as u64;
            window.push(Tested { columns, mask });
        }
        Ok(window)
    }

    fn complete(&mut self, window: Vec<Tested>) -> Result<(), Failure> {
        let rows: usize = window.iter().map(|tested| tested.mask.len()).sum();
        let passed: usize = window.iter().map(|tested| tested.mask.true_count()).sum();
        let start = self.done;
        self.done += rows;
        if passed == 0 {
            return Ok(());
        }
        if self.rest.is_empty() {
            for tested in window {
                self.filter(tested, Vec::new())?;
            }
            return Ok(());
        }
        match passed < rows / PICK_SHARE {
            true => self.pick(start, &window),
            false => self.read_all(start, rows, window),
        }
    }

    /// Reads the other columns for the rows that pass.
    fn pick(&mut self, start: usize, window: &[Tested]) -> Result<(), Failure> {
        let masks: Vec<BooleanArray> = window.iter().map(|tested| tested.mask.clone()).collect();
        let rows: usize = masks.iter().map(Array::len).sum();
        let picked = self.within(start, rows, RowSelection::from_filters(&masks));
        let mut first = Vec::with_capacity(self.first.len());
        for column in 0..self.first.len() {
            let kept: Vec<ArrayRef> = window
                .iter()
                .map(|tested| arrow::compute::filter(&tested.columns[column], &tested.mask))
                .collect::<Result<_, _>>()?;
            first.push(concat(&kept.iter().map(AsRef::as_ref).collect::<Vec<_>>())?);
        }
        let mut at = 0;
        for batch in self.source.open(&self.rest_columns, Some(picked))? {
            let batch = batch?;
            let rest = adapt(&self.rest_columns, &batch, &self.rest)?;
            let first: Vec<ArrayRef> =
                first.iter().map(|column| column.slice(at, batch.num_rows())).collect();
            at += batch.num_rows();
            self.join(first, rest);
        }
        Ok(())
    }

    /// Reads the other columns for all rows of the window, and filters.
    fn read_all(&mut self, start: usize, rows: usize, window: Vec<Tested>) -> Result<(), Failure> {
        let picked = match (start, rows) {
            (0, rows) if rows == self.source.selected() => None,
            _ => Some(self.within(start, rows, vec![RowSelector::select(rows)].into())),
        };
        let mut reader = self.source.open(&self.rest_columns, picked)?;
        for tested in window {
            // The same rows in the same steps.
            let batch = reader.next().transpose()?;
            let Some(batch) = batch.filter(|batch| batch.num_rows() == tested.mask.len()) else {
                let columns = "columns of a row group have different numbers of rows".to_owned();
                return Err(ParquetError::General(columns).into());
            };
            let rest = adapt(&self.rest_columns, &batch, &self.rest)?;
            self.filter(tested, rest)?;
        }
        Ok(())
    }

    fn filter(&mut self, tested: Tested, rest: Vec<ArrayRef>) -> Result<(), Failure> {
        let rows = tested.mask.len();
        match tested.mask.true_count() {
            0 => {}
            passed if passed == rows => self.join(tested.columns, rest),
            _ => {
                let filter = FilterBuilder::new(&tested.mask).optimize().build();
                let kept = |columns: Vec<ArrayRef>| {
                    columns
                        .iter()
                        .map(|column| filter.filter(column))
                        .collect::<Result<Vec<_>, _>>()
                };
                let (first, rest) = (kept(tested.columns)?, kept(rest)?);
                self.join(first, rest);
            }
        }
        Ok(())
    }

    /// Puts the columns in their order and gives them.
    fn join(&mut self, first: Vec<ArrayRef>, rest: Vec<ArrayRef>) {
        let mut columns: Vec<(usize, ArrayRef)> = self.first.iter().copied().zip(first).collect();
        columns.extend(self.rest.iter().copied().zip(rest));
        columns.sort_by_key(|(wanted, _)| *wanted);
        self.ready.push_back(columns.into_iter().map(|(_, column)| column).collect());
    }

    /// A selection of the rows of the window as one of all selected rows.
    fn within(&self, start: usize, rows: usize, picked: RowSelection) -> RowSelection {
        let after = self.source.selected() - start - rows;
        let mut selectors = vec![RowSelector::skip(start)];
        selectors.extend(Vec::<RowSelector>::from(picked));
        selectors.push(RowSelector::skip(after));
        selectors.into()
    }
}

/// The wanted columns of a batch; failures name them by their place among all wanted columns.
fn adapt(
    columns: &Columns,
    batch: &RecordBatch,
    which: &[usize],
) -> Result<Vec<ArrayRef>, Failure> {
    columns.adapt(batch).map_err(|(at, error)| Failure::Column(which[at], error))
}
