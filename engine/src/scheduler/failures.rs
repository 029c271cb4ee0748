//! What can go wrong with a task, an executor or a job, as types. Nothing here is parsed from text.

use millstream_planner::ids::{JobId, ShuffleId, StageId};
use millstream_planner::stages::ResourceRequest;
use serde::{Deserialize, Serialize};

use super::types::{Capacity, ExecutorId};

/// Why a task failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum TaskFailure {
    /// The user's code panicked or returned an error.
    #[error("{message}{}", .record.map_or_else(String::new, |record| format!(" (record {record})")))]
    User {
        /// The panic message or the error, with its causes.
        message: String,
        /// The position of the record within the partition, from 0, where known.
        record: Option<u64>,
    },
    /// Input that cannot be used, or rows that cannot be written, whoever tries: bytes that are not
    /// UTF-8, a row without an encoding.
    #[error("{message}")]
    Data {
        /// Which file or row, and what to do.
        message: String,
    },
    /// Map outputs that the driver had announced could not be read, or were corrupt.
    #[error("of {shuffle}, {} could not be read: {why}", named(.outputs))]
    FetchFailed {
        /// The shuffle.
        shuffle: ShuffleId,
        /// All outputs that the task could not read, of those it needs.
        outputs: Vec<LostOutput>,
        /// What the reader was told of the first.
        why: String,
    },
    /// A persisted copy has gone, and the shuffle below it is not there to rebuild it from.
    #[error(
        "a persisted copy has gone and must be rebuilt from {shuffle}, which has not been written"
    )]
    InputMissing {
        /// The shuffle to write first.
        shuffle: ShuffleId,
    },
    /// The task needed more memory than the executor could give even after spilling.
    #[error(
        "{message}; {requested_bytes} more bytes were asked for, and of the {available_bytes} not in use a share is kept for each other slot"
    )]
    OutOfMemory {
        /// What did not fit.
        message: String,
        /// What it asked for last.
        requested_bytes: u64,
        /// What there was.
        available_bytes: u64,
    },
    /// The executor's disks were full or failing.
    #[error("disk: {message}")]
    Disk {
        /// Whether another attempt has a chance on the same executor. On another one it may have.
        retryable: bool,
        /// Which directory, how much was asked for, used and free.
        message: String,
    },
    /// The executor stopped the task because it was told to, or because its lease ran out.
    #[error("cancelled")]
    Cancelled,
    /// The executor went away while it ran the task.
    #[error("{executor} was lost: {reason}")]
    ExecutorLost {
        /// The executor.
        executor: ExecutorId,
        /// How.
        reason: LossReason,
    },
    /// A fault of the engine's own, such as a control message that could not be decoded.
    #[error("internal error: {message}; please report it")]
    Internal {
        /// What was violated.
        message: String,
    },
}

/// A map output that could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LostOutput {
    /// The map index.
    pub map: u32,
    /// The map attempt that was announced.
    pub attempt: u32,
    /// The executor it was to be read from.
    pub executor: ExecutorId,
}

/// The first of these outputs, and how many more there are.
fn named(outputs: &[LostOutput]) -> String {
    match outputs {
        [] => "nothing".to_owned(),
        [LostOutput { map, attempt, executor }, rest @ ..] => {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("map {map} (attempt {attempt}) of {executor}{more}")
        }
    }
}

/// What follows from a failure, apart from what it makes lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// Run again, up to the job's attempts at a partition.
    RetryCounted,
    /// Run again; the fault is not the task's. Each such cause has a bound of its own.
    RetryFree(FreeCause),
    /// Another attempt would fail alike.
    Fatal,
}

/// The causes of a retry that are not the task's own fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreeCause {
    /// An input was not there. Bounded by the stage's consecutive re-attempts.
    Input,
    /// The executor went away or gave the task up. Bounded by the losses of a partition.
    Executor,
}

impl TaskFailure {
    /// Whether it retries, and whether it counts. What it makes lost: a `FetchFailed` loses the named
    /// map outputs, an `ExecutorLost` all outputs of that executor, the others nothing.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::User { .. } | Self::OutOfMemory { .. } | Self::Disk { retryable: true, .. } => {
                Disposition::RetryCounted
            }
            Self::FetchFailed { .. } | Self::InputMissing { .. } => {
                Disposition::RetryFree(FreeCause::Input)
            }
            Self::Cancelled | Self::ExecutorLost { .. } => {
                Disposition::RetryFree(FreeCause::Executor)
            }
            Self::Data { .. } | Self::Disk { retryable: false, .. } | Self::Internal { .. } => {
                Disposition::Fatal
            }
        }
    }
}

/// How an executor was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum LossReason {
    /// Its connection broke.
    #[error("its connection broke")]
    Disconnected,
    /// It was not heard of for the configured time.
    #[error("no heartbeat in time")]
    HeartbeatTimeout,
    /// Its process ended.
    #[error("its process ended")]
    Exited,
    /// It finished draining.
    #[error("it was drained")]
    Drained,
    /// A newer incarnation of it joined.
    #[error("it restarted")]
    Replaced,
}

/// Why a job failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum JobError {
    /// One of its tasks failed for good.
    #[error("{stage} ({name}), partition {partition}, failed after {attempts} attempt(s): {cause}")]
    Task {
        /// The stage.
        stage: StageId,
        /// The stage's name.
        name: String,
        /// The partition.
        partition: u32,
        /// The attempts that counted, the last one included.
        attempts: u32,
        /// Why the last attempt failed.
        cause: TaskFailure,
    },
    /// A stage could not read its inputs, however often they were recomputed.
    #[error(
        "{stage} ({name}) could not read its inputs in {attempts} consecutive attempts; last: partition {partition}: {cause}"
    )]
    StageAttempts {
        /// The stage.
        stage: StageId,
        /// The stage's name.
        name: String,
        /// The partition that failed last.
        partition: u32,
        /// The consecutive attempts made.
        attempts: u32,
        /// The last failure.
        cause: TaskFailure,
    },
    /// There is no executor, and there was none that could run the stage for the whole grace period.
    #[error(
        "there is no executor, and for {grace_ms} ms there was none that could run {stage} ({name}); start executors or raise the grace period"
    )]
    NoExecutors {
        /// The stage that waited.
        stage: StageId,
        /// The stage's name.
        name: String,
        /// The grace period.
        grace_ms: u64,
    },
    /// No executor can hold what the stage asks for, and none that could joined in the grace period.
    #[error(
        "{stage} ({name}) asks for {request:?} for {tasks} task(s) at a time, more than the executors have (largest: {largest:?}, {total_tasks} task(s) fit in all); waited {grace_ms} ms"
    )]
    Unsatisfiable {
        /// The stage.
        stage: StageId,
        /// The stage's name.
        name: String,
        /// What a task asks for.
        request: ResourceRequest,
        /// How many must run at once: 1, or all of a gang.
        tasks: u32,
        /// The executor with the most CPUs.
        largest: Capacity,
        /// How many such tasks fit on all executors together.
        total_tasks: u32,
        /// The grace period.
        grace_ms: u64,
    },
    /// An output was lost from which results had been built and handed on, and a second run did not
    /// reproduce it, or need not.
    #[error(
        "{stage} ({name}) does not give the same rows twice, and lost output from which results were built that have been handed on; checkpoint it, or let its closures depend on their input alone"
    )]
    Indeterminate {
        /// The stage whose rows changed.
        stage: StageId,
        /// The stage's name.
        name: String,
    },
    /// It was cancelled.
    #[error("{job} was cancelled")]
    Cancelled {
        /// The job.
        job: JobId,
    },
    /// The job itself does not make sense.
    #[error("{job} is malformed: {message}")]
    Malformed {
        /// The job.
        job: JobId,
        /// Why.
        message: String,
    },
}
