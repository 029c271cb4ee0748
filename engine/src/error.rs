//! What an action or the set-up of a context can fail with.

use millstream_planner::error::PlanError;
use millstream_planner::stages::CutError;
use millstream_shuffle::net::channel::ChannelError;
use millstream_shuffle::net::serve::ServeError;
use millstream_shuffle::store::DirError;
use thiserror::Error;

use crate::closure::CodeError;
use crate::io::checkpoint::CheckpointError;
use crate::io::files::FileError;
use crate::io::output::OutputError;
use crate::io::store::StoreError;
use crate::io::text::InputError;
use crate::scheduler::JobError;

/// What an action or the set-up of a context can fail with.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting does not make sense.
    #[error("{setting} = {value:?}: {why}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// What it was set to.
        value: String,
        /// What is wrong with it and what would do.
        why: String,
    },
    /// Input files cannot be found or read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Files of a table cannot be found or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A checkpoint cannot be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A location cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No local directory can be used.
    #[error(transparent)]
    LocalDirs(#[from] DirError),
    /// A connection between driver and executors cannot be had.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// Blocks cannot be served to other executors.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The driver does not take this executor.
    #[error("the driver has refused this executor: {0}")]
    Driver(String),
    /// The job failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// An action was called inside a closure that runs in a task. It could only wait for the slot it
    /// occupies itself.
    #[error(
        "`{action}` was called inside a task: a closure cannot start a job. Collect what it needs first and hand it \
         over with a `_with` operation or as a broadcast"
    )]
    NestedJob {
        /// The action.
        action: &'static str,
    },
    /// An action needs at least one row.
    #[error("`{action}` needs at least one row, and there is none")]
    Empty {
        /// The action.
        action: &'static str,
    },
    /// A mistake in a frame's plan.
    #[error(transparent)]
    Frame(#[from] PlanError),
    /// Rows of a frame and values of a Rust type that do not fit each other.
    #[error(
        "rows and values of {row_type} do not fit each other: {why}. A struct has fields named as the columns are, a tuple \
         one for each column; a column with NULLs is an Option"
    )]
    Rows {
        /// The Rust type.
        row_type: &'static str,
        /// What does not fit.
        why: String,
    },
    /// A fault of the engine.
    #[error("internal error: {0}; please report it")]
    Internal(String),
    /// Operands that do not go together.
    #[error("`{operation}`: {why}")]
    Mismatch {
        /// The operation.
        operation: &'static str,
        /// What does not fit, and what to do.
        why: String,
    },
    /// A chain of operations too long for one task.
    #[error(
        "{depth} operations in a row without an exchange are more than a task can run ({limit}): call `checkpoint` \
         every few hundred rounds of the loop"
    )]
    LineageTooDeep {
        /// The length of the chain.
        depth: u32,
        /// The most that is allowed.
        limit: u32,
    },
    /// An `Rdd` with more partitions than a job can have.
    #[error(
        "`{operation}` has {partitions} partitions, and a job can have at most {limit}: coalesce what it reads"
    )]
    TooManyPartitions {
        /// The operation that has them.
        operation: String,
        /// How many they are; as many as can be counted if they are even more.
        partitions: u32,
        /// The most that is allowed.
        limit: u32,
    },
    /// The event log cannot be written.
    #[error("event log: {0}")]
    EventLog(String),
    /// Another driver that lives has the journal.
    #[error(
        "the journal {} is in use by another driver of this application: wait until it has ended, or give this one \
         another name or journal directory",
        path.display()
    )]
    JournalInUse {
        /// Its lock.
        path: std::path::PathBuf,
    },
    /// The journal cannot be read or written.
    #[error("journal {}: {source}", path.display())]
    Journal {
        /// The file or directory.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The operating system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// Its answer.
        source: std::io::Error,
    },
    /// The plan contradicts itself: a fault of the engine.
    #[error("internal error in planning: {0}; please report it")]
    Plan(#[from] CutError),
    /// A value cannot be carried to a task.
    #[error(transparent)]
    Code(#[from] CodeError),
}

impl Error {
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into())
    }

    /// For kernels over columns whose types have been checked.
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(crate) fn of_arrow(error: arrow::error::ArrowError) -> Self {
        Self::Internal(error.to_string())
    }

    /// For `map_err` on what the operating system refuses.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
