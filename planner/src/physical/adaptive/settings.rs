//! What a program may set of the rules.

use crate::physical::planner::BROADCAST_BYTES_MAX;

/// Settings of adaptive execution: how plans of frames change while they run, by the exact sizes of what has been
/// exchanged. On by default. All figures are of data alone, never of cores or memory, so that the same program gives
/// the same answer anywhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adaptive {
    /// Whether plans change at all.
    pub enabled: bool,
    /// Partitions side by side are read by one task up to so many bytes, decoded, over all that the task reads.
    pub partition_bytes: u64,
    /// The same, up to so many rows.
    pub partition_rows: u64,
    /// The largest side of a join that is sent whole to every task of the other, in bytes, decoded.
    pub broadcast_bytes_max: u64,
    /// A partition of a join is read by several tasks if it is so many times as large as the median,
    pub skew_factor: u64,
    /// and larger than this, in bytes, decoded. The parts are of about a quarter of it.
    pub skew_bytes_min: u64,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            enabled: true,
            partition_bytes: 4 << 20,
            partition_rows: 64 << 10,
            broadcast_bytes_max: BROADCAST_BYTES_MAX,
            skew_factor: 5,
            skew_bytes_min: 64 << 20,
        }
    }
}

impl Adaptive {
    /// Plans stay as they were made.
    #[must_use]
    pub fn off() -> Self {
        Self { enabled: false, ..Self::default() }
    }
}
