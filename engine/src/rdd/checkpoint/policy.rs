//! When a checkpoint is worth what it costs. Pure: figures in, a decision out.

use std::time::Duration;

/// What writing is taken to reach, for each task, before the first checkpoint has been measured.
const BYTES_PER_SECOND_ASSUMED: u64 = 50 << 20;
/// What a partition costs apart from its bytes: some requests.
const PARTITION_WRITE_TIME: Duration = Duration::from_millis(50);

/// When [`Rdd::checkpoint_if_worth`](crate::Rdd::checkpoint_if_worth) makes a checkpoint.
///
/// Work that is not saved is lost with an executor, and time spent on saving is lost for certain. With
/// losses at random the two are in balance when the work since the last checkpoint has taken `√(2·C·M)`,
/// for a checkpoint that costs `C` and a mean time `M` between losses (J. W. Young, "A first order
/// approximation to the optimum checkpoint interval", CACM 17(9), 1974). All times are of tasks, so that
/// the rule holds for any number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointPolicy {
    /// The mean time that a slot works before it is lost with its executor. The default is a day; an
    /// hour suits machines that may be taken away.
    pub time_between_losses: Duration,
    /// The number of operations in a lineage from which on it is cut in any case: plans grow with it.
    /// The default is 2,000.
    pub operations_max: u32,
}

impl Default for CheckpointPolicy {
    fn default() -> Self {
        Self { time_between_losses: Duration::from_secs(24 * 3600), operations_max: 2_000 }
    }
}

/// What is known of a lineage back to its checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineageCost {
    /// What its tasks have taken.
    pub(super) recompute: Duration,
    /// How many operations it has.
    pub(super) operations: u32,
    /// What is to be written, estimated.
    pub(super) bytes: u64,
    /// In how many partitions.
    pub(super) partitions: u32,
}

/// What writing checkpoints has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteRate {
    bytes: u64,
    time: Duration,
}

impl CheckpointPolicy {
    /// Whether a lineage is to be cut by a checkpoint now.
    pub(super) fn is_worth(&self, cost: &LineageCost, rate: &WriteRate) -> bool {
        if cost.operations >= self.operations_max {
            return true;
        }
        let write = rate.time_for(cost.bytes) + PARTITION_WRITE_TIME * cost.partitions;
        let interval = (2.0 * write.as_secs_f64() * self.time_between_losses.as_secs_f64()).sqrt();
        cost.recompute.as_secs_f64() > interval
    }
}

impl WriteRate {
    /// Takes in what one more checkpoint has taken.
    pub(super) fn add(&mut self, bytes: u64, time: Duration) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.time = self.time.saturating_add(time);
    }

    /// What writing so much will take.
    fn time_for(&self, bytes: u64) -> Duration {
        let seconds = match (self.bytes, self.time) {
            (0, _) | (_, Duration::ZERO) => bytes as f64 / BYTES_PER_SECOND_ASSUMED as f64,
            (written, time) => bytes as f64 * time.as_secs_f64() / written as f64,
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(recompute_s: u64, mib: u64) -> LineageCost {
        let recompute = Duration::from_secs(recompute_s);
        LineageCost { recompute, operations: 10, bytes: mib << 20, partitions: 0 }
    }

    fn measured(mib_per_second: u64) -> WriteRate {
        let mut rate = WriteRate::default();
        rate.add(mib_per_second << 20, Duration::from_secs(1));
        rate
    }

    #[test]
    fn the_balance_is_youngs() {
        // C = 2 s and M = 3600 s: the interval is 120 s.
        let policy = CheckpointPolicy {
            time_between_losses: Duration::from_secs(3600),
            ..CheckpointPolicy::default()
        };
        let rate = measured(100);
        assert!(!policy.is_worth(&cost(119, 200), &rate));
        assert!(policy.is_worth(&cost(121, 200), &rate));
        // Four times the bytes, or a quarter of the rate: twice the interval.
        assert!(!policy.is_worth(&cost(239, 800), &rate));
        assert!(policy.is_worth(&cost(241, 800), &rate));
        assert!(!policy.is_worth(&cost(239, 200), &measured(25)));
        assert!(policy.is_worth(&cost(241, 200), &measured(25)));
    }

    #[test]
    fn before_anything_is_measured_a_rate_is_assumed() {
        let policy = CheckpointPolicy {
            time_between_losses: Duration::from_secs(3600),
            ..CheckpointPolicy::default()
        };
        assert!(!policy.is_worth(&cost(119, 100), &WriteRate::default()));
        assert!(policy.is_worth(&cost(121, 100), &WriteRate::default()));
    }

    #[test]
    fn requests_cost_something_however_little_is_written() {
        let policy = CheckpointPolicy {
            time_between_losses: Duration::from_secs(3600),
            ..CheckpointPolicy::default()
        };
        let many = |recompute| LineageCost { partitions: 40, ..cost(recompute, 0) };
        assert!(!policy.is_worth(&many(119), &WriteRate::default()));
        assert!(policy.is_worth(&many(121), &WriteRate::default()));
    }

    #[test]
    fn a_long_lineage_is_cut_whatever_it_cost() {
        let policy = CheckpointPolicy { operations_max: 11, ..CheckpointPolicy::default() };
        let mut cheap = cost(0, 1 << 20);
        assert!(!policy.is_worth(&cheap, &WriteRate::default()));
        cheap.operations = 11;
        assert!(policy.is_worth(&cheap, &WriteRate::default()));
    }

    #[test]
    fn what_was_never_measured_is_not_worth_it() {
        assert!(!CheckpointPolicy::default().is_worth(&cost(0, 0), &WriteRate::default()));
    }
}
