//! Why a task fails, as the code inside it sees it.

use arrow::error::ArrowError;
use millstream_planner::ids::ShuffleId;
use millstream_shuffle::budget::Refused;
use millstream_shuffle::read::SegmentError;
use millstream_shuffle::store::DiskError;
use millstream_shuffle::write::CodecError;
use thiserror::Error;

use crate::closure::CodeError;
use crate::io::checkpoint::CheckpointError;
use crate::io::files::FileError;
use crate::io::output::OutputError;
use crate::io::store::StoreError;
use crate::io::text::InputError;
use crate::scheduler::{LostOutput, TaskFailure};

/// Why a task failed. Each variant maps to one [`TaskFailure`], which says whether it is retried.
#[derive(Debug, Error)]
pub(crate) enum TaskError {
    /// The user's code, or the data it was given.
    #[error("{message}")]
    User { message: String, record: Option<u64> },
    /// A row that cannot be encoded or placed, whoever tries.
    #[error("{0}")]
    Data(String),
    /// Input that cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Files of a table that cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Output that cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A checkpoint that cannot be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A store that cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Map outputs that are gone or corrupt, and why the first is.
    #[error("{} map outputs of {shuffle} cannot be read: {why}", .outputs.len())]
    Fetch { shuffle: ShuffleId, outputs: Vec<LostOutput>, why: String },
    /// A shuffle that was not computed, since a persisted copy stood for it.
    #[error("{shuffle} has not been written")]
    InputMissing { shuffle: ShuffleId },
    /// A persisted block that cannot be read any more. It has been dropped.
    #[error("a persisted block of {what} cannot be read and will be computed again: {why}")]
    PersistedBlock { what: String, why: String },
    /// State that cannot be made smaller by spilling.
    #[error("out of memory: {what}")]
    Memory { what: String, refused: Refused },
    /// Local disks.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// What the task has spilled cannot be read back.
    #[error("{0}")]
    Spill(String),
    /// The task was told to stop.
    #[error("cancelled")]
    Cancelled,
    /// A fault of the engine.
    #[error("{0}")]
    Internal(String),
}

impl TaskError {
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into())
    }

    pub(crate) fn user(message: impl Into<String>) -> Self {
        Self::User { message: message.into(), record: None }
    }

    /// What the scheduler is told.
    pub(crate) fn into_failure(self) -> TaskFailure {
        let message = self.to_string();
        match self {
            Self::User { message, record } => TaskFailure::User { message, record },
            Self::Input(error) if !error.is_retryable() => TaskFailure::Data { message },
            Self::Output(error) if !error.is_retryable() => TaskFailure::Data { message },
            Self::File(error) if !error.is_retryable() => TaskFailure::Data { message },
            Self::Input(_)
            | Self::File(_)
            | Self::Output(_)
            | Self::Checkpoint(_)
            | Self::Store(_) => TaskFailure::User { message, record: None },
            Self::Data(message) => TaskFailure::Data { message },
            Self::Fetch { shuffle, outputs, why } => {
                TaskFailure::FetchFailed { shuffle, outputs, why }
            }
            Self::InputMissing { shuffle } => TaskFailure::InputMissing { shuffle },
            Self::PersistedBlock { .. } | Self::Spill(_) => {
                TaskFailure::Disk { retryable: true, message }
            }
            Self::Memory { refused, .. } => TaskFailure::OutOfMemory {
                message,
                requested_bytes: refused.asked,
                available_bytes: refused.limit.saturating_sub(refused.used),
            },
            Self::Disk(error) => TaskFailure::Disk { retryable: error.is_retryable(), message },
            Self::Cancelled => TaskFailure::Cancelled,
            Self::Internal(message) => TaskFailure::Internal { message },
        }
    }
}

impl From<CodeError> for TaskError {
    fn from(error: CodeError) -> Self {
        match error {
            // Another attempt would fail alike, and there is nothing to report.
            CodeError::NoProgram { .. } => Self::Data(error.to_string()),
            error => Self::Internal(error.to_string()),
        }
    }
}

impl From<CodecError> for TaskError {
    fn from(error: CodecError) -> Self {
        Self::Data(format!("a record cannot be encoded: {error}"))
    }
}

/// For kernels over columns, whose types the planner has checked.
impl From<ArrowError> for TaskError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(source) => Self::Data(source.to_string()),
            ArrowError::ArithmeticOverflow(_)
            | ArrowError::DivideByZero
            | ArrowError::CastError(_)
            | ArrowError::ParseError(_)
            | ArrowError::OffsetOverflowError(_)
            | ArrowError::DictionaryKeyOverflowError => Self::Data(error.to_string()),
            other => Self::Internal(other.to_string()),
        }
    }
}

/// For segments that the task itself has written or reads back. What is read of another task's output
/// is a [`TaskError::Fetch`] instead; see [`super::exchange`].
impl From<SegmentError> for TaskError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Disk(error) => Self::Disk(error),
            SegmentError::Row { source, .. } => source.into(),
            SegmentError::Io { .. }
            | SegmentError::Footer { .. }
            | SegmentError::Truncated { .. }
            | SegmentError::Block { .. }
            | SegmentError::Extent { .. } => Self::Spill(error.to_string()),
            other => Self::Internal(other.to_string()),
        }
    }
}
