//! The rule that gives one task several small partitions. Only those side by side, so that rows stay in the order of
//! the partitions.

use std::ops::Range;

use super::{Adaptive, PartSize};

/// The partitions as runs, each of as many as stay below what is aimed for. `alone` says which have to stay alone.
pub(super) fn runs(
    sizes: &[PartSize],
    settings: &Adaptive,
    alone: impl Fn(u32) -> bool,
) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    // What the last run holds; `None` if it takes no more.
    let mut held: Option<PartSize> = None;
    for (partition, size) in (0..).zip(sizes) {
        let both = held.map(|held| held.and(*size)).filter(|both| {
            both.bytes <= settings.partition_bytes && both.rows <= settings.partition_rows
        });
        match (both, runs.last_mut()) {
            (Some(both), Some(run)) if !alone(partition) => {
                run.end = partition + 1;
                held = Some(both);
            }
            _ => {
                runs.push(partition..partition + 1);
                held = (!alone(partition)).then_some(*size);
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(bytes: &[u64]) -> Vec<PartSize> {
        bytes.iter().map(|bytes| PartSize { rows: bytes / 10, bytes: *bytes }).collect()
    }

    #[test]
    fn neighbours_share_a_task_up_to_the_target() {
        let settings = Adaptive { partition_bytes: 100, ..Adaptive::default() };
        let runs = |bytes: &[u64]| runs(&sizes(bytes), &settings, |_| false);
        assert_eq!(runs(&[10, 20, 30, 40]), [0..4]);
        assert_eq!(runs(&[10, 20, 30, 41]), [0..3, 3..4]);
        assert_eq!(runs(&[10, 200, 10, 0, 0]), [0..1, 1..2, 2..5]);
        assert_eq!(runs(&[0, 0, 0]), [0..3]);
        assert_eq!(runs(&[]), [0..0; 0]);
    }

    #[test]
    fn rows_count_too() {
        let settings = Adaptive { partition_rows: 3, ..Adaptive::default() };
        assert_eq!(runs(&sizes(&[10, 20, 10]), &settings, |_| false), [0..2, 2..3]);
    }

    #[test]
    fn what_stays_alone_ends_a_run() {
        let settings = Adaptive::default();
        assert_eq!(runs(&sizes(&[1, 1, 1, 1, 1]), &settings, |p| p == 2), [0..2, 2..3, 3..5]);
    }
}
