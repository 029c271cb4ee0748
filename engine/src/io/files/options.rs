//! How files are read: kinds of files, and what to do with what does not fit.

use arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

use crate::io::text::InvalidUtf8;

/// What kind of files a table consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Delimited text.
    Csv(CsvOptions),
    /// One JSON object a line.
    Json,
    /// Arrow IPC, as a file (Feather) or a stream.
    Ipc,
    /// Lines, as one column `value`.
    Text,
}

impl Format {
    /// Its name in messages and plans.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv(_) => "csv",
            Self::Json => "json",
            Self::Ipc => "ipc",
            Self::Text => "text",
        }
    }
}

/// How delimited text is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsvOptions {
    /// The first record of each file names its columns, and values are found by these names. Without
    /// it, columns are `column_1` and so on, or those of the given schema by position.
    pub header: bool,
    /// Between fields.
    pub delimiter: u8,
    /// Around fields that hold delimiters, newlines or quotes. Inside, two of them stand for one.
    pub quote: Option<u8>,
    /// Inside quotes, makes the next byte stand for itself.
    pub escape: Option<u8>,
    /// Lines that begin with it are skipped.
    pub comment: Option<u8>,
    /// Fields without quotes that stand for NULL.
    pub nulls: Vec<String>,
    /// What to do with records that have fewer or more fields than the file has columns.
    pub ragged: Ragged,
    /// Whether quoted fields may hold newlines: files are not divided then. Where it is not said, they
    /// may, but a large file whose beginning has none is divided, and one found later is an error that
    /// asks for this option.
    pub multi_line: Option<bool>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            header: true,
            delimiter: b',',
            quote: Some(b'"'),
            escape: None,
            comment: None,
            nulls: vec![String::new()],
            ragged: Ragged::Bad,
            multi_line: None,
        }
    }
}

/// What to do with records of other than the expected number of fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ragged {
    /// They are bad records.
    #[default]
    Bad,
    /// Missing fields are NULL; more fields than columns make a bad record.
    Fill,
    /// Missing fields are NULL, further ones are dropped.
    Fit,
}

/// What to do with records that cannot be read: of the wrong form, or with values that are not of their
/// column's type. Only values of columns that are used are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BadRecords {
    /// Fail, naming the file, the line and the column.
    #[default]
    Fail,
    /// Leave them out and count them.
    Drop,
    /// Give a row of NULLs with the record as it was in this column of strings, which is added last to
    /// the data columns and NULL in all other rows.
    Keep(String),
}

/// How files are read, whatever their kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// The data columns. Found out from the files where it is absent.
    pub schema: Option<SchemaRef>,
    /// Whether directories named `column=value` give columns.
    pub hive: bool,
    /// For text formats.
    pub bad_records: BadRecords,
    /// What to do with strings that are not UTF-8, in columns that are used. `Fail` makes a bad record
    /// of them in text formats.
    pub invalid_utf8: InvalidUtf8,
    /// How much of the files of text formats is looked at to find out their columns, in bytes.
    pub sample_bytes: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            schema: None,
            hive: true,
            bad_records: BadRecords::Fail,
            invalid_utf8: InvalidUtf8::Fail,
            sample_bytes: 4 << 20,
        }
    }
}
