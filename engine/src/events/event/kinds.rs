//! The small closed sets that events speak in.

use millstream_planner::physical::Rule;
use serde::{Deserialize, Serialize};

/// What made a task or a job fail: the name of the scheduler's typed failure, without the identities
/// it carries. A job that fails for a task has the kind of that task's failure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// User code panicked or returned an error, or an input or output could not be used.
    User,
    /// A map output was gone or did not match its checksum.
    FetchFailed,
    /// A persisted copy was gone, and what it is rebuilt from has not been written.
    InputMissing,
    /// The least that an operator needs does not fit the memory limit.
    OutOfMemory,
    /// No local directory had room, or none was left.
    Disk,
    /// It was told to stop.
    Cancelled,
    /// The executor died or stopped answering.
    ExecutorLost,
    /// There was no executor for the whole grace period.
    NoExecutors,
    /// No executor is large enough for what the stage asks for.
    Unsatisfiable,
    /// Output that a second run may not reproduce was lost after it had been used.
    Indeterminate,
    /// The job does not make sense.
    Malformed,
    /// A broken invariant of the engine.
    Internal,
}

/// Where a persisted block lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorageLevelUsed {
    /// In memory.
    Memory,
    /// On a local disk.
    Disk,
}

/// What an adaptive rule does to an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdaptiveRule {
    /// Small partitions are read several by one task.
    Coalesce,
    /// It is read whole by every task of a join, whose other side is not exchanged.
    Broadcast,
    /// Large partitions are read by several tasks each.
    Split,
}

impl From<Rule> for AdaptiveRule {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Coalesce => Self::Coalesce,
            Rule::Broadcast => Self::Broadcast,
            Rule::Split => Self::Split,
        }
    }
}
