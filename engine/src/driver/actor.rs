//! The driver of one application.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded};
use millstream_planner::ids::{JobId, NodeId, ShuffleId};
use millstream_planner::stages::StageOutput;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::job::{Job, Submitted};
use super::journal::Journal;
use super::publish::Publisher;
use super::workers::{Order, Workers};
use crate::Metrics;
use crate::context::Demand;
use crate::events::EventBus;
use crate::executor::{MapResult, StageProgram, message};
use crate::protocol::OutputAt;
use crate::rdd::Payload;
use crate::scheduler::{
    Command, Event, ExecutorId, JobError, Millis, Scheduler, SchedulerConfig, TaskFailure, TaskId,
};
use crate::shared::{AccumulatorTotals, AccumulatorUpdates};

/// The driver of one application.
pub(crate) struct Driver {
    pub(super) state: Mutex<State>,
    /// Wakes the clock when a deadline comes earlier than it expects.
    earlier: Condvar,
    started: Instant,
    totals: AccumulatorTotals,
    pub(super) publisher: Publisher,
    /// Programs have to travel.
    portable: bool,
    pub(super) journal: Option<Journal>,
}

/// How executors find their driver, which is made after them. It leads nowhere before the driver is
/// there and after it has gone.
#[derive(Clone, Default)]
pub(crate) struct DriverLink(Arc<OnceLock<Weak<Driver>>>);

impl DriverLink {
    pub(crate) fn driver(&self) -> Option<Arc<Driver>> {
        self.0.get().and_then(Weak::upgrade)
    }
}

pub(super) struct State {
    pub(super) scheduler: Scheduler,
    pub(super) workers: Box<dyn Workers>,
    jobs: HashMap<JobId, Submitted>,
    commands: Vec<Command>,
    /// When the clock wakes next; `None` while it sleeps without a limit.
    clock_wakes: Option<Millis>,
    clock: Option<JoinHandle<()>>,
    pub(super) stopped: bool,
}

impl State {
    /// Whether the task's stage publishes files, which an action does before it returns.
    pub(super) fn commits(&self, task: TaskId) -> bool {
        let stage = self.jobs.get(&task.job).and_then(|job| job.graph.stage(task.stage));
        stage.is_some_and(|stage| stage.output == StageOutput::Commit)
    }

    /// What a task runs; `None` once its job is over.
    pub(super) fn program(&self, task: TaskId) -> Option<&Arc<StageProgram>> {
        self.jobs.get(&task.job).and_then(|job| job.programs.get(&task.stage))
    }
}

/// What a finished task hands over, held while the scheduler decides whether it counts.
pub(super) enum Finished {
    /// A map output of this process.
    Map(MapResult),
    /// A map output that the executor keeps, in this file if a next run may take it over.
    Kept {
        executor: ExecutorId,
        file: Option<PathBuf>,
    },
    Result(Payload),
}

/// What an event leaves to be dropped, outside the lock: it may own lineage, whose end calls back
/// into the driver.
#[derive(Default)]
pub(super) struct Litter {
    jobs: Vec<(Submitted, Result<(), JobError>)>,
    finished: Vec<Finished>,
    /// A job that has ended here and which the scheduler has yet to give up.
    broken: Option<JobId>,
}

impl Litter {
    /// Drops everything, and tells the callers of ended jobs only then: a caller that goes on to end
    /// the application must find nothing left of its job on this thread.
    pub(super) fn clear(self) {
        drop(self.finished);
        for (job, result) in self.jobs {
            let done = job.done.clone();
            drop(job);
            // The caller waits on the other side, or has gone; both are fine.
            let _ = done.try_send(result);
        }
    }
}

impl Driver {
    /// Starts the driver of these executors, which find it by `link`.
    pub(super) fn start(
        config: SchedulerConfig,
        workers: Box<dyn Workers>,
        publisher: Publisher,
        link: &DriverLink,
        portable: bool,
        journal: Option<Journal>,
    ) -> Result<Arc<Self>, std::io::Error> {
        let driver = Arc::new(Self {
            state: Mutex::new(State {
                scheduler: Scheduler::new(config),
                workers,
                jobs: HashMap::new(),
                commands: Vec::new(),
                clock_wakes: Some(Millis(0)),
                clock: None,
                stopped: false,
            }),
            earlier: Condvar::new(),
            started: Instant::now(),
            totals: AccumulatorTotals::default(),
            publisher,
            portable,
            journal,
        });
        // The link is this driver's alone, and empty until now.
        let _ = link.0.set(Arc::downgrade(&driver));
        let clock = start_clock(Arc::downgrade(&driver))?;
        driver.state.lock().clock = Some(clock);
        Ok(driver)
    }

    pub(crate) fn totals(&self) -> &AccumulatorTotals {
        &self.totals
    }

    /// Submits a job. Its end arrives on the returned channel.
    pub(crate) fn submit(&self, mut job: Job) -> Receiver<Result<(), JobError>> {
        let (done, end) = bounded(1);
        self.publisher.job_submitted(&job.spec, &job.name);
        self.take_over(&mut job);
        let Job { spec, name: _, group, programs, sink, prints } = job;
        if self.portable
            && let Err(error) = programs.values().try_for_each(|program| program.encode())
        {
            let error = JobError::Malformed { job: spec.job, message: error.to_string() };
            // The channel is empty, and its other end in hand.
            let _ = done.try_send(Err(error));
            return end;
        }
        let mut state = self.state.lock();
        let (graph, submitted) = (Arc::clone(&spec.graph), self.now());
        let journaled_bytes = 0;
        let job =
            Submitted { group, graph, submitted, programs, sink, prints, journaled_bytes, done };
        state.jobs.insert(spec.job, job);
        self.handle(state, Event::JobSubmitted(spec), None);
        end
    }

    /// Stops all jobs, or those of one group.
    pub(crate) fn cancel(&self, group: Option<&str>) {
        let state = self.state.lock();
        let chosen: Vec<JobId> = state
            .jobs
            .iter()
            .filter(|(_, job)| group.is_none() || job.group.as_deref() == group)
            .map(|(id, _)| *id)
            .collect();
        drop(state);
        for job in chosen {
            self.handle(self.state.lock(), Event::JobCancelled { job }, None);
        }
    }

    /// No later job reads this shuffle: its outputs go.
    pub(crate) fn release_shuffle(&self, shuffle: ShuffleId) {
        self.handle(self.state.lock(), Event::ShuffleReleased { shuffle }, None);
    }

    /// The stream, for what an action does after its job.
    pub(crate) fn events(&self) -> Arc<EventBus> {
        self.publisher.bus()
    }

    /// No later job reads the persisted copies of this node.
    pub(crate) fn drop_persisted(&self, node: NodeId) {
        self.state.lock().workers.drop_persisted(node);
    }

    /// Whether each partition of a node is persisted.
    pub(crate) fn is_persisted(&self, node: NodeId, partitions: u32) -> bool {
        self.state.lock().workers.is_persisted(node, partitions)
    }

    /// By partition, the hosts that hold persisted copies of a node; empty if there is no choice.
    pub(crate) fn persisted_at(&self, node: NodeId, partitions: u32) -> Vec<Vec<String>> {
        self.state.lock().workers.persisted_at(node, partitions)
    }

    /// What there is to do, and who is there to do it.
    pub(crate) fn demand(&self) -> Demand {
        let state = self.state.lock();
        let census = state.scheduler.census();
        Demand {
            waiting_tasks: census.pending,
            running_tasks: census.running as u64,
            executors: state.workers.executors(),
        }
    }

    /// Asks an executor to drain; false if it is not there or cannot.
    pub(crate) fn drain(&self, executor: ExecutorId) -> bool {
        self.state.lock().workers.drain(executor)
    }

    /// The figures of the application up to now.
    pub(crate) fn metrics(&self) -> Metrics {
        self.state.lock().workers.metrics()
    }

    pub(super) fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Gives one event to the scheduler and carries out what it answers.
    pub(super) fn handle(
        &self,
        mut state: MutexGuard<'_, State>,
        event: Event,
        finished: Option<(Finished, AccumulatorUpdates)>,
    ) {
        let mut commands = std::mem::take(&mut state.commands);
        let now = self.now();
        state.scheduler.handle(now, event, &mut commands);
        let mut finished = finished;
        let mut litter = Litter::default();
        self.carry_out(&mut state, &mut commands, &mut finished, &mut litter);
        if let Some(job) = litter.broken.take() {
            state.scheduler.handle(now, Event::JobCancelled { job }, &mut commands);
            self.carry_out(&mut state, &mut commands, &mut finished, &mut litter);
        }
        state.commands = commands;
        let deadline = state.scheduler.next_deadline();
        if deadline.is_some_and(|at| state.clock_wakes.is_none_or(|wakes| at < wakes)) {
            self.earlier.notify_one();
        }
        drop(state);
        litter.finished.extend(finished.map(|(finished, _)| finished));
        litter.clear();
    }

    pub(super) fn carry_out(
        &self,
        state: &mut State,
        commands: &mut Vec<Command>,
        finished: &mut Option<(Finished, AccumulatorUpdates)>,
        litter: &mut Litter,
    ) {
        for command in commands.drain(..) {
            self.publish(state, &command);
            match command {
                Command::Launch { executor, task, .. } => launch(state, executor, task),
                Command::Cancel { executor, task } => state.workers.cancel(executor, task),
                Command::GrantCommit { executor, task } => {
                    state.workers.answer_commit(executor, task, true);
                }
                Command::DenyCommit { executor, task } => {
                    state.workers.answer_commit(executor, task, false);
                }
                Command::Accept { task } => {
                    if let Some((result, updates)) = finished.take() {
                        self.note(state.jobs.get_mut(&task.job), task, &result, &updates);
                        if let Err(error) = self.merge(state, task, updates) {
                            litter.broken = Some(task.job);
                            self.end(state, task.job, Err(error), litter);
                        }
                        self.accept(state, task, result);
                    }
                }
                Command::Discard { executor, task } => {
                    let finished = finished.take().map(|(finished, _)| finished);
                    if let Some(Finished::Kept { .. }) = finished {
                        state.workers.drop_output(executor, OutputAt::of(task));
                    }
                    litter.finished.extend(finished);
                }
                Command::JobFinished { job } => self.end(state, job, Ok(()), litter),
                Command::JobFailed { job, error } => self.end(state, job, Err(error), litter),
                Command::DropOutput { executor, shuffle, map, attempt } => {
                    state.workers.drop_output(executor, OutputAt { shuffle, map, attempt });
                }
                Command::ReleaseOutputs { shuffle } => {
                    state.workers.drop_shuffle(shuffle);
                }
                Command::ExecutorRemoved { executor, incarnation, .. } => {
                    state.workers.removed(executor, incarnation);
                }
                Command::StageStarted { .. }
                | Command::StageFinished { .. }
                | Command::StageAborted { .. }
                | Command::TaskSpeculated { .. }
                | Command::StageSkipped { .. } => {}
            }
        }
    }

    fn publish(&self, state: &State, command: &Command) {
        let stage = |(job, stage)| {
            let job = state.jobs.get(&job);
            let stage = job.and_then(|job| job.graph.stage(stage));
            stage.map(|stage| (stage.name.clone(), stage.partitions)).unwrap_or_default()
        };
        let elapsed = |job| {
            let job: Option<&Submitted> = state.jobs.get(&job);
            job.map_or(0, |job| self.now().since(job.submitted))
        };
        self.publisher.command(command, stage, elapsed);
    }

    /// Adds what an accepted task has added to accumulators. Their merges are code of the user's, and a
    /// panic on this thread would leave the job without an end.
    fn merge(
        &self,
        state: &State,
        task: TaskId,
        updates: AccumulatorUpdates,
    ) -> Result<(), JobError> {
        catch_unwind(AssertUnwindSafe(|| self.totals.merge(updates))).map_err(|panic| {
            let TaskId { stage, partition, attempt, .. } = task;
            let job = state.jobs.get(&task.job).and_then(|job| job.graph.stage(stage));
            let name = job.map(|stage| stage.name.to_string()).unwrap_or_default();
            let message = format!("panic in an accumulator's `merge`: {}", message(panic.as_ref()));
            let cause = TaskFailure::User { message, record: None };
            JobError::Task { stage, name, partition, attempts: attempt + 1, cause }
        })
    }

    /// A finished task counts: its output becomes visible, its result goes to the job.
    fn accept(&self, state: &mut State, task: TaskId, finished: Finished) {
        match finished {
            Finished::Map(map) => state.workers.keep(task, map),
            Finished::Kept { .. } => {}
            Finished::Result(payload) => {
                if let Some(job) = state.jobs.get_mut(&task.job) {
                    (job.sink)(task.partition, payload);
                }
            }
        }
    }

    fn end(
        &self,
        state: &mut State,
        job: JobId,
        result: Result<(), JobError>,
        litter: &mut Litter,
    ) {
        if let Some(submitted) = state.jobs.remove(&job) {
            if let Some(journal) = &self.journal {
                journal.job_ended(result.is_err());
            }
            state.workers.job_over(job);
            litter.jobs.push((submitted, result));
        }
    }

    /// Stops the executors and the clock; what still runs is cancelled.
    pub(crate) fn stop(&self) {
        let keep = self.journal.as_ref().is_some_and(Journal::is_wanted);
        self.cancel(None);
        let (wait, clock) = {
            let mut state = self.state.lock();
            state.stopped = true;
            self.earlier.notify_one();
            (state.workers.stop(keep), state.clock.take())
        };
        wait();
        if let Some(journal) = self.journal.as_ref().filter(|_| !keep) {
            journal.remove();
        }
        if let Some(clock) = clock
            && clock.thread().id() != std::thread::current().id()
        {
            let _ = clock.join();
        }
        self.publisher.ended();
    }
}

fn launch(state: &mut State, executor: ExecutorId, task: TaskId) {
    let State { scheduler, workers, jobs, .. } = state;
    let Some(job) = jobs.get(&task.job) else { return };
    let (Some(program), Some(stage)) = (job.programs.get(&task.stage), job.graph.stage(task.stage))
    else {
        return;
    };
    workers.launch(Order { executor, task, program, inputs: &stage.inputs, scheduler });
}

/// The clock: tells the scheduler the time when it has asked to be told.
fn start_clock(driver: Weak<Driver>) -> Result<JoinHandle<()>, std::io::Error> {
    /// How long the clock sleeps at most, so that it notices the end of a driver that was dropped
    /// without being stopped.
    const SLEEP_MAX: Duration = Duration::from_secs(1);
    std::thread::Builder::new().name("clock".to_owned()).spawn(move || {
        while let Some(driver) = driver.upgrade() {
            let mut state = driver.state.lock();
            if state.stopped {
                return;
            }
            let deadline = state.scheduler.next_deadline();
            let now = driver.now();
            if deadline.is_some_and(|at| at <= now) {
                driver.handle(state, Event::Tick, None);
                continue;
            }
            state.clock_wakes = deadline;
            let sleep = deadline.map_or(SLEEP_MAX, |at| Duration::from_millis(at.since(now) + 1));
            driver.earlier.wait_for(&mut state, sleep.min(SLEEP_MAX));
        }
    })
}
