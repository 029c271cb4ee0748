//! Part files in Parquet, from rows that serde can serialise.

use std::any::type_name;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_arrow::schema::{SchemaLike, TracingOptions};

use super::part::{Gauge, PartFile, Place};
use super::{OutputError, Part, Staging};

/// How Parquet pages are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParquetCompression {
    /// Smaller.
    #[default]
    Zstd,
    /// Faster.
    Snappy,
    /// Fastest.
    Lz4,
    /// Not at all.
    None,
}

impl ParquetCompression {
    pub(super) fn codec(self) -> Compression {
        match self {
            Self::Zstd => Compression::ZSTD(ZstdLevel::default()),
            Self::Snappy => Compression::SNAPPY,
            Self::Lz4 => Compression::LZ4_RAW,
            Self::None => Compression::UNCOMPRESSED,
        }
    }
}

/// The columns that rows of one Rust type are written as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParquetSchema {
    fields: Vec<FieldRef>,
}

impl ParquetSchema {
    /// The schema of `T`: from the type alone where that determines it, so that all parts of an
    /// output agree whatever their rows; from `sample` where it does not (maps, untyped values).
    ///
    /// # Errors
    /// Rows that are not structs, or fields without an Arrow type.
    pub fn trace<T: Serialize + DeserializeOwned>(sample: &[T]) -> Result<Self, OutputError> {
        let options = || TracingOptions::default().strings_as_large_utf8(false);
        let of_type = Vec::<FieldRef>::from_type::<T>(options());
        let fields = match of_type {
            Err(_) if !sample.is_empty() => Vec::<FieldRef>::from_samples(sample, options()),
            of_type => of_type,
        };
        let reason = match fields {
            Ok(fields) if !fields.is_empty() => return Ok(Self { fields }),
            Ok(_) => "it has no fields".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(OutputError::Schema { row_type: type_name::<T>(), reason })
    }
}

/// Writes one attempt's rows. Dropped without [`ParquetWriter::finish`], it leaves no file.
pub struct ParquetWriter<T> {
    path: PathBuf,
    gauge: Arc<Gauge>,
    schema: ParquetSchema,
    writer: ArrowWriter<PartFile>,
    rows: u64,
    row_type: PhantomData<fn(T)>,
}

impl<T: Serialize> ParquetWriter<T> {
    /// Opens a file for an attempt of `partition`.
    ///
    /// # Errors
    /// When the job is over or the file system or store refuses.
    pub fn create(
        staging: &Staging,
        partition: u32,
        schema: ParquetSchema,
        compression: ParquetCompression,
    ) -> Result<Self, OutputError> {
        let place = Place { partition, extension: ".parquet", ..Place::default() };
        let file = staging.create(&place)?;
        let (path, gauge) = (file.path().to_owned(), file.gauge());
        let properties = WriterProperties::builder().set_compression(compression.codec()).build();
        let columns = Arc::new(Schema::new(schema.fields.clone()));
        let writer = ArrowWriter::try_new(file, columns, Some(properties)).map_err(|error| {
            OutputError::Parquet { path: path.clone(), rows: 0, reason: error.to_string() }
        })?;
        Ok(Self { path, gauge, schema, writer, rows: 0, row_type: PhantomData })
    }

    /// Writes a chunk of rows. Chunks of some thousand rows are cheapest.
    ///
    /// # Errors
    /// A row that does not fit the schema, or a failing file system or store.
    pub fn write(&mut self, rows: &[T]) -> Result<(), OutputError> {
        let batch = serde_arrow::to_record_batch(&self.schema.fields, &rows)
            .map_err(|error| self.failure(error.to_string()))?;
        self.writer.write(&batch).map_err(|error| self.failure(error.to_string()))?;
        self.rows += rows.len() as u64;
        Ok(())
    }

    /// Bytes held in memory.
    pub(crate) fn memory(&self) -> usize {
        self.writer.memory_size()
    }

    /// Bytes in memory that are not counted as the task's allocations.
    pub(crate) fn held(&self) -> usize {
        self.gauge.held()
    }

    /// Writes out what is held in memory, as far as the format allows.
    ///
    /// # Errors
    /// A failing file system or store.
    pub(crate) fn relieve(&mut self) -> Result<(), OutputError> {
        self.writer.flush().map_err(|error| self.failure(error.to_string()))
    }

    /// Ends the file. It is published if the job is committed with this part.
    ///
    /// # Errors
    /// When the file system or store refuses.
    pub fn finish(self) -> Result<Part, OutputError> {
        let Self { path, gauge, writer, rows, .. } = self;
        // Taking the file out writes the footer.
        let file = writer.into_inner().map_err(|error| {
            gauge.cause(|| OutputError::Parquet { path, rows, reason: error.to_string() })
        })?;
        file.keep(rows)
    }

    fn failure(&self, reason: String) -> OutputError {
        let (path, rows) = (self.path.clone(), self.rows);
        self.gauge.cause(|| OutputError::Parquet { path, rows, reason })
    }
}
