//! What a task took.

use millstream_shuffle::budget::SpillCause;
use serde::{Deserialize, Serialize};

/// What one finished task took. Counts are of this task alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskMetrics {
    /// From start to end on its slot, in milliseconds.
    pub wall_ms: u64,
    /// CPU time of its thread, in milliseconds.
    pub cpu_ms: u64,
    /// Rows read from sources and shuffles.
    pub rows_in: u64,
    /// Rows handed on.
    pub rows_out: u64,
    /// Bytes read from sources and shuffles, as stored there.
    pub bytes_in: u64,
    /// Bytes handed on, as stored there.
    pub bytes_out: u64,
    /// The most memory it held at once, in bytes.
    pub memory_peak_bytes: u64,
    /// Bytes written to disk to free memory.
    pub spilled_bytes: u64,
    /// Why the first of them were.
    pub spill_cause: Option<SpillCause>,
    /// Records that were left out of the input, since they are not UTF-8 and the options said to skip
    /// such.
    pub records_skipped: u64,
}
