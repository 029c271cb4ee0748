//! A stage some job has named: what is known of it, which of its tasks wait, and which one to launch
//! next on a given executor.

use std::sync::Arc;

use ahash::HashMap;
use millstream_planner::ids::{JobId, ShuffleId, StageId};
use millstream_planner::stages::{
    Determinism, Locality, ResourceRequest, Stage, StageGraph, StageOutput,
};

use super::{ExecutorKey, NONE, QueueKey, TaskTable};
use crate::scheduler::speculation::RunTimes;
use crate::scheduler::types::{Millis, StageAttempt, TaskId, TaskOutput};

/// The slab key of a stage.
pub(in crate::scheduler) type StageKey = usize;

/// Where a stage stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scheduler) enum Phase {
    /// Nobody waits for it, or it is complete.
    Idle,
    /// It has tasks to run whose inputs are not complete.
    Blocked,
    /// Its tasks may run.
    Ready,
}

/// A stage read by another.
#[derive(Clone, Copy, Debug)]
pub(in crate::scheduler) struct Input {
    pub(in crate::scheduler) stage: StageKey,
    pub(in crate::scheduler) shuffle: ShuffleId,
    /// Whether tasks cannot run without it. Set from the start or once a task found it missing.
    pub(in crate::scheduler) needed: bool,
}

/// A finished task of a gang that has not finished as a whole.
#[derive(Clone, Copy, Debug)]
pub(in crate::scheduler) struct Held {
    pub(in crate::scheduler) task: TaskId,
    pub(in crate::scheduler) row: u32,
    pub(in crate::scheduler) executor: ExecutorKey,
    pub(in crate::scheduler) output: TaskOutput,
}

/// A failed task that would rather not go back to where it failed.
#[derive(Clone, Copy, Debug)]
struct Retry {
    row: u32,
    avoid: ExecutorKey,
    until: Millis,
}

/// What a stage wants launched on an executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scheduler) enum Pick {
    /// This row.
    Row(u32),
    /// Nothing before this time; then look again.
    Wait(Millis),
    /// Nothing.
    Nothing,
}

#[derive(Debug)]
pub(in crate::scheduler) struct StageState {
    pub(in crate::scheduler) id: StageId,
    /// Tells this use of a slab key from earlier ones.
    pub(in crate::scheduler) serial: u64,
    pub(in crate::scheduler) name: String,
    pub(in crate::scheduler) output: StageOutput,
    pub(in crate::scheduler) request: ResourceRequest,
    pub(in crate::scheduler) determinism: Determinism,
    pub(in crate::scheduler) gang: bool,
    /// The first partition in the table: 0, but for a job that runs part of its result.
    pub(in crate::scheduler) base: u32,
    /// The partitions in the table.
    pub(in crate::scheduler) rows: u32,
    pub(in crate::scheduler) tasks: TaskTable,

    /// The jobs whose graph has this stage.
    pub(in crate::scheduler) users: Vec<JobId>,
    /// The user on whose behalf, and in whose place, tasks are launched.
    pub(in crate::scheduler) owner: JobId,
    pub(in crate::scheduler) pool: usize,
    /// A user's graph and this stage's place in it; kept as long as there are users.
    pub(in crate::scheduler) graph: Option<Arc<StageGraph>>,
    pub(in crate::scheduler) order: usize,
    /// Linked as long as there are users.
    pub(in crate::scheduler) inputs: Vec<Input>,
    pub(in crate::scheduler) consumers: Vec<StageKey>,
    /// No later job can name it: to be dropped with the last user.
    pub(in crate::scheduler) released: bool,

    pub(in crate::scheduler) phase: Phase,
    /// Whether it has been started before.
    pub(in crate::scheduler) ran: bool,
    pub(in crate::scheduler) attempt: StageAttempt,
    /// Whether this run of the stage has yet to be announced.
    pub(in crate::scheduler) unannounced: bool,
    /// Consecutive attempts that could not read their inputs.
    pub(in crate::scheduler) input_failures: u32,
    /// Which rows an indeterminate stage, or one above it, has produced: raised by each second run.
    pub(in crate::scheduler) generation: u64,
    /// The generations of the inputs that the present outputs were made from.
    pub(in crate::scheduler) made_from: u64,
    /// Whether readers may have seen its outputs.
    pub(in crate::scheduler) was_complete: bool,
    /// Raised when an output is registered or unregistered.
    pub(in crate::scheduler) version: u64,

    pub(in crate::scheduler) running: u32,
    pub(in crate::scheduler) queued: Option<(usize, QueueKey)>,
    retries: Vec<Retry>,
    by_host: HashMap<Arc<str>, Vec<u32>>,
    /// When a task was last launched on a preferred host.
    pub(in crate::scheduler) local_since: Millis,
    /// Since when tasks have been waiting without one being launched.
    pub(in crate::scheduler) waiting_since: Millis,
    /// Since when no executor could ever hold its tasks. Only while queued.
    pub(in crate::scheduler) unplaceable_since: Option<Millis>,
    pub(in crate::scheduler) held: Vec<Held>,

    pub(in crate::scheduler) run_times: RunTimes,
    /// The number of finished tasks from which slow ones are looked for.
    pub(in crate::scheduler) speculate_from: u32,
    pub(in crate::scheduler) speculation_armed: bool,
    /// Rows of which a second copy is wanted.
    pub(in crate::scheduler) copies: Vec<u32>,
}

impl StageState {
    pub(in crate::scheduler) fn new(stage: &Stage, serial: u64, base: u32, rows: u32) -> Self {
        Self {
            id: stage.id,
            serial,
            name: stage.name.clone(),
            output: stage.output,
            request: stage.request,
            determinism: stage.determinism,
            gang: stage.gang,
            base,
            rows,
            tasks: TaskTable::default(),
            users: Vec::new(),
            owner: JobId(0),
            pool: 0,
            graph: None,
            order: 0,
            inputs: Vec::new(),
            consumers: Vec::new(),
            released: false,
            phase: Phase::Idle,
            ran: false,
            attempt: StageAttempt::default(),
            unannounced: false,
            input_failures: 0,
            generation: 0,
            made_from: 0,
            was_complete: false,
            version: 0,
            running: 0,
            queued: None,
            retries: Vec::new(),
            by_host: HashMap::default(),
            local_since: Millis::default(),
            waiting_since: Millis::default(),
            unplaceable_since: None,
            held: Vec::new(),
            run_times: RunTimes::default(),
            speculate_from: u32::MAX,
            speculation_armed: false,
            copies: Vec::new(),
        }
    }

    pub(in crate::scheduler) fn shuffle(&self) -> Option<ShuffleId> {
        match self.output {
            StageOutput::Shuffle { shuffle, .. } => Some(shuffle),
            StageOutput::Result | StageOutput::Commit => None,
        }
    }

    pub(in crate::scheduler) fn commits(&self) -> bool {
        matches!(self.output, StageOutput::Commit)
    }

    pub(in crate::scheduler) fn is_active(&self) -> bool {
        self.phase != Phase::Idle
    }

    pub(in crate::scheduler) fn is_complete(&self) -> bool {
        self.tasks.done == self.rows
    }

    /// The tasks that wait to be launched, copies not counted.
    pub(in crate::scheduler) fn pending(&self) -> u32 {
        let retries = u32::try_from(self.retries.len()).unwrap_or(u32::MAX);
        self.tasks.pending.len() + self.tasks.pending_local.len() + retries
    }

    /// Whether anything waits to be launched.
    pub(in crate::scheduler) fn has_work(&self) -> bool {
        self.pending() > 0 || !self.copies.is_empty()
    }

    /// The row of a partition.
    pub(in crate::scheduler) fn row(&self, partition: u32) -> Option<u32> {
        let row = partition.checked_sub(self.base)?;
        (row < self.rows && self.tasks.is_allocated()).then_some(row)
    }

    /// Allocates the table, and indexes the preferred hosts, if that has not been done.
    pub(in crate::scheduler) fn allocate(&mut self) {
        if !self.tasks.is_allocated() {
            let local = !self.host_lists().is_empty();
            self.tasks = TaskTable::new(self.rows, self.output, local);
        }
    }

    /// Queues all rows that are neither done nor running.
    pub(in crate::scheduler) fn queue_missing(&mut self) {
        self.clear_pending();
        for row in 0..self.rows {
            if self.tasks.is_missing(row) {
                self.queue(row);
            }
        }
    }

    /// Queues one row.
    pub(in crate::scheduler) fn queue(&mut self, row: u32) {
        if self.tasks.local && self.prefers(row) {
            self.tasks.pending_local.insert(row);
            self.index_hosts(row);
        } else {
            self.tasks.pending.insert(row);
        }
    }

    fn index_hosts(&mut self, row: u32) {
        let Some(graph) = self.graph.clone() else { return };
        let Some(Locality::Hosts(lists)) = graph.stages.get(self.order).map(|s| &s.locality) else {
            return;
        };
        for host in lists.get((self.base + row) as usize).into_iter().flatten() {
            if let Some(rows) = self.by_host.get_mut(host.as_str()) {
                rows.push(row);
            } else {
                self.by_host.insert(Arc::from(host.as_str()), vec![row]);
            }
        }
    }

    /// Queues a row that failed on `avoid`, where it had better not run before `until`.
    pub(in crate::scheduler) fn queue_away(&mut self, row: u32, avoid: ExecutorKey, until: Millis) {
        self.retries.push(Retry { row, avoid, until });
    }

    /// Forgets everything that waits.
    pub(in crate::scheduler) fn clear_pending(&mut self) {
        self.tasks.pending.clear();
        self.tasks.pending_local.clear();
        self.retries.clear();
        self.by_host.clear();
        self.copies.clear();
    }

    /// Takes the row to launch next on an executor, which must be able to hold it. `alone` says that
    /// there is no other executor; `is_live` whether a host has one.
    pub(in crate::scheduler) fn pick(
        &mut self,
        executor: ExecutorKey,
        host: &str,
        now: Millis,
        locality_wait_ms: u64,
        alone: bool,
        is_live: impl Fn(&str) -> bool,
    ) -> Pick {
        let may = |retry: &Retry| alone || retry.avoid != executor || retry.until <= now;
        if let Some(place) = self.retries.iter().position(may) {
            return Pick::Row(self.retries.remove(place).row);
        }
        if let Some(row) = self.pop_local(host) {
            self.local_since = now;
            return Pick::Row(row);
        }
        if let Some(row) = self.tasks.pending.pop_first() {
            return Pick::Row(row);
        }
        let retry_at = self.retries.iter().map(|retry| retry.until).min();
        if self.tasks.pending_local.len() == 0 {
            return retry_at.map_or(Pick::Nothing, Pick::Wait);
        }
        let local_until = self.local_since + locality_wait_ms;
        if local_until > now && self.by_host.keys().any(|host| is_live(host)) {
            return Pick::Wait(retry_at.map_or(local_until, |at| at.min(local_until)));
        }
        self.tasks.pending_local.pop_first().map_or(Pick::Nothing, Pick::Row)
    }

    /// Takes any row that waits, without regard to hosts.
    pub(in crate::scheduler) fn pop_any(&mut self) -> Option<u32> {
        self.tasks.pending.pop_first().or_else(|| self.tasks.pending_local.pop_first())
    }

    fn pop_local(&mut self, host: &str) -> Option<u32> {
        let rows = self.by_host.get_mut(host)?;
        while let Some(row) = rows.pop() {
            if self.tasks.pending_local.remove(row) {
                return Some(row);
            }
        }
        self.by_host.remove(host);
        None
    }

    fn host_lists(&self) -> &[Vec<String>] {
        let stage = self.graph.as_ref().and_then(|graph| graph.stages.get(self.order));
        match stage.map(|stage| &stage.locality) {
            Some(Locality::Hosts(lists)) => lists,
            Some(Locality::Any) | None => &[],
        }
    }

    fn prefers(&self, row: u32) -> bool {
        self.host_lists().get((self.base + row) as usize).is_some_and(|hosts| !hosts.is_empty())
    }

    /// The attempt that finished and is not to be dropped.
    pub(in crate::scheduler) fn keeps(&self, task: &TaskId, row: u32) -> bool {
        self.tasks.winner[row as usize] == task.attempt
            || self.held.iter().any(|held| held.task == *task)
    }

    /// Whether nobody may commit this row, but `attempt`.
    pub(in crate::scheduler) fn may_commit(&self, row: u32, attempt: u32) -> bool {
        let granted = self.tasks.granted[row as usize];
        granted == NONE || granted == attempt
    }
}
