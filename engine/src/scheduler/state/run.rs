//! A running attempt. There are no more of them than slots.

use super::{ExecutorKey, StageKey};
use crate::scheduler::types::{Millis, TaskId};

/// The slab key of a run.
pub(in crate::scheduler) type RunKey = u32;

#[derive(Clone, Copy, Debug)]
pub(in crate::scheduler) struct Run {
    pub(in crate::scheduler) task: TaskId,
    pub(in crate::scheduler) stage: StageKey,
    /// The row of the task in its stage's table.
    pub(in crate::scheduler) row: u32,
    pub(in crate::scheduler) executor: ExecutorKey,
    /// The pool its CPUs are booked on.
    pub(in crate::scheduler) pool: usize,
    pub(in crate::scheduler) started_at: Millis,
    /// The other running attempt at the same partition, if this is the first in the table.
    pub(in crate::scheduler) twin: RunKey,
    /// Its place in the executor's list.
    pub(in crate::scheduler) place: u32,
}
