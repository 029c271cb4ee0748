//! An executor that has joined and is not lost.

use std::sync::Arc;

use super::RunKey;
use crate::scheduler::types::{Capacity, ExecutorId, Incarnation, Millis};

/// The slab key of an executor.
pub(in crate::scheduler) type ExecutorKey = usize;

#[derive(Debug)]
pub(in crate::scheduler) struct ExecutorState {
    pub(in crate::scheduler) id: ExecutorId,
    pub(in crate::scheduler) incarnation: Incarnation,
    pub(in crate::scheduler) host: Arc<str>,
    pub(in crate::scheduler) capacity: Capacity,
    /// What running tasks have not requested. Never more than `capacity`.
    pub(in crate::scheduler) free: Capacity,
    pub(in crate::scheduler) draining: bool,
    pub(in crate::scheduler) heard_at: Millis,
    /// In no particular order; each run knows its place.
    pub(in crate::scheduler) runs: Vec<RunKey>,
}
