//! Reading row groups of one file: those in which rows can pass, one after the other.

use std::collections::VecDeque;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::errors::ParquetError;

use super::chunks::Chunks;
use super::columns::Columns;
use super::windows::{Failure, GroupSource, Windows};
use super::{damaged, footer, pruning};
use crate::executor::TaskError;
use crate::io::files::{Condition, FileError, FileRows, Rows, TableFile};

/// Row groups of a file.
pub(crate) struct ParquetRows {
    file: TableFile,
    chunks: Chunks,
    columns: Columns,
    condition: Option<Condition>,
    groups: VecDeque<usize>,
    current: Option<(usize, Group)>,
}

enum Group {
    /// All rows, tested later if there is a condition: then it uses all columns, or none.
    Plain(ParquetRecordBatchReader),
    Tested(Box<Windows>),
}

impl ParquetRows {
    /// Opens a range of row groups. Rows that do not pass the condition are left out.
    pub(crate) fn open(
        file: &TableFile,
        groups: &Range<u64>,
        wanted: &[FieldRef],
        condition: Option<Condition>,
        lossy: bool,
    ) -> Result<Self, FileError> {
        let (chunks, footer) = footer::open(file)?;
        let columns = Columns::new(file, footer, wanted, lossy)?;
        let end = groups.end.min(columns.file.metadata().num_row_groups() as u64);
        let range = (groups.start as usize..end as usize)
            .filter(|group| columns.file.metadata().row_group(*group).num_rows() > 0);
        let groups = match &condition {
            Some(condition) => pruning::groups(&columns, condition, &chunks, range),
            None => range.collect(),
        };
        let file = file.clone();
        Ok(Self { file, chunks, columns, condition, groups: groups.into(), current: None })
    }

    /// Rows before a row group in the file.
    fn first_row(&self, group: usize) -> u64 {
        let before = &self.columns.file.metadata().row_groups()[..group];
        before.iter().map(|group| group.num_rows() as u64).sum()
    }

    fn open_group(&self, group: usize) -> Result<Option<Group>, TaskError> {
        let rows = self.columns.file.metadata().row_group(group).num_rows() as usize;
        let mut source = GroupSource { chunks: self.chunks.clone(), group, rows, selection: None };
        let Some(condition) =
            self.condition.as_ref().filter(|condition| !condition.data_columns().is_empty())
        else {
            let reader = source.open(&self.columns, None);
            return Ok(Some(Group::Plain(reader.map_err(|error| self.failure(group, error))?)));
        };
        source.selection = pruning::pages(&self.columns, condition, &self.chunks, group);
        if source.selection.as_ref().is_some_and(|selection| !selection.selects_any()) {
            return Ok(None);
        }
        let windows =
            Windows::open(source, &self.columns, condition.clone(), self.first_row(group));
        match windows {
            Ok(windows) => Ok(Some(Group::Tested(Box::new(windows)))),
            Err(failure) => Err(self.explain(group, failure)),
        }
    }

    fn next_of(&self, at: usize, group: &mut Group) -> Result<Option<Rows>, TaskError> {
        match group {
            Group::Plain(reader) => {
                let Some(batch) = reader.next() else { return Ok(None) };
                let batch = batch.map_err(|error| self.failure(at, error.into()))?;
                let columns = self.columns.adapt(&batch);
                let columns = columns
                    .map_err(|(column, error)| self.explain(at, Failure::Column(column, error)))?;
                Ok(Some(Rows { rows: batch.num_rows(), columns, tested: false }))
            }
            Group::Tested(windows) => {
                let columns = windows.next().map_err(|failure| self.explain(at, failure))?;
                let rows =
                    |columns: &Vec<ArrayRef>| columns.first().map_or(0, |column| column.len());
                Ok(columns.map(|columns| Rows { rows: rows(&columns), columns, tested: true }))
            }
        }
    }

    fn explain(&self, group: usize, failure: Failure) -> TaskError {
        match failure {
            Failure::Task(error) => error,
            Failure::Decoder(error) => self.failure(group, error),
            Failure::Column(column, error) => {
                let path = self.file.path.clone();
                let name = self.columns.wanted[column].name().clone();
                match self.bad_utf8(group, column) {
                    Ok(Some(row)) => FileError::InvalidUtf8 { path, column: name, row },
                    _ => FileError::Value { path, column: name, reason: error.to_string() },
                }
                .into()
            }
        }
    }

    /// What an error of the decoder means. It says of strings that they are bad, but not where.
    fn failure(&self, group: usize, error: ParquetError) -> TaskError {
        let text = error.to_string();
        if text.to_ascii_lowercase().contains("utf") {
            for wanted in 0..self.columns.wanted.len() {
                if let Ok(Some(row)) = self.bad_utf8(group, wanted) {
                    let (path, column) =
                        (self.file.path.clone(), self.columns.wanted[wanted].name().clone());
                    return FileError::InvalidUtf8 { path, column, row }.into();
                }
            }
        }
        match damaged(&self.file.path)(error) {
            FileError::Damaged { path, format, reason } => {
                let reason = format!("row group {group}: {reason}");
                FileError::Damaged { path, format, reason }.into()
            }
            other => other.into(),
        }
    }

    /// The first row of a row group in which a column of strings is not UTF-8.
    fn bad_utf8(&self, group: usize, wanted: usize) -> Result<Option<u64>, FileError> {
        let field = &self.columns.wanted[wanted];
        if *field.data_type() != DataType::Utf8View {
            return Ok(None);
        }
        let bytes = Field::new(field.name(), DataType::Utf8View, true);
        let footer = self.columns.file.metadata();
        let columns = Columns::new(&self.file, footer.clone(), &[bytes.into()], true)?;
        let source = GroupSource { chunks: self.chunks.clone(), group, rows: 0, selection: None };
        let mut row = self.first_row(group);
        for batch in source.open(&columns, None).map_err(damaged(&self.file.path))? {
            let Ok(batch) = batch else { return Ok(None) };
            let Some(values) =
                batch.columns().first().and_then(|column| column.as_binary_view_opt())
            else {
                return Ok(None);
            };
            let bad = |value: Option<&[u8]>| {
                value.is_some_and(|value| simdutf8::basic::from_utf8(value).is_err())
            };
            if let Some(at) = values.iter().position(bad) {
                return Ok(Some(row + at as u64));
            }
            row += batch.num_rows() as u64;
        }
        Ok(None)
    }
}

impl FileRows for ParquetRows {
    fn next(&mut self) -> Result<Option<Rows>, TaskError> {
        loop {
            if let Some((at, mut group)) = self.current.take() {
                let rows = self.next_of(at, &mut group)?;
                if rows.is_some() {
                    self.current = Some((at, group));
                    return Ok(rows);
                }
            }
            let Some(group) = self.groups.pop_front() else { return Ok(None) };
            if self.columns.wanted.is_empty() {
                // Their number is all that is asked for.
                let rows = self.columns.file.metadata().row_group(group).num_rows() as usize;
                return Ok(Some(Rows { rows, columns: Vec::new(), tested: false }));
            }
            self.current = self.open_group(group)?.map(|opened| (group, opened));
        }
    }
}
