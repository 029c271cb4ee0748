//! Executors: the one path in, the one path out, and what happens when there are none.

use std::sync::Arc;

use millstream_planner::stages::ResourceRequest;

use super::Scheduler;
use super::failures::{JobError, LossReason, TaskFailure};
use super::messages::Command;
use super::planted::PlantedBug;
use super::state::{ExecutorKey, ExecutorState, StageKey};
use super::timers::Timer;
use super::types::{Capacity, ExecutorId, Incarnation, Millis};

impl Scheduler {
    pub(super) fn on_executor_joined(
        &mut self,
        id: ExecutorId,
        incarnation: Incarnation,
        host: Arc<str>,
        capacity: Capacity,
    ) {
        if let Some(&key) = self.executors_by_id.get(&id) {
            if self.executors[key].incarnation >= incarnation {
                return;
            }
            self.remove_executor(key, LossReason::Replaced);
        }
        if self.incarnations.get(&id).is_some_and(|&last| last >= incarnation) {
            return;
        }
        *self.hosts.entry(Arc::clone(&host)).or_default() += 1;
        let key = self.executors.insert(ExecutorState {
            id,
            incarnation,
            host,
            capacity,
            free: capacity,
            ahead: 0,
            draining: false,
            served: false,
            departed: false,
            full_until: self.now,
            heard_at: self.now,
            runs: Vec::new(),
        });
        self.executors_by_id.insert(id, key);
        self.schedulable += 1;
        if let Some(timeout) = self.config.heartbeat_timeout_ms {
            self.timers.arm(self.now + timeout, Timer::Heartbeat(id, incarnation));
        }
        self.recheck_placeable();
        self.offer_all = true;
    }

    pub(super) fn on_outputs_served(&mut self, id: ExecutorId, incarnation: Incarnation) {
        if let Some(key) = self.executor(id, incarnation) {
            self.executors[key].served = true;
        }
    }

    pub(super) fn on_executor_lost(
        &mut self,
        id: ExecutorId,
        incarnation: Incarnation,
        reason: LossReason,
    ) {
        if let Some(key) = self.executor(id, incarnation) {
            self.remove_executor(key, reason);
        }
    }

    pub(super) fn on_executor_draining(&mut self, id: ExecutorId, incarnation: Incarnation) {
        if let Some(key) = self.executor(id, incarnation)
            && !self.executors[key].draining
        {
            self.executors[key].draining = true;
            self.close(key);
            self.recheck_placeable();
        }
    }

    /// Until when an executor without room on its disks leaves such tasks to others, if there are others
    /// that can hold them and may have room.
    pub(super) fn passed_over_until(
        &self,
        key: ExecutorKey,
        request: &ResourceRequest,
    ) -> Option<Millis> {
        let full = |executor: &ExecutorState| executor.full_until > self.now;
        let may_take = |other: &ExecutorState| {
            !other.draining && !full(other) && other.capacity.holds(request)
        };
        let executor = &self.executors[key];
        let passed_over = full(executor) && self.executors.iter().any(|(_, other)| may_take(other));
        passed_over.then_some(executor.full_until)
    }

    pub(super) fn on_heartbeat(&mut self, id: ExecutorId, incarnation: Incarnation) {
        if let Some(key) = self.executor(id, incarnation) {
            self.executors[key].heard_at = self.now;
        }
    }

    pub(super) fn on_heartbeat_due(&mut self, id: ExecutorId, incarnation: Incarnation) {
        let Some(key) = self.executor(id, incarnation) else { return };
        let Some(timeout) = self.config.heartbeat_timeout_ms else { return };
        let due = self.executors[key].heard_at + timeout;
        if due <= self.now {
            self.remove_executor(key, LossReason::HeartbeatTimeout);
        } else {
            self.timers.arm(due, Timer::Heartbeat(id, incarnation));
        }
    }

    /// The executor of this exact identity.
    pub(super) fn executor(&self, id: ExecutorId, incarnation: Incarnation) -> Option<ExecutorKey> {
        let key = *self.executors_by_id.get(&id)?;
        (self.executors[key].incarnation == incarnation).then_some(key)
    }

    /// The one path out: its running tasks are queued again, its outputs are lost, unless somebody else
    /// serves them.
    fn remove_executor(&mut self, key: ExecutorKey, reason: LossReason) {
        let (id, incarnation) = (self.executors[key].id, self.executors[key].incarnation);
        self.commands.push(Command::ExecutorRemoved { executor: id, incarnation, reason });
        self.executors_by_id.remove(&id);
        self.incarnations.insert(id, incarnation);
        if !self.executors[key].draining {
            self.close(key);
        }
        let mut touched = match self.executors[key].served {
            true => Vec::new(),
            false => self.lose_outputs_of(key),
        };
        touched.extend(self.lose_held_by(key));
        let failure = TaskFailure::ExecutorLost { executor: id, reason };
        touched.extend(self.lose_runs_of(key, &failure));
        self.depart(key);
        self.offer_all = true;
        touched.sort_unstable();
        touched.dedup();
        for stage in touched {
            if self.stages.contains(stage) {
                self.wake_after_loss(stage);
            }
        }
        self.recheck_placeable();
    }

    /// Strikes an executor off the books, but for what its outputs need.
    fn depart(&mut self, key: ExecutorKey) {
        let executor = &mut self.executors[key];
        // No task is placed on it, and no request is measured by it.
        (executor.draining, executor.departed) = (true, true);
        self.forget_if_departed(key);
    }

    /// Forgets the departed that hold nothing any more.
    pub(super) fn forget_departed(&mut self) {
        let departed = self.executors.iter().filter(|(_, executor)| executor.departed);
        let keys: Vec<ExecutorKey> = departed.map(|(key, _)| key).collect();
        keys.into_iter().for_each(|key| self.forget_if_departed(key));
    }

    fn forget_if_departed(&mut self, key: ExecutorKey) {
        if !self.holds_outputs(key) {
            self.executors.remove(key);
        }
    }

    fn lose_runs_of(&mut self, key: ExecutorKey, failure: &TaskFailure) -> Vec<StageKey> {
        let mut touched = Vec::new();
        while let Some(&run) = self.executors[key].runs.last() {
            let run = self.remove_run(run);
            if self.planted(PlantedBug::ForgetRequeueOnLoss) {
                continue;
            }
            let serial = self.stages[run.stage].serial;
            self.count_loss(run.stage, run.row, failure.clone());
            if self.stages.get(run.stage).is_some_and(|stage| stage.serial == serial) {
                touched.push(run.stage);
                self.restart_gang(run.stage);
            }
        }
        touched
    }

    /// Takes an executor out of the count of those that take tasks.
    fn close(&mut self, key: ExecutorKey) {
        self.schedulable -= 1;
        let host = &self.executors[key].host;
        if let Some(count) = self.hosts.get_mut(host) {
            *count -= 1;
            if *count == 0 {
                self.hosts.remove(host);
            }
        }
        self.offer_all = true;
    }

    fn recheck_placeable(&mut self) {
        let queued: Vec<StageKey> =
            self.pools.iter().flat_map(|pool| &pool.queue).map(|&(_, _, stage)| stage).collect();
        for stage in queued {
            self.check_placeable(stage);
        }
    }

    /// Notes whether the executors there are could ever hold a stage's tasks; if not, its grace period
    /// begins.
    pub(super) fn check_placeable(&mut self, key: StageKey) {
        let (tasks, fits) = self.fit(key);
        let stage = &mut self.stages[key];
        if fits >= tasks {
            stage.unplaceable_since = None;
        } else if stage.unplaceable_since.is_none() {
            stage.unplaceable_since = Some(self.now);
            let at = self.now + self.config.executor_grace_ms;
            self.timers.arm(at, Timer::Grace(key, stage.serial));
        }
    }

    /// How many tasks a stage must run side by side, and how many of them would fit if all executors
    /// were free; for the latter, counting stops when it is enough.
    fn fit(&self, key: StageKey) -> (u32, u32) {
        let stage = &self.stages[key];
        let tasks = if stage.gang { stage.rows } else { 1 };
        let mut fits = 0_u32;
        for executor in self.executors.iter().map(|(_, e)| e).filter(|e| !e.draining) {
            fits = fits.saturating_add(executor.capacity.fits(&stage.request));
            if fits >= tasks {
                break;
            }
        }
        (tasks, fits)
    }

    pub(super) fn on_grace_over(&mut self, key: StageKey, serial: u64) {
        let Some(stage) = self.stages.get(key).filter(|stage| stage.serial == serial) else {
            return;
        };
        let grace_ms = self.config.executor_grace_ms;
        let over = stage.unplaceable_since.is_some_and(|since| since + grace_ms <= self.now);
        if !over || stage.pending() == 0 {
            return;
        }
        let (id, name) = (stage.id, stage.name.clone());
        let open = self.executors.iter().map(|(_, e)| e).filter(|e| !e.draining);
        let error = match open.map(|e| e.capacity).max_by_key(Self::size) {
            None => JobError::NoExecutors { stage: id, name, grace_ms },
            Some(largest) => {
                let request = stage.request;
                let (tasks, total_tasks) = self.fit(key);
                JobError::Unsatisfiable {
                    stage: id,
                    name,
                    request,
                    tasks,
                    largest,
                    total_tasks,
                    grace_ms,
                }
            }
        };
        self.fail_jobs_waiting_for(key, &error);
    }

    fn size(capacity: &Capacity) -> (u32, u64, u64) {
        (capacity.cpus, capacity.memory_bytes, capacity.disk_bytes)
    }
}
