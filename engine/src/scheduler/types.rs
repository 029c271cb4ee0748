//! The identities and plain values that the scheduler and its driver exchange.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::Add;

use millstream_planner::ids::{JobId, StageId};
use millstream_planner::stages::ResourceRequest;
use serde::{Deserialize, Serialize};

/// A point in time in milliseconds, by the driver's monotonic clock. The origin is the driver's choice.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Millis(pub u64);

impl Millis {
    /// The milliseconds since `earlier`; zero if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Millis {
    type Output = Self;

    fn add(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// An executor, by the name it keeps over restarts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ExecutorId(pub u64);

impl fmt::Display for ExecutorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "executor {}", self.0)
    }
}

/// One life of an executor. A restarted or re-registered executor has a higher one, and messages of
/// an earlier life are dropped.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Incarnation(pub u64);

/// One run of a stage: it is raised when the stage is resubmitted after a fetch failure or after its
/// output was lost.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct StageAttempt(pub u32);

/// One attempt at one partition of one stage. `(stage, partition, attempt)` is already unique as
/// long as the stage's shuffle lives; the rest says on whose behalf and in which run it was launched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TaskId {
    /// The job it was launched for; other jobs may wait for the same stage.
    pub job: JobId,
    /// The stage.
    pub stage: StageId,
    /// The run of the stage it was launched in.
    pub stage_attempt: StageAttempt,
    /// The partition, which is also the map index of a shuffle-writing stage.
    pub partition: u32,
    /// The attempt at this partition, counted from 0 over all runs of the stage.
    pub attempt: u32,
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}.{} partition {} attempt {}",
            self.job, self.stage, self.stage_attempt.0, self.partition, self.attempt
        )
    }
}

/// What an executor has to offer, or has left to offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Capacity {
    /// Task slots, each of one CPU.
    pub cpus: u32,
    /// Memory in bytes that tasks may request.
    pub memory_bytes: u64,
    /// Disk in bytes that tasks may request.
    pub disk_bytes: u64,
}

impl Capacity {
    /// How many tasks of this request fit side by side.
    #[must_use]
    pub fn fits(&self, request: &ResourceRequest) -> u32 {
        let limit = |have: u64, want: u64| have.checked_div(want).unwrap_or(u64::MAX);
        let count = limit(u64::from(self.cpus), u64::from(request.cpus))
            .min(limit(self.memory_bytes, request.memory_bytes))
            .min(limit(self.disk_bytes, request.disk_bytes));
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Whether one task of this request fits.
    #[must_use]
    pub fn holds(&self, request: &ResourceRequest) -> bool {
        self.cpus >= request.cpus
            && self.memory_bytes >= request.memory_bytes
            && self.disk_bytes >= request.disk_bytes
    }

    /// Takes a request that [`Self::holds`].
    pub(super) fn take(&mut self, request: &ResourceRequest) {
        self.cpus -= request.cpus;
        self.memory_bytes -= request.memory_bytes;
        self.disk_bytes -= request.disk_bytes;
    }

    /// Gives back what [`Self::take`] took.
    pub(super) fn give(&mut self, request: &ResourceRequest) {
        self.cpus += request.cpus;
        self.memory_bytes += request.memory_bytes;
        self.disk_bytes += request.disk_bytes;
    }
}

impl TaskOutput {
    /// The digest of a map output, where there is one.
    pub(super) fn digest(self) -> Option<NonZeroU64> {
        match self {
            Self::Map { digest, .. } => digest,
            Self::Result | Self::Committed => None,
        }
    }
}

/// What a finished task left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TaskOutput {
    /// A map output, kept by the executor that ran the task.
    Map {
        /// Encoded or estimated bytes over all reduce partitions.
        bytes: u64,
        /// Rows over all reduce partitions.
        rows: u64,
        /// Tells these rows, by reduce partition and in their order, from others. `None` if it was not
        /// computed, or if another run may rightly leave others.
        digest: Option<NonZeroU64>,
        /// Whether all of it is in memory, which is given back as soon as only a recovery could read it.
        in_memory: bool,
    },
    /// A value, whose payload the driver holds until it is accepted or dropped.
    Result,
    /// Files, committed under a grant.
    Committed,
}

/// Where an accepted map output is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutputLocation {
    /// The executor that keeps it.
    pub executor: ExecutorId,
    /// The life of that executor in which it was written.
    pub incarnation: Incarnation,
    /// The attempt that wrote it.
    pub attempt: u32,
}
