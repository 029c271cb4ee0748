//! What computing a node has taken, as its tasks have measured it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Measured on the tasks whose last operation a node was, once for each partition: tasks of later jobs
/// may find persisted rows and take less than computing takes.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    tasks: AtomicU64,
    millis: AtomicU64,
    bytes: AtomicU64,
}

impl Spent {
    /// Takes in a task of a node with so many partitions.
    pub(crate) fn add(&self, partitions: u32, millis: u64, bytes: u64) {
        if self.tasks.fetch_add(1, Ordering::Relaxed) < u64::from(partitions) {
            self.millis.fetch_add(millis, Ordering::Relaxed);
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// The time that all partitions take, if they are like those that were computed.
    pub(crate) fn of_all(&self, partitions: u32) -> Duration {
        let tasks = self.tasks.load(Ordering::Relaxed).min(u64::from(partitions));
        let millis = self.millis.load(Ordering::Relaxed);
        match millis.saturating_mul(u64::from(partitions)).checked_div(tasks) {
            Some(millis) => Duration::from_millis(millis),
            None => Duration::ZERO,
        }
    }

    /// The bytes that its tasks have written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_task_of_each_partition_counts() {
        let spent = Spent::default();
        assert_eq!(spent.of_all(3), Duration::ZERO);
        spent.add(3, 10, 1);
        assert_eq!(spent.of_all(3), Duration::from_millis(30), "one stands for all");
        spent.add(3, 20, 1);
        spent.add(3, 30, 1);
        spent.add(3, 1_000, 1);
        assert_eq!(spent.of_all(3), Duration::from_millis(60));
        assert_eq!(spent.bytes(), 3);
    }
}
