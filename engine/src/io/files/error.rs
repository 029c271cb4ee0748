//! What can go wrong with tables of files. Each error names the file and the place in it, and says
//! what to do.

use arrow::datatypes::DataType;
use thiserror::Error;

use crate::io::store::StoreError;
use crate::io::text::InputError;

/// A failure to find, understand or read files.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// A path that leads nowhere, a file that changed, a disk that fails.
    #[error(transparent)]
    Input(#[from] InputError),

    /// An object store that cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// There is no data to find the columns from.
    #[error(
        "there are no {format} files with data in {path}, so that its columns are not known; give a schema, or check the path"
    )]
    Nothing {
        /// What was looked for.
        format: &'static str,
        /// Where.
        path: String,
    },

    /// Files of one table lie in directories of different kinds.
    #[error(
        "{path} lies in directories for ({found}) and other files of the table in those for ({expected}); \
         read them apart, or without hive columns"
    )]
    Layout {
        /// The file.
        path: String,
        /// The columns its directories name.
        found: String,
        /// Those of the first file.
        expected: String,
    },

    /// A column that is named twice.
    #[error(
        "{path} has two columns named {column}; name them otherwise, or give a schema without a header"
    )]
    Duplicate {
        /// The file.
        path: String,
        /// The column.
        column: String,
    },

    /// A column of one file has a type that the table's type cannot hold.
    #[error(
        "column {column} of {path} has type {found}, which cannot be read as {wanted}; give a schema that fits all files"
    )]
    Type {
        /// The file.
        path: String,
        /// The column.
        column: String,
        /// Its type there.
        found: DataType,
        /// Its type in the table.
        wanted: DataType,
    },

    /// A value that the table's type cannot hold.
    #[error("column {column} of {path}: {reason}")]
    Value {
        /// The file.
        path: String,
        /// The column.
        column: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A file that is not what it should be.
    #[error("{path} is damaged or not a {format} file: {reason}")]
    Damaged {
        /// The file.
        path: String,
        /// What it should be.
        format: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// A record that cannot be read.
    #[error("{path}, line {line}{}: {reason}", in_column(column.as_deref()))]
    Record {
        /// The file.
        path: String,
        /// Its line there, from 1.
        line: u64,
        /// The column, if one is at fault.
        column: Option<String>,
        /// What is wrong and what to do.
        reason: String,
    },

    /// A string that is not UTF-8.
    #[error(
        "column {column} of {path} is not UTF-8 at row {row}; convert it, read it as binary, or choose InvalidUtf8::Lossy"
    )]
    InvalidUtf8 {
        /// The file.
        path: String,
        /// The column.
        column: String,
        /// The row in the file, from 0.
        row: u64,
    },
}

fn in_column(column: Option<&str>) -> String {
    column.map_or_else(String::new, |column| format!(", column {column}"))
}

impl FileError {
    /// Whether reading again has a chance.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Input(error) => error.is_retryable(),
            Self::Store(_) | Self::Damaged { .. } => true,
            _ => false,
        }
    }
}
