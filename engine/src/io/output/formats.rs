//! Formats that tables are written in, and writing one file in each.

use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::ipc::writer::FileWriter;
use arrow::json::LineDelimitedWriter;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use serde::{Deserialize, Serialize};

use super::csv::CsvEncoder;
use super::part::{Gauge, Part, PartFile};
use super::text::Encoder;
use super::{OutputError, ParquetCompression, TextCompression};

/// What a row group may take in memory before it is written.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// A format, and how it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputFormat {
    /// `part-00000.parquet`
    Parquet(ParquetOutput),
    /// `part-00000.csv`
    Csv(CsvOutput),
    /// `part-00000.json`, one object a line. NULLs are left out.
    Json(TextCompression),
    /// `part-00000.arrow`
    Ipc,
}

/// How Parquet is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParquetOutput {
    /// How pages are compressed.
    pub compression: ParquetCompression,
    /// Rows of a row group, at most. A group also ends after 64 MiB.
    pub row_group_rows: usize,
    /// Whether bounds of values are written, by which readers pass over row groups and pages.
    pub statistics: bool,
    /// Columns that get bloom filters, for searching single values.
    pub bloom_filters: Vec<String>,
}

impl Default for ParquetOutput {
    fn default() -> Self {
        Self {
            compression: ParquetCompression::default(),
            row_group_rows: 1 << 20,
            statistics: true,
            bloom_filters: Vec::new(),
        }
    }
}

/// How delimited text is written. Empty strings are in quotes, NULLs are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsvOutput {
    /// Whether each file begins with the names of the columns.
    pub header: bool,
    /// Between fields.
    pub delimiter: u8,
    /// Around fields where need be.
    pub quote: u8,
    /// How files are compressed.
    pub compression: TextCompression,
}

impl Default for CsvOutput {
    fn default() -> Self {
        Self { header: true, delimiter: b',', quote: b'"', compression: TextCompression::None }
    }
}

impl OutputFormat {
    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Parquet(_) => "parquet",
            Self::Csv(_) => "csv",
            Self::Json(_) => "json",
            Self::Ipc => "ipc",
        }
    }

    /// With its dot.
    pub(super) fn extension(&self) -> &'static str {
        match self {
            Self::Parquet(_) => ".parquet",
            Self::Ipc => ".arrow",
            Self::Csv(CsvOutput { compression, .. }) => match compression {
                TextCompression::None => ".csv",
                TextCompression::Gzip => ".csv.gz",
                TextCompression::Zstd => ".csv.zst",
            },
            Self::Json(compression) => match compression {
                TextCompression::None => ".json",
                TextCompression::Gzip => ".json.gz",
                TextCompression::Zstd => ".json.zst",
            },
        }
    }

    /// Refuses columns that the format does not have.
    pub(super) fn check(&self, schema: &Schema) -> Result<(), OutputError> {
        let has = |data_type: &DataType| match self {
            Self::Csv(_) => !data_type.is_nested() && *data_type != DataType::BinaryView,
            Self::Json(_) => !matches!(data_type, DataType::Interval(_) | DataType::Union(..)),
            Self::Ipc => true,
            Self::Parquet(_) => {
                let alone = arrow::datatypes::Field::new("column", data_type.clone(), true);
                ArrowSchemaConverter::new().convert(&Schema::new(vec![alone])).is_ok()
            }
        };
        match schema.fields().iter().find(|field| !has(field.data_type())) {
            None => Ok(()),
            Some(field) => Err(OutputError::ColumnType {
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
                format: self.name(),
            }),
        }
    }
}

/// A file that is being written. Dropped without [`TableFile::finish`], it leaves nothing.
pub(super) struct TableFile {
    format: &'static str,
    path: PathBuf,
    gauge: Arc<Gauge>,
    pub(super) rows: u64,
    encoder: TableEncoder,
}

enum TableEncoder {
    Parquet(Box<ArrowWriter<PartFile>>),
    Csv(CsvEncoder),
    Json(LineDelimitedWriter<Encoder>),
    Ipc(Box<FileWriter<BufWriter<PartFile>>>),
}

impl TableFile {
    pub(super) fn create(
        file: PartFile,
        format: &OutputFormat,
        schema: &SchemaRef,
    ) -> Result<Self, OutputError> {
        let (path, gauge) = (file.path().to_owned(), file.gauge());
        let refused = |reason: String| OutputError::Encode {
            format: format.name(),
            path: path.clone(),
            rows: 0,
            reason,
        };
        let encoder = match format {
            OutputFormat::Parquet(options) => {
                let writer =
                    ArrowWriter::try_new(file, SchemaRef::clone(schema), Some(properties(options)));
                TableEncoder::Parquet(Box::new(writer.map_err(|error| refused(error.to_string()))?))
            }
            OutputFormat::Csv(options) => {
                let out = Encoder::new(file, options.compression);
                let out = out.map_err(OutputError::io("write", &path))?;
                let csv = CsvEncoder::new(out, options, schema);
                TableEncoder::Csv(csv.map_err(OutputError::io("write", &path))?)
            }
            OutputFormat::Json(compression) => {
                let out = Encoder::new(file, *compression);
                let out = out.map_err(OutputError::io("write", &path))?;
                TableEncoder::Json(LineDelimitedWriter::new(out))
            }
            OutputFormat::Ipc => {
                let writer = FileWriter::try_new(BufWriter::new(file), schema);
                TableEncoder::Ipc(Box::new(writer.map_err(|error| refused(error.to_string()))?))
            }
        };
        Ok(Self { format: format.name(), path, gauge, rows: 0, encoder })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), OutputError> {
        let written = match &mut self.encoder {
            TableEncoder::Parquet(writer) => {
                let written = writer.write(batch);
                let full = writer.in_progress_size() > ROW_GROUP_BYTES;
                let written = if full { written.and_then(|()| writer.flush()) } else { written };
                written.map_err(|error| error.to_string())
            }
            TableEncoder::Csv(csv) => csv.write(batch).map_err(|error| error.to_string()),
            TableEncoder::Json(json) => json.write(batch).map_err(|error| error.to_string()),
            TableEncoder::Ipc(writer) => writer.write(batch).map_err(|error| error.to_string()),
        };
        written.map_err(|reason| self.refused(reason))?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Bytes written so far, about.
    pub(super) fn bytes(&self) -> u64 {
        match &self.encoder {
            TableEncoder::Parquet(writer) => {
                (writer.bytes_written() + writer.in_progress_size()) as u64
            }
            _ => self.gauge.bytes(),
        }
    }

    /// Bytes held in memory.
    pub(super) fn memory(&self) -> usize {
        match &self.encoder {
            TableEncoder::Parquet(writer) => writer.memory_size(),
            _ => 0,
        }
    }

    /// Bytes in memory that are not counted as the task's allocations.
    pub(super) fn held(&self) -> usize {
        self.gauge.held()
    }

    /// Writes out what is held in memory, as far as the format allows.
    pub(super) fn relieve(&mut self) -> Result<(), OutputError> {
        if let TableEncoder::Parquet(writer) = &mut self.encoder {
            let flushed = writer.flush();
            flushed.map_err(|error| self.refused(error.to_string()))?;
        }
        Ok(())
    }

    /// Ends the file with all its rows written.
    pub(super) fn finish(self) -> Result<Part, OutputError> {
        let Self { format, path, gauge, rows, encoder } = self;
        let file = match encoder {
            // Taking the file out writes the footer.
            TableEncoder::Parquet(writer) => writer.into_inner().map_err(|error| error.to_string()),
            TableEncoder::Csv(csv) => csv.finish().map_err(|error| error.to_string()),
            TableEncoder::Json(mut json) => match json.finish() {
                Ok(()) => json.into_inner().finish().map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            },
            TableEncoder::Ipc(writer) => match writer.into_inner() {
                Ok(file) => file.into_inner().map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            },
        };
        match file {
            Ok(file) => file.keep(rows),
            Err(reason) => Err(gauge.cause(|| OutputError::Encode { format, path, rows, reason })),
        }
    }

    fn refused(&self, reason: String) -> OutputError {
        let (format, path, rows) = (self.format, self.path.clone(), self.rows);
        self.gauge.cause(|| OutputError::Encode { format, path, rows, reason })
    }
}

fn properties(options: &ParquetOutput) -> WriterProperties {
    let statistics = match options.statistics {
        true => EnabledStatistics::Page,
        false => EnabledStatistics::None,
    };
    let mut properties = WriterProperties::builder()
        .set_compression(options.compression.codec())
        .set_max_row_group_row_count(Some(options.row_group_rows.max(1)))
        .set_statistics_enabled(statistics);
    for column in &options.bloom_filters {
        let path = ColumnPath::new(vec![column.clone()]);
        properties = properties.set_column_bloom_filter_enabled(path, true);
    }
    properties.build()
}
