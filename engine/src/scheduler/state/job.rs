//! A job that is not over, and the pools jobs share.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;

use super::StageKey;
use crate::scheduler::policy::Rank;

#[derive(Debug)]
pub(in crate::scheduler) struct JobState {
    pub(in crate::scheduler) result: StageKey,
    /// All its stages, in topological order; the last is the result.
    pub(in crate::scheduler) stages: Vec<StageKey>,
    pub(in crate::scheduler) rank: Rank,
    pub(in crate::scheduler) pool: usize,
    pub(in crate::scheduler) task_attempts_max: u32,
    /// See [`JobSpec::passing`](crate::scheduler::JobSpec::passing).
    pub(in crate::scheduler) passing: Arc<HashSet<ShuffleId>>,
}

/// A stage's place in its pool's queue: by job, then in topological order.
pub(in crate::scheduler) type QueueKey = (Rank, usize, StageKey);

/// The jobs under one name, and which of their stages have tasks to launch.
#[derive(Debug)]
pub(in crate::scheduler) struct Pool {
    pub(in crate::scheduler) name: String,
    pub(in crate::scheduler) weight: u32,
    /// CPUs that its running tasks hold.
    pub(in crate::scheduler) cpus: u64,
    pub(in crate::scheduler) queue: BTreeSet<QueueKey>,
}
