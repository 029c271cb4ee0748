//! What can go wrong with an output. Each error names the file or folder and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::io::store::StoreError;

/// A failure to write or publish an output.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The output folder has content, and the job may not replace it.
    #[error("output folder {} exists and is not empty; remove it, choose another, or ask to overwrite", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },

    /// The output folder holds files that no output job wrote, which are never deleted.
    #[error("output folder {} holds {found}, which is no part of an output, so it is not overwritten; move it away", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// One such entry.
        found: String,
    },

    /// Another job that is alive writes to the same folder.
    #[error("another job is writing to output folder {}; wait for it or choose another folder", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },

    /// Another job has ended this one's publication, as it would that of a job that is no more.
    #[error(
        "another job writes to {} and has undone what this one was publishing; let one write at a time, and run this one \
         again", path.display()
    )]
    Undone {
        /// The location.
        path: PathBuf,
    },

    /// What a task has uploaded is gone before it became visible.
    #[error(
        "the upload of {} is gone: another job that writes to the same place has ended it, or a rule of the bucket; run \
         this one again", path.display()
    )]
    UploadGone {
        /// The object.
        path: PathBuf,
    },

    /// An object store that cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// A task attempt outlived its job.
    #[error("the job that wrote to {} is over; this attempt's output is dropped", staging.display())]
    JobOver {
        /// The job's folder.
        staging: PathBuf,
    },

    /// The rows have no columns that Parquet could hold.
    #[error(
        "rows of type {row_type} cannot be written as Parquet: {reason}; rows must be structs of supported field types"
    )]
    Schema {
        /// The Rust type.
        row_type: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// Two columns of one name, which no reader could tell apart.
    #[error(
        "two columns are named {column}, which files cannot have; rename or drop one of them before writing"
    )]
    Duplicate {
        /// The column.
        column: String,
    },

    /// Folders for a column that is not there, or for all columns, so that none are left for the files.
    #[error("files cannot be written by {column}: {reason}")]
    PartitionBy {
        /// The column.
        column: String,
        /// Why not.
        reason: String,
    },

    /// A column of a type that the format does not have.
    #[error(
        "column {column} of type {data_type} cannot be written as {format}; cast it before writing"
    )]
    ColumnType {
        /// The column.
        column: String,
        /// Its type.
        data_type: String,
        /// The format.
        format: &'static str,
    },

    /// Rows that the encoder of a format refuses.
    #[error("cannot write {format} file {} after {rows} rows: {reason}", path.display())]
    Encode {
        /// The format.
        format: &'static str,
        /// The file of the attempt.
        path: PathBuf,
        /// Rows written before.
        rows: u64,
        /// What it says.
        reason: String,
    },

    /// A row that does not fit the schema, or a failure of the Parquet encoder.
    #[error("cannot write Parquet file {} after {rows} rows: {reason}", path.display())]
    Parquet {
        /// The file of the attempt.
        path: PathBuf,
        /// Rows written before.
        rows: u64,
        /// What the encoder says.
        reason: String,
    },

    /// The operating system refused.
    #[error("cannot {action} output {}: {source}", path.display())]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl OutputError {
    /// Whether writing again has a chance.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NotEmpty { .. }
            | Self::Foreign { .. }
            | Self::JobOver { .. }
            | Self::Schema { .. }
            | Self::Duplicate { .. }
            | Self::PartitionBy { .. }
            | Self::ColumnType { .. } => false,
            Self::Busy { .. }
            | Self::Undone { .. }
            | Self::UploadGone { .. }
            | Self::Store(_)
            | Self::Encode { .. }
            | Self::Parquet { .. }
            | Self::Io { .. } => true,
        }
    }

    /// Adds the path and the action to an error of the operating system.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
