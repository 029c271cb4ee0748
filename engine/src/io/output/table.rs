//! Writing the rows of a partition as files of a table.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

use super::formats::{OutputFormat, TableFile};
use super::part::Place;
use super::spread::Spread;
use super::{OutputError, Part, Staging};
use crate::executor::{Task, TaskError};
use crate::operators::batches::BoxBatches;

/// What is written, and how. Travels with the tasks that write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WriteSpec {
    pub(crate) format: OutputFormat,
    /// All columns of the rows.
    pub(crate) schema: SchemaRef,
    /// Columns that are in the names of folders and not in the files, in the order of the folders.
    pub(crate) partition_by: Vec<u32>,
    /// Rows of a file, at most.
    pub(crate) rows_max: Option<u64>,
    /// Bytes of a file, about: one that has reached them is ended.
    pub(crate) bytes_max: Option<u64>,
}

impl WriteSpec {
    /// Checks before anything runs what can be checked.
    ///
    /// # Errors
    /// Two columns of one name, folders for columns that are not there or for all of them, and types that the format
    /// does not have.
    pub(crate) fn new(
        format: OutputFormat,
        schema: SchemaRef,
        partition_by: &[String],
    ) -> Result<Self, OutputError> {
        let mut names = std::collections::HashSet::new();
        if let Some(field) = schema.fields().iter().find(|field| !names.insert(field.name())) {
            return Err(OutputError::Duplicate { column: field.name().clone() });
        }
        let wrong = |column: &String, reason: String| {
            Err(OutputError::PartitionBy { column: column.clone(), reason })
        };
        let mut places: Vec<u32> = Vec::with_capacity(partition_by.len());
        for column in partition_by {
            match schema.index_of(column) {
                Ok(at) if places.contains(&(at as u32)) => {
                    return wrong(column, "it is named twice".to_owned());
                }
                Ok(at) if schema.field(at).data_type().is_nested() => {
                    let data_type = schema.field(at).data_type();
                    return wrong(column, format!("values of type {data_type} make no names"));
                }
                Ok(at) => places.push(at as u32),
                Err(_) => {
                    let all: Vec<&str> = names.iter().map(|name| name.as_str()).take(10).collect();
                    return wrong(column, format!("there are {}", all.join(", ")));
                }
            }
        }
        if let Some(column) = partition_by.last()
            && places.len() == schema.fields().len()
        {
            return wrong(column, "no columns are left for the files".to_owned());
        }
        let spec = Self { format, schema, partition_by: places, rows_max: None, bytes_max: None };
        spec.format.check(&spec.file_schema())?;
        Ok(spec)
    }

    /// The columns that are in the files.
    pub(super) fn file_columns(&self) -> Vec<usize> {
        let in_files = |at: &usize| !self.partition_by.contains(&(*at as u32));
        (0..self.schema.fields().len()).filter(in_files).collect()
    }

    fn file_schema(&self) -> SchemaRef {
        let fields =
            self.file_columns().into_iter().map(|at| Arc::clone(&self.schema.fields()[at]));
        Arc::new(arrow::datatypes::Schema::new(fields.collect::<Vec<_>>()))
    }
}

/// Writes the rows of a partition to attempt files: none if there are no rows. They are the caller's to
/// [permit](Staging::permit).
pub(crate) fn write_partition(
    spec: &WriteSpec,
    staging: &Staging,
    mut input: BoxBatches,
    task: &Task,
) -> Result<Vec<Part>, TaskError> {
    let mut files = Files::new(spec, staging, task.id.partition);
    let written = write_all(spec, &mut files, &mut input, task);
    if let Err(error) = written {
        files.discard();
        return Err(error);
    }
    Ok(files.parts)
}

fn write_all(
    spec: &WriteSpec,
    files: &mut Files<'_>,
    input: &mut BoxBatches,
    task: &Task,
) -> Result<(), TaskError> {
    let mut spread = Spread::new(spec)?;
    while let Some(batch) = input.next()? {
        task.check()?;
        for (folder, rows) in spread.folders(&batch)? {
            spread.write(&folder, &rows, files)?;
        }
        if task.pressed_by(spread.memory(), spread.held()) {
            spread.relieve(files)?;
        }
    }
    Ok(spread.finish(files)?)
}

/// Opens the files of a partition, and keeps those that are finished.
pub(super) struct Files<'a> {
    spec: &'a WriteSpec,
    staging: &'a Staging,
    partition: u32,
    schema: SchemaRef,
    opened: u32,
    pub(super) parts: Vec<Part>,
}

impl<'a> Files<'a> {
    fn new(spec: &'a WriteSpec, staging: &'a Staging, partition: u32) -> Self {
        Self { spec, staging, partition, schema: spec.file_schema(), opened: 0, parts: Vec::new() }
    }

    pub(super) fn open(&mut self, folder: &str) -> Result<TableFile, OutputError> {
        let place = Place {
            partition: self.partition,
            folder: folder.to_owned(),
            index: self.opened,
            extension: self.spec.format.extension(),
        };
        self.opened += 1;
        TableFile::create(self.staging.create(&place)?, &self.spec.format, &self.schema)
    }

    pub(super) fn close(&mut self, open: TableFile) -> Result<(), OutputError> {
        self.parts.push(open.finish()?);
        Ok(())
    }

    /// Writes rows to the file of a folder, and to further ones as each is full.
    pub(super) fn write(
        &mut self,
        current: &mut Option<TableFile>,
        folder: &str,
        rows: &RecordBatch,
    ) -> Result<(), OutputError> {
        let mut at = 0;
        while at < rows.num_rows() {
            if current.is_none() {
                *current = Some(self.open(folder)?);
            }
            let Some(open) = current else { return Ok(()) };
            let room = self.spec.rows_max.map_or(u64::MAX, |max| max.max(1) - open.rows);
            let count = (rows.num_rows() - at).min(usize::try_from(room).unwrap_or(usize::MAX));
            open.write(&rows.slice(at, count))?;
            at += count;
            let full = self.spec.rows_max.is_some_and(|max| open.rows >= max)
                || self.spec.bytes_max.is_some_and(|max| open.bytes() >= max);
            if full && let Some(open) = current.take() {
                self.close(open)?;
            }
        }
        Ok(())
    }

    /// Removes what was written by an attempt that failed.
    fn discard(&self) {
        for part in &self.parts {
            // The job removes what is left.
            let _ = self.staging.discard(part);
        }
    }
}

/// A file with all columns and no rows.
pub(super) fn write_empty(spec: &WriteSpec, staging: &Staging) -> Result<Part, OutputError> {
    let whole = WriteSpec { partition_by: Vec::new(), ..spec.clone() };
    let mut files = Files::new(&whole, staging, 0);
    files.open("")?.finish()
}
