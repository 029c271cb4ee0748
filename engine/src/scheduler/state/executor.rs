//! An executor that has joined and is not lost, or whose outputs have stayed behind.

use std::sync::Arc;

use millstream_planner::stages::ResourceRequest;

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
    /// Tasks sent before there is a slot for them; see `SchedulerConfig::ahead_max`.
    pub(in crate::scheduler) ahead: u32,
    pub(in crate::scheduler) draining: bool,
    /// Its outputs are served by somebody else too.
    pub(in crate::scheduler) served: bool,
    /// It is lost, and known for the outputs that stayed behind alone.
    pub(in crate::scheduler) departed: bool,
    /// It has no room on its disks; nothing is placed on it before then, if there are others.
    pub(in crate::scheduler) full_until: Millis,
    pub(in crate::scheduler) heard_at: Millis,
    /// In no particular order; each run knows its place.
    pub(in crate::scheduler) runs: Vec<RunKey>,
}

impl ExecutorState {
    /// Takes what a task requests; a task for which there is no slot yet runs ahead.
    pub(in crate::scheduler) fn take(&mut self, request: &ResourceRequest) {
        match self.free.holds(request) {
            true => self.free.take(request),
            false => self.ahead += request.cpus,
        }
    }

    /// Gives back what a task had requested: to a task that has run ahead first.
    pub(in crate::scheduler) fn give(&mut self, request: &ResourceRequest) {
        let handed_on = request.cpus.min(self.ahead);
        self.ahead -= handed_on;
        self.free.give(&ResourceRequest { cpus: request.cpus - handed_on, ..*request });
    }
}
