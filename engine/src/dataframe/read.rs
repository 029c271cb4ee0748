//! Frames of files.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use millstream_planner::logical::{Source, Table, builder};

use super::DataFrame;
use super::run::TableSource;
use crate::context::Context;
use crate::error::Error;
use crate::io::files::{BadRecords, CsvOptions, FileTable, Format, Ragged, ReadOptions};
use crate::io::text::InvalidUtf8;

/// How files are read; the last step says which.
///
/// A path is a file, a directory (with all below it), a glob, or one of these in a bucket: `s3://bucket/prefix`.
/// Hidden files, and those whose name begins with `_`, are passed over, and so are empty ones. Directories named
/// `column=value` give columns.
///
/// # Example
/// ```no_run
/// # fn main() -> Result<(), millstream::Error> {
/// let context = millstream::Context::local("read")?;
/// let trips = context.read().delimiter(';').csv("trips/*.csv")?;
/// trips.show()?;
/// # Ok(())
/// # }
/// ```
#[must_use]
#[derive(Clone, Debug)]
pub struct Reader {
    context: Context,
    options: ReadOptions,
    csv: CsvOptions,
}

impl Context {
    /// Starts reading files into a frame.
    pub fn read(&self) -> Reader {
        Reader {
            context: self.clone(),
            options: ReadOptions::default(),
            csv: CsvOptions::default(),
        }
    }
}

impl Reader {
    /// The columns, by name. Where it is not given, it is found out from the files.
    pub fn schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        let schema: SchemaRef = schema.into();
        self.options.schema = Some(schema);
        self
    }

    /// Whether directories named `column=value` give columns; they do unless told otherwise.
    pub fn hive_partitions(mut self, hive: bool) -> Self {
        self.options.hive = hive;
        self
    }

    /// What to do with records that cannot be read; by default the job fails and names file, line and column.
    pub fn bad_records(mut self, bad: BadRecords) -> Self {
        self.options.bad_records = bad;
        self
    }

    /// What to do with strings that are not UTF-8; by default the job fails, if the column is used.
    pub fn invalid_utf8(mut self, policy: InvalidUtf8) -> Self {
        self.options.invalid_utf8 = policy;
        self
    }

    /// How many bytes of text files are looked at to find out their columns.
    pub fn sample_bytes(mut self, bytes: u64) -> Self {
        self.options.sample_bytes = bytes;
        self
    }

    /// Of CSV: whether the first record names the columns; it does unless told otherwise.
    pub fn header(mut self, header: bool) -> Self {
        self.csv.header = header;
        self
    }

    /// Of CSV: what is between fields; a comma unless told otherwise.
    pub fn delimiter(mut self, delimiter: char) -> Self {
        self.csv.delimiter = u8::try_from(delimiter).unwrap_or(b',');
        self
    }

    /// Of CSV: what is around fields; a double quote unless told otherwise, `None` for nothing.
    pub fn quote(mut self, quote: Option<char>) -> Self {
        self.csv.quote = quote.and_then(|quote| u8::try_from(quote).ok());
        self
    }

    /// Of CSV: what makes the next character stand for itself inside quotes.
    pub fn escape(mut self, escape: char) -> Self {
        self.csv.escape = u8::try_from(escape).ok();
        self
    }

    /// Of CSV: lines that begin with it are passed over.
    pub fn comment(mut self, comment: char) -> Self {
        self.csv.comment = u8::try_from(comment).ok();
        self
    }

    /// Of CSV: what stands for NULL; an empty field unless told otherwise.
    pub fn nulls<N: Into<String>>(mut self, nulls: impl IntoIterator<Item = N>) -> Self {
        self.csv.nulls = nulls.into_iter().map(Into::into).collect();
        self
    }

    /// Of CSV: what to do with records of too few or too many fields.
    pub fn ragged(mut self, ragged: Ragged) -> Self {
        self.csv.ragged = ragged;
        self
    }

    /// Of CSV: whether quoted fields hold newlines. Files are not read in parts then.
    pub fn multi_line(mut self, multi_line: bool) -> Self {
        self.csv.multi_line = Some(multi_line);
        self
    }

    /// Parquet files.
    ///
    /// # Errors
    /// Files that are not there or cannot be read, or whose columns do not go together.
    pub fn parquet(self, paths: impl IntoPaths) -> Result<DataFrame, Error> {
        self.open(paths, Format::Parquet)
    }

    /// Delimited text.
    ///
    /// # Errors
    /// As [`Self::parquet`].
    pub fn csv(self, paths: impl IntoPaths) -> Result<DataFrame, Error> {
        let csv = self.csv.clone();
        self.open(paths, Format::Csv(csv))
    }

    /// JSON, one object a line.
    ///
    /// # Errors
    /// As [`Self::parquet`].
    pub fn json(self, paths: impl IntoPaths) -> Result<DataFrame, Error> {
        self.open(paths, Format::Json)
    }

    /// Arrow IPC files or streams.
    ///
    /// # Errors
    /// As [`Self::parquet`].
    pub fn ipc(self, paths: impl IntoPaths) -> Result<DataFrame, Error> {
        self.open(paths, Format::Ipc)
    }

    /// Lines of text, in the column `value`.
    ///
    /// # Errors
    /// As [`Self::parquet`].
    pub fn text(self, paths: impl IntoPaths) -> Result<DataFrame, Error> {
        self.open(paths, Format::Text)
    }

    fn open(self, paths: impl IntoPaths, format: Format) -> Result<DataFrame, Error> {
        let paths = paths.into_paths();
        let name = match paths.as_slice() {
            [one] => format!("{} {one}", format.name()),
            [first, rest @ ..] => format!("{} {first} and {} more", format.name(), rest.len()),
            [] => format!("{} of no files", format.name()),
        };
        let files = Arc::new(FileTable::open(&paths, format, self.options)?);
        let shape = files.shape();
        let table = Table {
            id: self.context.inner().next_number(),
            name: name.into(),
            schema: shape.schema,
            rows: shape.rows,
            bytes: shape.bytes,
            partitions: shape.partitions,
            takes_predicates: true,
            columns: shape.columns,
            source: Source(Arc::new(TableSource::Files(files))),
        };
        Ok(DataFrame::new(&self.context, Ok(builder::scan(Arc::new(table)))))
    }
}

/// One path or several.
pub trait IntoPaths {
    /// The paths.
    fn into_paths(self) -> Vec<String>;
}

impl IntoPaths for &str {
    fn into_paths(self) -> Vec<String> {
        vec![self.to_owned()]
    }
}

impl IntoPaths for String {
    fn into_paths(self) -> Vec<String> {
        vec![self]
    }
}

impl IntoPaths for &std::path::Path {
    fn into_paths(self) -> Vec<String> {
        vec![self.display().to_string()]
    }
}

impl IntoPaths for &std::path::PathBuf {
    fn into_paths(self) -> Vec<String> {
        self.as_path().into_paths()
    }
}

impl<S: Into<String>> IntoPaths for Vec<S> {
    fn into_paths(self) -> Vec<String> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<S: Into<String>, const N: usize> IntoPaths for [S; N] {
    fn into_paths(self) -> Vec<String> {
        self.into_iter().map(Into::into).collect()
    }
}
