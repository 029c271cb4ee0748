//! The small closed sets that events speak in.

use serde::{Deserialize, Serialize};

/// What made a task or a job fail. The scheduler's own failures, which carry the identities they
/// concern, are reported by one of these names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// User code panicked.
    Panic,
    /// User code or an operator returned an error.
    User,
    /// An input record could not be read.
    BadRecord,
    /// An input or output file could not be opened, read or written.
    Io,
    /// A shuffle block was gone or did not match its checksum.
    FetchFailed,
    /// The executor died or stopped answering.
    ExecutorLost,
    /// The least that an operator needs does not fit the memory limit.
    OutOfMemory,
    /// No local directory had room, or none was left.
    DiskFull,
    /// Another attempt had committed the partition.
    CommitDenied,
    /// A second run of a partition gave another answer than the first.
    Nondeterministic,
    /// No executor could take the work within the grace period.
    NoExecutors,
    /// It was told to stop.
    Cancelled,
    /// It ran into a limit of time.
    TimedOut,
    /// A broken invariant of the engine.
    Internal,
}

/// Why memory was given up to disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpillCause {
    /// The budget refused a reservation.
    BudgetRefused,
    /// The live bytes of a task, counted by the allocator, passed its share.
    TaskShareExceeded,
    /// Finished shuffle blocks had to make room.
    ShuffleBlocksEvicted,
    /// The storage level asked for it.
    StorageLevel,
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
