//! What is done with records of text that cannot be read, by the policy that was chosen.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringViewBuilder};
use arrow::compute::{filter, nullif};
use arrow::datatypes::{DataType, FieldRef};
use arrow::error::ArrowError;

use super::lines::line_of;
use super::{BadRecords, FileError, TableFile};
use crate::executor::{Metrics, Task, TaskError};

/// The bad records of a batch. Rows of NULL stand for them in its columns until [`BadRows::apply`].
pub(crate) struct BadRows {
    policy: BadRecords,
    file: TableFile,
    names: Vec<String>,
    task: Task,
    /// The place among the wanted columns of the one that keeps records.
    kept: Option<usize>,
    /// Rows to be left out.
    dropped: Vec<usize>,
    /// Rows with their records.
    records: Vec<(usize, String)>,
    /// The error of a record after those that have been read.
    failed: Option<FileError>,
}

impl FileError {
    /// The error of a record that begins at this offset.
    pub(crate) fn record(
        file: &TableFile,
        offset: u64,
        column: Option<String>,
        reason: String,
    ) -> Self {
        match line_of(file, offset) {
            Ok(line) => Self::Record { path: file.path.clone(), line, column, reason },
            Err(error) => error,
        }
    }
}

impl BadRows {
    pub(crate) fn new(
        file: &TableFile,
        wanted: &[FieldRef],
        policy: BadRecords,
        task: &Task,
    ) -> Self {
        let kept = match &policy {
            BadRecords::Keep(column) => wanted.iter().position(|field| {
                field.name() == column && *field.data_type() == DataType::Utf8View
            }),
            _ => None,
        };
        Self {
            policy,
            file: file.clone(),
            names: wanted.iter().map(|field| field.name().clone()).collect(),
            task: Rc::clone(task),
            kept,
            dropped: Vec::new(),
            records: Vec::new(),
            failed: None,
        }
    }

    /// How many rows of the batch will be left out.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped.len()
    }

    /// Takes note of a bad record, for which the batch gets a row of NULLs; false if the batch is to end
    /// before it, since it is an error, which comes after the rows before it.
    pub(crate) fn push(
        &mut self,
        row: usize,
        raw: &[u8],
        offset: u64,
        column: Option<usize>,
        reason: String,
        skip: bool,
    ) -> Result<bool, FileError> {
        match &self.policy {
            _ if skip => self.drop_row(row),
            BadRecords::Drop => self.drop_row(row),
            BadRecords::Keep(_) => {
                self.records.push((row, String::from_utf8_lossy(raw).into_owned()));
            }
            BadRecords::Fail => {
                let column = column.map(|at| self.names[at].clone());
                self.failed = Some(FileError::record(&self.file, offset, column, reason));
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn drop_row(&mut self, row: usize) {
        Metrics::add(&self.task.metrics.records_skipped, 1);
        self.dropped.push(row);
    }

    /// Fails if a record did and all rows before it have been given.
    pub(crate) fn check(&mut self) -> Result<(), FileError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// The columns without what is left out and with what is kept, and their length.
    pub(crate) fn apply(
        &mut self,
        mut columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<(Vec<ArrayRef>, usize), TaskError> {
        let fault = |error: ArrowError| TaskError::internal(error.to_string());
        let records = std::mem::take(&mut self.records);
        if !records.is_empty() {
            // What was read of them before they turned out to be bad.
            let mut bad = vec![false; rows];
            records.iter().for_each(|(row, _)| bad[*row] = true);
            let bad = BooleanArray::from(bad);
            for column in &mut columns {
                *column = nullif(column, &bad).map_err(fault)?;
            }
            if let Some(kept) = self.kept {
                columns[kept] = column_of(&records, rows);
            }
        }
        let dropped = std::mem::take(&mut self.dropped);
        if dropped.is_empty() {
            return Ok((columns, rows));
        }
        let mut good = vec![true; rows];
        dropped.iter().for_each(|row| good[*row] = false);
        let good = BooleanArray::from(good);
        let columns = columns.iter().map(|column| filter(column, &good)).collect::<Result<_, _>>();
        Ok((columns.map_err(fault)?, rows - dropped.len()))
    }
}

fn column_of(records: &[(usize, String)], rows: usize) -> ArrayRef {
    let mut column = StringViewBuilder::with_capacity(rows);
    let mut records = records.iter().peekable();
    for row in 0..rows {
        let record = records.next_if(|(at, _)| *at == row);
        column.append_option(record.map(|(_, record)| record));
    }
    Arc::new(column.finish())
}
