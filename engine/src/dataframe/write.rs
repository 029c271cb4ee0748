//! Frames to files.

use std::path::Path;
use std::sync::Arc;

use millstream_planner::expr::SortKey;
use serde::{Deserialize, Serialize};

use super::DataFrame;
use crate::context::Ending;
use crate::error::Error;
use crate::executor::{Task, TaskError};
use crate::io::output::{
    CsvOutput, Manifest, OutputFormat, OutputJob, ParquetCompression, ParquetOutput, Part, Staging,
    TextCompression, WriteMode, WriteSpec, write_partition,
};
use crate::operators::batches::{AsBatches, Batch};
use crate::rdd::{Action, BoxStream};

/// How a frame is written; the last step says where and in which format.
///
/// The files are in a directory, or under a prefix of a bucket (`s3://bucket/prefix`). They appear all together when the
/// job has succeeded, and not at all otherwise; each partition's come from one attempt, however many there were.
///
/// # Example
/// ```
/// # fn main() -> Result<(), millstream::Error> {
/// let dir = tempfile::tempdir().unwrap();
/// let context = millstream::Context::local("write")?;
/// let frame = context.from_rows([("a", 1), ("b", 2)])?.rename_all(["name", "n"]);
/// let written = frame.write().partition_by(&["name"]).parquet(dir.path().join("out"))?;
/// assert_eq!((written.rows, written.files.len()), (2, 2));
/// assert_eq!(context.read().parquet(&dir.path().join("out"))?.count()?, 2);
/// # Ok(())
/// # }
/// ```
#[must_use]
#[derive(Clone, Debug)]
pub struct Writer {
    frame: DataFrame,
    mode: WriteMode,
    partition_by: Vec<String>,
    sort_by: Vec<SortKey>,
    rows_max: Option<u64>,
    bytes_max: Option<u64>,
    parquet: ParquetOutput,
    csv: CsvOutput,
    text: TextCompression,
}

impl DataFrame {
    /// Starts writing the frame to files.
    pub fn write(&self) -> Writer {
        Writer {
            frame: self.clone(),
            mode: WriteMode::default(),
            partition_by: Vec::new(),
            sort_by: Vec::new(),
            rows_max: None,
            bytes_max: None,
            parquet: ParquetOutput::default(),
            csv: CsvOutput::default(),
            text: TextCompression::None,
        }
    }
}

impl Writer {
    /// What to do where there is something already; an error unless told otherwise.
    pub fn mode(self, mode: WriteMode) -> Self {
        Self { mode, ..self }
    }

    /// Puts the rows into directories `column=value` by the values of these columns, which are not in the files then.
    pub fn partition_by<N: AsRef<str>>(mut self, columns: &[N]) -> Self {
        self.partition_by = columns.iter().map(|name| name.as_ref().to_owned()).collect();
        self
    }

    /// Writes the rows in order: file by file, and within each.
    pub fn sort_by<K: Into<SortKey>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.sort_by = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Rows of a file, at most.
    pub fn rows_per_file(mut self, rows: u64) -> Self {
        self.rows_max = Some(rows);
        self
    }

    /// Bytes of a file, about: one that has reached them is ended.
    pub fn bytes_per_file(mut self, bytes: u64) -> Self {
        self.bytes_max = Some(bytes);
        self
    }

    /// Of Parquet: how pages are compressed.
    pub fn compression(mut self, compression: ParquetCompression) -> Self {
        self.parquet.compression = compression;
        self
    }

    /// Of Parquet: rows of a row group, at most.
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.parquet.row_group_rows = rows.max(1);
        self
    }

    /// Of Parquet: columns that get bloom filters, for searching single values.
    pub fn bloom_filters<N: AsRef<str>>(mut self, columns: &[N]) -> Self {
        self.parquet.bloom_filters = columns.iter().map(|name| name.as_ref().to_owned()).collect();
        self
    }

    /// Of CSV: whether each file begins with the names of the columns; it does unless told otherwise.
    pub fn header(mut self, header: bool) -> Self {
        self.csv.header = header;
        self
    }

    /// Of CSV: what is between fields; a comma unless told otherwise.
    pub fn delimiter(mut self, delimiter: char) -> Self {
        self.csv.delimiter = u8::try_from(delimiter).unwrap_or(b',');
        self
    }

    /// Of CSV and JSON: how files are compressed.
    pub fn text_compression(mut self, compression: TextCompression) -> Self {
        (self.text, self.csv.compression) = (compression, compression);
        self
    }

    /// Writes Parquet files into a directory or a prefix of a bucket.
    ///
    /// # Errors
    /// A mistake in the plan, columns that cannot be written so, a directory in use, or if the job fails.
    pub fn parquet(self, dir: impl AsRef<Path>) -> Result<Manifest, Error> {
        let format = OutputFormat::Parquet(self.parquet.clone());
        self.save(dir.as_ref(), format)
    }

    /// Writes delimited text into a directory or a prefix of a bucket.
    ///
    /// # Errors
    /// As [`Self::parquet`].
    pub fn csv(self, dir: impl AsRef<Path>) -> Result<Manifest, Error> {
        let format = OutputFormat::Csv(self.csv.clone());
        self.save(dir.as_ref(), format)
    }

    /// Writes JSON, one object a line, into a directory or a prefix of a bucket.
    ///
    /// # Errors
    /// As [`Self::parquet`].
    pub fn json(self, dir: impl AsRef<Path>) -> Result<Manifest, Error> {
        let format = OutputFormat::Json(self.text);
        self.save(dir.as_ref(), format)
    }

    /// Writes Arrow IPC files into a directory or a prefix of a bucket.
    ///
    /// # Errors
    /// As [`Self::parquet`].
    pub fn ipc(self, dir: impl AsRef<Path>) -> Result<Manifest, Error> {
        self.save(dir.as_ref(), OutputFormat::Ipc)
    }

    fn save(self, dir: &Path, format: OutputFormat) -> Result<Manifest, Error> {
        let spec = WriteSpec::new(format, self.frame.schema()?, &self.partition_by)?;
        let spec = WriteSpec { rows_max: self.rows_max, bytes_max: self.bytes_max, ..spec };
        let frame = match self.sort_by.is_empty() {
            true => self.frame,
            false => self.frame.sort(self.sort_by),
        };
        let rows = frame.rows_now()?;
        let (inner, scope) = (frame.context().inner(), frame.context().scope());
        let what = format!("write {spec:?} {:?} {}", self.mode, dir.display());
        let print = inner.files_print(&rows.node, &what)?;
        if let Some(print) = &print
            && let Some(manifest) = inner.published(dir, print)
        {
            return Ok(manifest);
        }
        let Some(job) = OutputJob::open(dir, self.mode)? else {
            return Ok(Manifest::read(dir)?);
        };
        let params = WriteFiles { spec: spec.clone(), staging: job.staging().clone() };
        let (node, partitions) = (&rows.node, rows.partitions());
        // If the job fails, dropping the output removes all of it.
        let targets = 0..partitions;
        let parts =
            inner.run_as::<SaveTable>(scope, "write", node, targets, params, Ending::Commit)?;
        inner.publish(job, Some(&spec), dir, parts, print.as_ref())
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct WriteFiles {
    spec: WriteSpec,
    staging: Staging,
}

pub(super) struct SaveTable;

impl Action for SaveTable {
    type Params = WriteFiles;
    type In = Batch;
    type Out = Vec<Part>;

    fn run(
        write: Arc<WriteFiles>,
        rows: BoxStream<Batch>,
        task: &Task,
    ) -> Result<Vec<Part>, TaskError> {
        let rows = Box::new(AsBatches::new(rows));
        let parts = write_partition(&write.spec, &write.staging, rows, task)?;
        write.staging.permit(parts, task)
    }
}
