//! What can happen. Pure data, and the names and fields of the JSON log.
//!
//! A field or a variant may be added without a new [`FORMAT_VERSION`]; to rename or remove one, or to
//! change what it means, takes a new version.

mod kinds;
mod metrics;

use std::collections::BTreeMap;

use millstream_planner::ids::{JobId, NodeId, StageId};
use serde::{Deserialize, Serialize};

pub use kinds::{AdaptiveRule, FailureKind, StorageLevelUsed};
pub use metrics::TaskMetrics;
pub use millstream_shuffle::budget::SpillCause;

/// The version of the JSON form of [`Event`], written in its first line.
pub const FORMAT_VERSION: u32 = 1;

/// One attempt at one partition of one stage.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TaskId {
    /// The job it was launched for; other jobs may wait for the same stage.
    pub job: JobId,
    /// The stage.
    pub stage: StageId,
    /// Which run of the stage; 0 is the first.
    pub stage_attempt: u32,
    /// The partition.
    pub partition: u32,
    /// Which attempt at the partition, over all runs of the stage; 0 is the first.
    pub attempt: u32,
}

/// One thing that happened. Tagged as `"event"` in JSON, in snake case.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The application is ready to run jobs. The first event of a log.
    ApplicationStarted {
        /// The [`FORMAT_VERSION`] of what follows.
        format_version: u32,
        /// The application's name.
        name: String,
        /// Identifies the executable, so that a log can be matched to the code that wrote it.
        build_id: String,
        /// The settings in force, by name.
        settings: BTreeMap<String, String>,
    },
    /// The application closed in good order. A log without it belongs to a killed process.
    ApplicationEnded,
    /// An action was called.
    JobSubmitted {
        /// The job.
        job: JobId,
        /// The action, for people.
        name: String,
        /// The stages it may have to run, inputs first.
        stages: Vec<StageId>,
    },
    /// All results of a job are there.
    JobFinished {
        /// The job.
        job: JobId,
        /// From submission to the end, in milliseconds.
        wall_ms: u64,
    },
    /// A job gave up.
    JobFailed {
        /// The job.
        job: JobId,
        /// What made it give up.
        kind: FailureKind,
        /// The error as the caller saw it.
        message: String,
    },
    /// A job was cancelled by its caller.
    JobCancelled {
        /// The job.
        job: JobId,
    },
    /// A run of a stage began.
    StageStarted {
        /// The stage.
        stage: StageId,
        /// Which run of it; 0 is the first.
        stage_attempt: u32,
        /// The operations it runs, for people.
        name: String,
        /// All partitions of the stage.
        partitions: u32,
        /// Those of them whose output is already there.
        skipped_partitions: u32,
    },
    /// Every partition of a stage has its output.
    StageFinished {
        /// The stage.
        stage: StageId,
        /// Which run of it.
        stage_attempt: u32,
        /// The operations it ran, for people.
        name: String,
        /// All partitions of the stage.
        partitions: u32,
        /// Those of them that this run did not have to compute.
        skipped_partitions: u32,
    },
    /// A run of a stage ended early: its job failed or was cancelled, or its input was lost.
    StageAborted {
        /// The stage.
        stage: StageId,
        /// Which run of it.
        stage_attempt: u32,
    },
    /// A task was given to an executor.
    TaskStarted {
        /// The attempt.
        task: TaskId,
        /// The executor.
        executor: u64,
    },
    /// A task's output was accepted.
    TaskFinished {
        /// The attempt.
        task: TaskId,
        /// The executor.
        executor: u64,
        /// What it took.
        metrics: TaskMetrics,
    },
    /// A task failed.
    TaskFailed {
        /// The attempt.
        task: TaskId,
        /// The executor.
        executor: u64,
        /// What went wrong.
        kind: FailureKind,
        /// The error in words.
        message: String,
    },
    /// A task was told to stop, or its output came too late to be of use.
    TaskCancelled {
        /// The attempt.
        task: TaskId,
        /// The executor.
        executor: u64,
    },
    /// A slow task gets a second copy. The copy's own start follows as [`Event::TaskStarted`].
    TaskSpeculated {
        /// The slow attempt.
        task: TaskId,
        /// How long it has run, in milliseconds.
        running_ms: u64,
        /// The median of its stage, in milliseconds.
        median_ms: u64,
    },
    /// An executor offers its slots.
    ExecutorJoined {
        /// The executor.
        executor: u64,
        /// Which life of it; a restart is a new one.
        incarnation: u64,
        /// Where it runs.
        host: String,
        /// Its task slots.
        slots: u32,
        /// Its memory limit.
        memory_bytes: u64,
    },
    /// An executor is gone, and with it what only it held.
    ExecutorLost {
        /// The executor.
        executor: u64,
        /// The life that ended.
        incarnation: u64,
        /// How it was noticed.
        reason: String,
    },
    /// A connection to the driver was refused: a stranger, or an executor of another program.
    ConnectionRefused {
        /// Who it was.
        peer: String,
        /// Why.
        why: String,
    },
    /// The journal of the application was opened, and what earlier runs have left is at hand.
    JournalOpened {
        /// The file.
        path: String,
        /// Map outputs that are there.
        outputs: u64,
        /// Results that are there.
        results: u64,
        /// Why what was there is not used; absent if it is, or there was nothing.
        refused: Option<String>,
    },
    /// Partitions of a stage were taken over from an earlier run of the application.
    StageResumed {
        /// The job that would have computed them.
        job: JobId,
        /// The stage.
        stage: StageId,
        /// The operations it runs, for people.
        name: String,
        /// All partitions of the stage.
        partitions: u32,
        /// Those that were taken over.
        resumed_partitions: u32,
    },
    /// State was written to disk to free memory.
    Spill {
        /// The task that owned the state; absent for stored blocks.
        task: Option<TaskId>,
        /// Why.
        cause: SpillCause,
        /// Memory freed.
        memory_bytes: u64,
        /// Bytes written.
        disk_bytes: u64,
    },
    /// A partition of a persisted data set was stored.
    BlockPersisted {
        /// The operation whose output is persisted.
        node: NodeId,
        /// The partition.
        partition: u32,
        /// Where.
        level: StorageLevelUsed,
        /// Its size there.
        bytes: u64,
    },
    /// A partition of a persisted data set was dropped from where it was stored: nobody can ask for it
    /// any more, or it can no longer be read.
    BlockEvicted {
        /// The operation whose output is persisted.
        node: NodeId,
        /// The partition.
        partition: u32,
        /// Where it was.
        level: StorageLevelUsed,
        /// Its size there.
        bytes: u64,
    },
    /// A local directory is used no more; the blocks in it are lost.
    DiskDirFailed {
        /// The executor it belongs to.
        executor: u64,
        /// The directory.
        path: String,
        /// The error that condemned it.
        message: String,
    },
    /// The plan of a frame has changed while it ran, by the exact size of what was exchanged.
    PlanAdapted {
        /// The exchange, by the stage that writes it.
        exchange: StageId,
        /// What was changed.
        rule: AdaptiveRule,
        /// The partitions that were written.
        partitions: u32,
        /// The parts that they are read as.
        read_as: u32,
        /// The bytes that were written, decoded.
        bytes: u64,
    },
    /// Output files became visible, all at once.
    OutputCommitted {
        /// Where.
        path: String,
        /// Files.
        files: u64,
        /// Rows in them.
        rows: u64,
        /// Bytes in them.
        bytes: u64,
    },
}

impl Event {
    /// Whether the event closes a job or the application: a reader that waits for a result may look
    /// at the log now.
    #[must_use]
    pub fn ends_work(&self) -> bool {
        matches!(
            self,
            Self::JobFinished { .. }
                | Self::JobFailed { .. }
                | Self::JobCancelled { .. }
                | Self::ApplicationEnded
        )
    }
}

#[cfg(test)]
mod tests;
