//! The columns of one file against those that are wanted of the table: by name, wherever they are.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewArray, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, TimeUnit};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Repetition, Type};
use parquet::file::metadata::ParquetMetaData;

use super::{damaged, footer};
use crate::io::files::{FileError, TableFile, cast_column, table_type, widens};

/// Wanted columns as they lie in a file.
#[derive(Clone)]
pub(super) struct Columns {
    pub(super) file: ArrowReaderMetadata,
    pub(super) wanted: Vec<FieldRef>,
    /// By wanted column: its place among the columns of the file.
    places: Vec<Option<usize>>,
    /// By wanted column: where its values are, if it is not nested.
    leaves: Vec<Option<usize>>,
    /// Bad sequences in strings are replaced. They are read as binaries then.
    lossy: bool,
}

impl Columns {
    pub(super) fn new(
        file: &TableFile,
        footer: Arc<ParquetMetaData>,
        wanted: &[FieldRef],
        lossy: bool,
    ) -> Result<Self, FileError> {
        let found = footer::with_columns(file, footer)?;
        let stored = found.schema().fields().iter().map(|field| field.name().as_str());
        let stored: HashMap<&str, usize> = stored.zip(0..).collect();
        let places: Vec<_> =
            wanted.iter().map(|field| stored.get(field.name().as_str()).copied()).collect();
        let mut fields: Vec<FieldRef> = found.schema().fields().iter().cloned().collect();
        for (field, place) in wanted.iter().zip(&places) {
            let Some(place) = *place else { continue };
            let stored = fields[place].data_type();
            check(&file.path, field, stored)?;
            let read = match is_int96(&found, place) {
                // Years that nanoseconds cannot reach are common in this old form.
                true => DataType::Timestamp(TimeUnit::Microsecond, None),
                false => read_type(stored, lossy),
            };
            fields[place] = Arc::new(Field::clone(&fields[place]).with_data_type(read));
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, found.schema().metadata().clone()));
        let file = match schema == *found.schema() {
            true => found,
            false => {
                let options = ArrowReaderOptions::new().with_schema(schema);
                ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options)
                    .map_err(damaged(&file.path))?
            }
        };
        let leaves = leaves(&file);
        let leaves = places.iter().map(|place| leaves.get(&(*place)?).copied()).collect();
        Ok(Self { file, wanted: wanted.to_vec(), places, leaves, lossy })
    }

    /// The same file with some of the wanted columns.
    pub(super) fn select(&self, which: &[usize]) -> Self {
        Self {
            file: self.file.clone(),
            wanted: which.iter().map(|at| Arc::clone(&self.wanted[*at])).collect(),
            places: which.iter().map(|at| self.places[*at]).collect(),
            leaves: which.iter().map(|at| self.leaves[*at]).collect(),
            lossy: self.lossy,
        }
    }

    /// What has to be read of the file.
    pub(super) fn mask(&self) -> ProjectionMask {
        ProjectionMask::roots(self.file.parquet_schema(), self.places.iter().flatten().copied())
    }

    /// The name of a wanted column in the file, if it has it, and its type as it is read.
    pub(super) fn stored(&self, wanted: usize) -> Option<&FieldRef> {
        Some(&self.file.schema().fields()[self.places[wanted]?])
    }

    /// Which of the file's columns of values a wanted column is, if it is not nested.
    pub(super) fn leaf(&self, wanted: usize) -> Option<usize> {
        self.leaves[wanted]
    }

    /// The wanted columns, from a batch of those that were read.
    pub(super) fn adapt(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, (usize, ArrowError)> {
        let mut read: Vec<usize> = self.places.iter().flatten().copied().collect();
        read.sort_unstable();
        read.dedup();
        let column = |(at, (field, place)): (usize, (&FieldRef, &Option<usize>))| {
            let place = place.and_then(|place| read.binary_search(&place).ok());
            let Some(column) = place.and_then(|place| batch.columns().get(place)) else {
                return Ok(new_null_array(field.data_type(), batch.num_rows()));
            };
            self.convert(column, field.data_type()).map_err(|error| (at, error))
        };
        self.wanted.iter().zip(&self.places).enumerate().map(column).collect()
    }

    fn convert(&self, column: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
        match (column.data_type(), to) {
            (DataType::BinaryView, DataType::Utf8View) if self.lossy => {
                let bytes = column.as_binary_view();
                // Without a copy where there is nothing to replace.
                if let Ok(strings) = bytes.clone().to_string_view() {
                    return Ok(Arc::new(strings));
                }
                let replaced = bytes.iter().map(|value| value.map(String::from_utf8_lossy));
                Ok(Arc::new(replaced.collect::<StringViewArray>()))
            }
            _ => cast_column(column, to),
        }
    }
}

/// Whether the values of a stored column are among those of the table's.
fn check(path: &str, wanted: &FieldRef, stored: &DataType) -> Result<(), FileError> {
    let (found, to) = (table_type(stored), wanted.data_type());
    let bytes_as_strings = found == DataType::BinaryView && *to == DataType::Utf8View;
    let nested = matches!((&found, to), (DataType::Struct(_), DataType::Struct(_)));
    match widens(&found, to) || bytes_as_strings || nested {
        true => Ok(()),
        false => Err(FileError::Type {
            path: path.to_owned(),
            column: wanted.name().clone(),
            found,
            wanted: to.clone(),
        }),
    }
}

/// By place in the file: the column of values, of those that are not nested.
fn leaves(file: &ArrowReaderMetadata) -> HashMap<usize, usize> {
    let schema = file.parquet_schema();
    let plain = |leaf: &usize| {
        let root = schema.get_column_root(*leaf);
        root.is_primitive() && root.get_basic_info().repetition() != Repetition::REPEATED
    };
    (0..schema.num_columns())
        .filter(plain)
        .map(|leaf| (schema.get_column_root_idx(leaf), leaf))
        .collect()
}

fn is_int96(file: &ArrowReaderMetadata, place: usize) -> bool {
    let column = &file.parquet_schema().root_schema().get_fields()[place];
    column.is_primitive() && column.get_physical_type() == Type::INT96
}

/// The type that a column is best read as; what is left to do is a cast.
fn read_type(stored: &DataType, lossy: bool) -> DataType {
    match stored {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if lossy => DataType::BinaryView,
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, value) => read_type(value, lossy),
        DataType::List(item) => {
            let to = read_type(item.data_type(), false);
            DataType::List(Arc::new(Field::clone(item).with_data_type(to)))
        }
        DataType::Struct(fields) => {
            let field = |field: &FieldRef| {
                Arc::new(Field::clone(field).with_data_type(read_type(field.data_type(), false)))
            };
            DataType::Struct(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}
