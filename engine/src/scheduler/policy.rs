//! Who goes first: the order in which jobs, and pools of jobs, are offered a free slot.

use std::cmp::{Ordering, Reverse};
use std::fmt;

/// What a policy may know of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobTraits {
    /// Its place in the order of submission.
    pub sequence: u64,
    /// Its priority; higher goes first.
    pub priority: i32,
}

/// What a policy may know of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolShare {
    /// Its weight, at least 1.
    pub weight: u32,
    /// CPUs its tasks hold now.
    pub cpus: u64,
}

/// A job's place within its pool; lower goes first.
pub type Rank = (Reverse<i32>, u64);

/// The order in which free slots are offered.
pub trait Policy: fmt::Debug + Send {
    /// The pool a job belongs to, from the name it was submitted under, and the pool's weight.
    fn pool<'a>(&'a self, name: &'a str) -> (&'a str, u32);

    /// Which of two pools is offered the next slot first.
    fn compare_pools(&self, a: &PoolShare, b: &PoolShare) -> Ordering;

    /// The order of jobs within a pool.
    fn rank(&self, job: &JobTraits) -> Rank;
}

/// The policies there are.
#[derive(Clone, Debug, Default)]
pub enum PolicyKind {
    /// Jobs in order of submission; a later one gets what the earlier cannot use.
    #[default]
    Fifo,
    /// Jobs by priority, then in order of submission.
    Priority,
    /// Pools share the slots by weight; within a pool as `Fifo`.
    Fair {
        /// The weights by pool name; a pool not named has weight 1.
        weights: Vec<(String, u32)>,
    },
}

impl PolicyKind {
    pub(super) fn build(&self) -> Box<dyn Policy> {
        match self {
            Self::Fifo => Box::new(Fifo),
            Self::Priority => Box::new(Priority),
            Self::Fair { weights } => Box::new(Fair { weights: weights.clone() }),
        }
    }
}

#[derive(Debug)]
struct Fifo;

impl Policy for Fifo {
    fn pool<'a>(&'a self, _name: &'a str) -> (&'a str, u32) {
        ("", 1)
    }

    fn compare_pools(&self, _a: &PoolShare, _b: &PoolShare) -> Ordering {
        Ordering::Equal
    }

    fn rank(&self, job: &JobTraits) -> Rank {
        (Reverse(0), job.sequence)
    }
}

#[derive(Debug)]
struct Priority;

impl Policy for Priority {
    fn pool<'a>(&'a self, _name: &'a str) -> (&'a str, u32) {
        ("", 1)
    }

    fn compare_pools(&self, _a: &PoolShare, _b: &PoolShare) -> Ordering {
        Ordering::Equal
    }

    fn rank(&self, job: &JobTraits) -> Rank {
        (Reverse(job.priority), job.sequence)
    }
}

#[derive(Debug)]
struct Fair {
    weights: Vec<(String, u32)>,
}

impl Policy for Fair {
    fn pool<'a>(&'a self, name: &'a str) -> (&'a str, u32) {
        let weight = self.weights.iter().find(|(pool, _)| pool == name).map_or(1, |(_, w)| *w);
        (name, weight.max(1))
    }

    /// The pool with the smaller share of its due goes first: `a.cpus / a.weight` against `b`'s.
    fn compare_pools(&self, a: &PoolShare, b: &PoolShare) -> Ordering {
        (a.cpus * u64::from(b.weight)).cmp(&(b.cpus * u64::from(a.weight)))
    }

    fn rank(&self, job: &JobTraits) -> Rank {
        (Reverse(0), job.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fair_pools_are_ordered_by_their_share_of_their_weight() {
        let fair = Fair { weights: vec![("etl".into(), 3)] };
        assert_eq!(fair.pool("etl"), ("etl", 3));
        assert_eq!(fair.pool("other"), ("other", 1));
        let etl = PoolShare { weight: 3, cpus: 5 };
        let other = PoolShare { weight: 1, cpus: 2 };
        assert_eq!(fair.compare_pools(&etl, &other), Ordering::Less);
        assert_eq!(fair.compare_pools(&PoolShare { cpus: 6, ..etl }, &other), Ordering::Equal);
        assert_eq!(fair.compare_pools(&PoolShare { cpus: 7, ..etl }, &other), Ordering::Greater);
    }

    #[test]
    fn priority_goes_before_submission_order() {
        let early = JobTraits { sequence: 1, priority: 0 };
        let urgent = JobTraits { sequence: 2, priority: 9 };
        assert!(Priority.rank(&urgent) < Priority.rank(&early));
        assert!(Fifo.rank(&early) < Fifo.rank(&urgent));
    }
}
