//! Rows to the folders of their columns: `year=2024/month=02/`.
//!
//! Few files are open at a time. If rows come in the order of the columns, each folder gets one file of a
//! partition; otherwise a file that was not written to for long is ended, and its folder gets another.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, take_record_batch};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};

use super::OutputError;
use super::formats::TableFile;
use super::table::{Files, WriteSpec};
use crate::executor::TaskError;
use crate::io::files::hive_directory;

/// Files that are open at a time.
const OPEN_MAX: usize = 64;

/// The files being written, by folder.
pub(super) struct Spread {
    names: Vec<String>,
    columns: Vec<usize>,
    file_columns: Vec<usize>,
    keys: Option<RowConverter>,
    open: HashMap<String, (u64, Option<TableFile>)>,
    /// Counts writes.
    clock: u64,
}

impl Spread {
    pub(super) fn new(spec: &WriteSpec) -> Result<Self, TaskError> {
        let columns: Vec<usize> = spec.partition_by.iter().map(|at| *at as usize).collect();
        let field = |at: &usize| SortField::new(spec.schema.field(*at).data_type().clone());
        let keys = match columns.is_empty() {
            true => None,
            false => Some(RowConverter::new(columns.iter().map(field).collect()).map_err(fault)?),
        };
        Ok(Self {
            names: columns.iter().map(|at| spec.schema.field(*at).name().clone()).collect(),
            columns,
            file_columns: spec.file_columns(),
            keys,
            open: HashMap::new(),
            clock: 0,
        })
    }

    /// The rows of a batch by folder, in the order in which folders first appear, with the columns of the files.
    pub(super) fn folders(
        &self,
        batch: &RecordBatch,
    ) -> Result<Vec<(String, RecordBatch)>, TaskError> {
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let Some(converter) = &self.keys else { return Ok(vec![(String::new(), batch.clone())]) };
        let columns: Vec<ArrayRef> =
            self.columns.iter().map(|at| ArrayRef::clone(batch.column(*at))).collect();
        let keys = converter.convert_columns(&columns).map_err(fault)?;
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut places = HashMap::new();
        for (row, key) in (0..).zip(&keys) {
            let place = *places.entry(key).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        let rest = batch.project(&self.file_columns).map_err(fault)?;
        let mut found = Vec::with_capacity(groups.len());
        for rows in groups {
            let folder = folder(&self.names, &columns, rows[0] as usize).map_err(fault)?;
            let rows = match rows.len() == batch.num_rows() {
                true => rest.clone(),
                false => take_record_batch(&rest, &UInt32Array::from(rows)).map_err(fault)?,
            };
            found.push((folder, rows));
        }
        Ok(found)
    }

    /// Writes rows to the file of their folder.
    pub(super) fn write(
        &mut self,
        folder: &str,
        rows: &RecordBatch,
        files: &mut Files<'_>,
    ) -> Result<(), OutputError> {
        self.clock += 1;
        if !self.open.contains_key(folder) {
            if self.open.len() >= OPEN_MAX {
                self.close_oldest(files)?;
            }
            self.open.insert(folder.to_owned(), (0, None));
        }
        let Some((used, current)) = self.open.get_mut(folder) else { return Ok(()) };
        *used = self.clock;
        files.write(current, folder, rows)
    }

    fn close_oldest(&mut self, files: &mut Files<'_>) -> Result<(), OutputError> {
        let oldest = self.open.iter().min_by_key(|(_, (used, _))| *used);
        let Some(folder) = oldest.map(|(folder, _)| folder.clone()) else { return Ok(()) };
        match self.open.remove(&folder) {
            Some((_, Some(open))) => files.close(open),
            _ => Ok(()),
        }
    }

    /// Bytes held in memory.
    pub(super) fn memory(&self) -> usize {
        self.files().map(TableFile::memory).sum()
    }

    /// Bytes in memory that are not counted as the task's allocations.
    pub(super) fn held(&self) -> usize {
        self.files().map(TableFile::held).sum()
    }

    fn files(&self) -> impl Iterator<Item = &TableFile> {
        self.open.values().filter_map(|(_, open)| open.as_ref())
    }

    /// Writes out what is held in memory. Of many files, the older half is ended.
    pub(super) fn relieve(&mut self, files: &mut Files<'_>) -> Result<(), OutputError> {
        for _ in 0..self.open.len() / 2 {
            self.close_oldest(files)?;
        }
        self.open
            .values_mut()
            .filter_map(|(_, open)| open.as_mut())
            .try_for_each(TableFile::relieve)
    }

    pub(super) fn finish(mut self, files: &mut Files<'_>) -> Result<(), OutputError> {
        while !self.open.is_empty() {
            self.close_oldest(files)?;
        }
        Ok(())
    }
}

fn folder(
    names: &[String],
    columns: &[ArrayRef],
    row: usize,
) -> Result<String, arrow::error::ArrowError> {
    let mut folder = String::new();
    for (name, column) in names.iter().zip(columns) {
        let text = cast(&column.slice(row, 1), &DataType::Utf8View)?;
        let value = text.is_valid(0).then(|| text.as_string_view().value(0));
        folder.push_str(&hive_directory(name, value));
        folder.push('/');
    }
    Ok(folder)
}

fn fault(error: arrow::error::ArrowError) -> TaskError {
    TaskError::internal(format!("rows to be written by column: {error}"))
}
