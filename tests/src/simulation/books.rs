//! Independent accounts of what the scheduler has done, and the invariants over them.

use std::collections::{BTreeMap, BTreeSet};

use millstream::scheduler::{
    Capacity, ExecutorId, Incarnation, OutputLocation, SchedulerConfig, TaskFailure, TaskId,
};
use millstream_planner::ids::{JobId, StageId};
use millstream_planner::stages::{Need, ResourceRequest, Stage, StageOutput};

/// What is known of an executor the scheduler counts on.
#[derive(Clone, Copy, Debug)]
struct Account {
    incarnation: Incarnation,
    capacity: Capacity,
    used: Capacity,
    draining: bool,
}

/// A task that was launched and has not ended.
#[derive(Clone, Copy, Debug)]
struct Launched {
    executor: ExecutorId,
    request: ResourceRequest,
}

/// The accounts.
#[derive(Debug, Default)]
pub struct Books {
    executors: BTreeMap<ExecutorId, Account>,
    incarnations: BTreeMap<ExecutorId, Incarnation>,
    launched: BTreeMap<TaskId, Launched>,
    /// Finished, and neither accepted nor discarded.
    finished: BTreeSet<TaskId>,
    /// By stage and partition; result stages may occur in several jobs.
    grants: BTreeMap<(JobId, StageId, u32), TaskId>,
    accepted: BTreeMap<(JobId, u32), TaskId>,
    /// Failures that count, by stage and partition, since a task of the partition was last accepted.
    failures: BTreeMap<(StageId, u32), u32>,
    losses: BTreeMap<(StageId, u32), u32>,
    input_failures: BTreeMap<StageId, u32>,
    /// What executors that take tasks offered, from which time on.
    offers: Vec<(u64, Vec<Capacity>)>,
    offers_changed: bool,
    /// By stage and partition, the first attempt whose number no earlier run has used.
    unused: BTreeMap<(StageId, u32), u32>,
    /// The lives of executors whose outputs a service has too.
    served: BTreeSet<(ExecutorId, Incarnation)>,
}

const NOTHING: Capacity = Capacity { cpus: 0, memory_bytes: 0, disk_bytes: 0 };

impl Books {
    /// An executor announced itself.
    pub fn joined(&mut self, executor: ExecutorId, incarnation: Incarnation, capacity: Capacity) {
        if self.incarnations.get(&executor).is_none_or(|&last| last < incarnation) {
            self.forget(executor);
            self.incarnations.insert(executor, incarnation);
            let account = Account { incarnation, capacity, used: NOTHING, draining: false };
            self.executors.insert(executor, account);
            self.offers_changed = true;
        }
    }

    /// The outputs of an executor stay when it goes.
    pub fn served(&mut self, executor: ExecutorId, incarnation: Incarnation) {
        if self.counts_on(executor) == Some(incarnation) {
            self.served.insert((executor, incarnation));
        }
    }

    /// An earlier run has used the number of an attempt.
    pub fn used(&mut self, stage: StageId, partition: u32, attempt: u32) {
        let unused = self.unused.entry((stage, partition)).or_default();
        *unused = (*unused).max(attempt + 1);
    }

    /// An executor takes no more tasks.
    pub fn draining(&mut self, executor: ExecutorId, incarnation: Incarnation) {
        if let Some(account) = self.executors.get_mut(&executor)
            && account.incarnation == incarnation
        {
            account.draining = true;
            self.offers_changed = true;
        }
    }

    /// The scheduler gave an executor up.
    pub fn removed(&mut self, executor: ExecutorId, incarnation: Incarnation) {
        if self.counts_on(executor) == Some(incarnation) {
            self.forget(executor);
        }
    }

    fn forget(&mut self, executor: ExecutorId) {
        self.executors.remove(&executor);
        self.offers_changed = true;
        let lost = self.launched.iter().filter(|(_, launched)| launched.executor == executor);
        let lost: Vec<TaskId> = lost.map(|(task, _)| *task).collect();
        for task in lost {
            *self.losses.entry((task.stage, task.partition)).or_default() += 1;
            self.end(&task);
        }
    }

    /// The life of an executor that the scheduler counts on.
    #[must_use]
    pub fn counts_on(&self, executor: ExecutorId) -> Option<Incarnation> {
        self.executors.get(&executor).map(|account| account.incarnation)
    }

    /// Whether there is no executor that takes tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.executors.values().all(|account| account.draining)
    }

    /// Notes what the executors offer from now on.
    pub fn note_offers(&mut self, now: u64) {
        if std::mem::take(&mut self.offers_changed) {
            let open = self.executors.values().filter(|account| !account.draining);
            self.offers.push((now, open.map(|account| account.capacity).collect()));
        }
    }

    /// How many tasks of a request would have fitted at most, at any time after `since`.
    #[must_use]
    pub fn most_fitting(&self, request: &ResourceRequest, since: u64) -> u32 {
        let ends = self.offers.iter().skip(1).map(|(from, _)| *from).chain([u64::MAX]);
        let recent = self.offers.iter().zip(ends).filter(|(_, end)| *end > since);
        let fits = recent.map(|((_, offers), _)| {
            offers.iter().map(|offer| offer.fits(request)).fold(0, u32::saturating_add)
        });
        fits.max().unwrap_or(0)
    }

    /// A task is launched.
    pub fn launch(
        &mut self,
        task: TaskId,
        executor: ExecutorId,
        stage: &Stage,
        outputs: &[Vec<Option<OutputLocation>>],
        config: &SchedulerConfig,
    ) -> Result<(), String> {
        let Some(account) = self.executors.get_mut(&executor) else {
            return Err(format!("launched {task} on {executor}, which is gone"));
        };
        if account.draining {
            return Err(format!("launched {task} on {executor}, which is draining"));
        }
        if self.unused.get(&(task.stage, task.partition)).is_some_and(|&first| task.attempt < first)
        {
            return Err(format!("launched {task}, whose number an earlier run has used"));
        }
        let request = stage.request;
        account.used.cpus += request.cpus;
        account.used.memory_bytes = account.used.memory_bytes.saturating_add(request.memory_bytes);
        account.used.disk_bytes += request.disk_bytes;
        let (used, capacity) = (account.used, account.capacity);
        let cpus_max = match request == ResourceRequest::default() {
            true => capacity.cpus * (1 + config.ahead_max),
            false => capacity.cpus,
        };
        if used.cpus > cpus_max
            || used.memory_bytes > capacity.memory_bytes
            || used.disk_bytes > capacity.disk_bytes
        {
            return Err(format!(
                "{executor} is over-committed: {used:?} of {capacity:?} by {task}"
            ));
        }
        for (input, maps) in stage.inputs.iter().zip(outputs) {
            let live = |at: &OutputLocation| {
                self.counts_on(at.executor) == Some(at.incarnation)
                    || self.served.contains(&(at.executor, at.incarnation))
            };
            let there = maps.iter().all(|map| map.as_ref().is_some_and(live));
            if input.need == Need::Always && !there {
                return Err(format!("launched {task} though {} is not complete", input.shuffle));
            }
        }
        let twins: Vec<&Launched> =
            self.launched.iter().filter(|(t, _)| same_work(t, &task)).map(|(_, l)| l).collect();
        let same = twins.iter().any(|twin| twin.executor == executor);
        if twins.len() > 1 || (same && !config.speculation.same_executor) {
            return Err(format!("launched {task} beside {} other attempt(s)", twins.len()));
        }
        if self.launched.insert(task, Launched { executor, request }).is_some() {
            return Err(format!("launched {task} twice"));
        }
        Ok(())
    }

    /// Whether an executor has tasks for which it has no slot yet.
    #[must_use]
    pub fn is_ahead(&self, executor: ExecutorId) -> bool {
        let account = self.executors.get(&executor);
        account.is_some_and(|account| account.used.cpus > account.capacity.cpus)
    }

    /// How many tasks of a stage run for a job.
    #[must_use]
    pub fn running(&self, stage: StageId) -> usize {
        self.launched.keys().filter(|task| task.stage == stage).count()
    }

    /// The message that a task finished is about to be handed over.
    pub fn finishing(&mut self, task: &TaskId, executor: ExecutorId, incarnation: Incarnation) {
        if self.is_running(task, executor, incarnation) {
            self.end(task);
            self.finished.insert(*task);
        }
    }

    /// The message that a task failed is about to be handed over.
    pub fn failing(
        &mut self,
        task: &TaskId,
        executor: ExecutorId,
        incarnation: Incarnation,
        failure: &TaskFailure,
    ) {
        if !self.is_running(task, executor, incarnation) {
            return;
        }
        self.end(task);
        let of = (task.stage, task.partition);
        match failure {
            TaskFailure::FetchFailed { .. } | TaskFailure::InputMissing { .. } => {
                *self.input_failures.entry(task.stage).or_default() += 1;
            }
            TaskFailure::Cancelled | TaskFailure::ExecutorLost { .. } => {
                *self.losses.entry(of).or_default() += 1;
            }
            _ => *self.failures.entry(of).or_default() += 1,
        }
    }

    /// A task was cancelled or denied.
    pub fn cancelled(&mut self, task: &TaskId) {
        self.end(task);
    }

    /// A finished task is dropped.
    pub fn discarded(&mut self, task: &TaskId, stage: &Stage) -> Result<(), String> {
        self.finished.remove(task);
        let counts = self.accepted.get(&(task.job, task.partition)) == Some(task);
        if counts && !matches!(stage.output, StageOutput::Shuffle { .. }) {
            return Err(format!("discarded {task}, which had been accepted"));
        }
        Ok(())
    }

    /// A finished task counts.
    pub fn accept(&mut self, task: &TaskId, stage: &Stage) -> Result<(), String> {
        if !self.finished.remove(task) {
            return Err(format!("accepted {task}, which had not just finished"));
        }
        self.failures.remove(&(task.stage, task.partition));
        self.losses.remove(&(task.stage, task.partition));
        self.input_failures.remove(&task.stage);
        if matches!(stage.output, StageOutput::Shuffle { .. }) {
            return Ok(());
        }
        match self.accepted.insert((task.job, task.partition), *task) {
            Some(other) => Err(format!("accepted both {other} and {task}")),
            None => Ok(()),
        }
    }

    /// A task may commit.
    pub fn grant(&mut self, task: &TaskId) -> Result<(), String> {
        if !self.launched.contains_key(task) {
            return Err(format!("granted the commit to {task}, which does not run"));
        }
        match self.grants.insert((task.job, task.stage, task.partition), *task) {
            Some(other) if other != *task => {
                Err(format!("granted the commit to {task} while {other} has it"))
            }
            _ => Ok(()),
        }
    }

    fn is_running(&self, task: &TaskId, executor: ExecutorId, incarnation: Incarnation) -> bool {
        self.launched.get(task).is_some_and(|launched| launched.executor == executor)
            && self.counts_on(executor) == Some(incarnation)
    }

    fn end(&mut self, task: &TaskId) {
        let Some(Launched { executor, request }) = self.launched.remove(task) else { return };
        if let Some(account) = self.executors.get_mut(&executor) {
            account.used.cpus -= request.cpus;
            account.used.memory_bytes -= request.memory_bytes;
            account.used.disk_bytes -= request.disk_bytes;
        }
        self.grants.retain(|_, granted| granted != task);
    }

    /// What counts against a partition: failures and losses since it was last accepted.
    #[must_use]
    pub fn strikes(&self, stage: StageId, partition: u32) -> (u32, u32) {
        let of = (stage, partition);
        let get = |map: &BTreeMap<(StageId, u32), u32>| map.get(&of).copied().unwrap_or(0);
        (get(&self.failures), get(&self.losses))
    }

    /// Failures to read inputs since a task of the stage was last accepted.
    #[must_use]
    pub fn input_failures(&self, stage: StageId) -> u32 {
        self.input_failures.get(&stage).copied().unwrap_or(0)
    }

    /// The task accepted for a partition of a job's result.
    #[must_use]
    pub fn accepted(&self, job: JobId, partition: u32) -> Option<&TaskId> {
        self.accepted.get(&(job, partition))
    }

    /// Whether nothing runs and the executors' accounts are at zero.
    pub fn close(&self) -> Result<(), String> {
        if let Some(task) = self.launched.keys().next() {
            return Err(format!("{task} still runs though all jobs are over"));
        }
        match self.executors.iter().find(|(_, account)| account.used != NOTHING) {
            Some((executor, account)) => {
                Err(format!("{executor} still has {:?} in use", account.used))
            }
            None => Ok(()),
        }
    }
}

/// Whether two attempts are at the same partition of the same stage.
fn same_work(a: &TaskId, b: &TaskId) -> bool {
    (a.stage, a.partition) == (b.stage, b.partition)
}
