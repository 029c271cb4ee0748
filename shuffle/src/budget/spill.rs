//! Why data was spilled, counted. The decision to spill is the operator's.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Why an operator wrote its state to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpillCause {
    /// The budget refused a reservation.
    Refused,
    /// The allocator's count of live bytes outgrew the reservation.
    Measured,
    /// A merge needed its memory reserved before its inputs came.
    Merge,
    /// Finished output could not stay in memory.
    Storage,
    /// A setting asks for it, as tests do.
    Forced,
}

impl SpillCause {
    /// Every cause, in the order of [`SpillStats`].
    pub const ALL: [Self; 5] =
        [Self::Refused, Self::Measured, Self::Merge, Self::Storage, Self::Forced];

    /// A word for logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Measured => "measured",
            Self::Merge => "merge",
            Self::Storage => "storage",
            Self::Forced => "forced",
        }
    }
}

/// Spills counted by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpillStats {
    counts: [u64; SpillCause::ALL.len()],
    bytes: [u64; SpillCause::ALL.len()],
}

impl SpillStats {
    /// How many spills had this cause.
    pub fn count(&self, cause: SpillCause) -> u64 {
        self.counts[cause as usize]
    }

    /// How many bytes were spilled for it.
    pub fn bytes(&self, cause: SpillCause) -> u64 {
        self.bytes[cause as usize]
    }

    /// All spills.
    pub fn total_count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All bytes spilled.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// The counters behind [`SpillStats`].
#[derive(Debug, Default)]
pub(super) struct SpillCounters {
    counts: [AtomicU64; SpillCause::ALL.len()],
    bytes: [AtomicU64; SpillCause::ALL.len()],
}

impl SpillCounters {
    pub(super) fn record(&self, cause: SpillCause, bytes: u64) {
        self.counts[cause as usize].fetch_add(1, Ordering::Relaxed);
        self.bytes[cause as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> SpillStats {
        let load = |counters: &[AtomicU64; SpillCause::ALL.len()]| {
            std::array::from_fn(|i| counters[i].load(Ordering::Relaxed))
        };
        SpillStats { counts: load(&self.counts), bytes: load(&self.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_count() {
        let counters = SpillCounters::default();
        for (i, cause) in SpillCause::ALL.into_iter().enumerate() {
            for _ in 0..=i {
                counters.record(cause, 10);
            }
        }
        let stats = counters.stats();
        for (count, cause) in (1..).zip(SpillCause::ALL) {
            assert_eq!((stats.count(cause), stats.bytes(cause)), (count, 10 * count));
        }
        assert_eq!((stats.total_count(), stats.total_bytes()), (15, 150));
    }
}
