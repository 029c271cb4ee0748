//! The driver of one application.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded};
use millstream_planner::ids::{JobId, ShuffleId};
use millstream_planner::stages::StageOutput;
use millstream_shuffle::store::{DirId, DirSnapshot, DirState, MapKey};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::job::{Job, Submitted};
use super::publish::Publisher;
use crate::executor::{Launch, MapResult, Outcome, Report, Runtime, Slots, message};
use crate::rdd::Payload;
use crate::scheduler::{
    Capacity, Command, Event, ExecutorId, Incarnation, JobError, Millis, Scheduler,
    SchedulerConfig, TaskFailure, TaskId, TaskOutput,
};
use crate::shared::{AccumulatorTotals, AccumulatorUpdates};

/// The one executor of local mode.
pub(crate) const LOCAL: ExecutorId = ExecutorId(0);
const FIRST_LIFE: Incarnation = Incarnation(1);

/// The driver of one application.
pub(crate) struct Driver {
    state: Mutex<State>,
    /// Wakes the clock when a deadline comes earlier than it expects.
    earlier: Condvar,
    started: Instant,
    runtime: Arc<Runtime>,
    totals: AccumulatorTotals,
    publisher: Publisher,
}

struct State {
    scheduler: Scheduler,
    slots: Option<Slots>,
    jobs: HashMap<JobId, Submitted>,
    running: HashMap<TaskId, Arc<AtomicBool>>,
    commands: Vec<Command>,
    /// When the clock wakes next; `None` while it sleeps without a limit.
    clock_wakes: Option<Millis>,
    clock: Option<JoinHandle<()>>,
    stopped: bool,
}

impl State {
    /// Whether the task's stage publishes files, which an action does before it returns.
    fn commits(&self, task: TaskId) -> bool {
        let stage = self.jobs.get(&task.job).and_then(|job| job.graph.stage(task.stage));
        stage.is_some_and(|stage| stage.output == StageOutput::Commit)
    }
}

/// What a finished task hands over, held while the scheduler decides whether it counts.
enum Finished {
    Map(MapResult),
    Result(Payload),
}

/// What an event leaves to be dropped, outside the lock: it may own lineage, whose end calls back
/// into the driver.
#[derive(Default)]
struct Litter {
    jobs: Vec<(Submitted, Result<(), JobError>)>,
    finished: Vec<Finished>,
    /// A job that has ended here and which the scheduler has yet to give up.
    broken: Option<JobId>,
}

impl Litter {
    /// Drops everything, and tells the callers of ended jobs only then: a caller that goes on to end
    /// the application must find nothing left of its job on this thread.
    fn clear(self) {
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
    /// Starts the driver with one local executor of `slots` slots.
    pub(crate) fn start_local(
        config: SchedulerConfig,
        slots: u32,
        publisher: Publisher,
        runtime: impl FnOnce(&Weak<Self>) -> Arc<Runtime>,
    ) -> Result<Arc<Self>, std::io::Error> {
        let driver = Arc::new_cyclic(|driver| Self {
            state: Mutex::new(State {
                scheduler: Scheduler::new(config),
                slots: None,
                jobs: HashMap::new(),
                running: HashMap::new(),
                commands: Vec::new(),
                clock_wakes: Some(Millis(0)),
                clock: None,
                stopped: false,
            }),
            earlier: Condvar::new(),
            started: Instant::now(),
            runtime: runtime(driver),
            totals: AccumulatorTotals::default(),
            publisher,
        });
        let reporter = Arc::downgrade(&driver);
        let report = Arc::new(move |task, report| {
            if let Some(driver) = reporter.upgrade() {
                driver.report(task, report);
            }
        });
        let loser = Arc::downgrade(&driver);
        driver.runtime.dirs.on_failure(move |dir| {
            if let Some(driver) = loser.upgrade() {
                driver.lose_dir(dir);
            }
        });
        let pool = Slots::start(slots, &driver.runtime, report)?;
        let clock = start_clock(Arc::downgrade(&driver))?;
        let mut state = driver.state.lock();
        state.slots = Some(pool);
        state.clock = Some(clock);
        let capacity = Capacity { cpus: slots, memory_bytes: u64::MAX, disk_bytes: u64::MAX };
        let joined = Event::ExecutorJoined {
            executor: LOCAL,
            incarnation: FIRST_LIFE,
            host: Arc::from("localhost"),
            capacity,
        };
        driver.handle(state, joined, None);
        Ok(driver)
    }

    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    pub(crate) fn totals(&self) -> &AccumulatorTotals {
        &self.totals
    }

    /// Submits a job. Its end arrives on the returned channel.
    pub(crate) fn submit(&self, job: Job) -> Receiver<Result<(), JobError>> {
        let (done, end) = bounded(1);
        let Job { spec, name, group, programs, sink } = job;
        self.publisher.job_submitted(&spec, &name);
        let mut state = self.state.lock();
        let (graph, submitted) = (Arc::clone(&spec.graph), self.now());
        let job = Submitted { group, graph, submitted, programs, sink, done };
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

    /// A local directory broke. The outputs in it are given up together: found out one failed read
    /// at a time, they would use up the attempts of the stage that reads them.
    fn lose_dir(&self, dir: DirId) {
        let dirs = self.runtime.dirs.snapshot().dirs;
        if let Some(DirSnapshot { path, state: DirState::Failed { reason }, .. }) =
            dirs.into_iter().find(|known| known.id == dir)
        {
            self.publisher.dir_failed(LOCAL.0, &path, reason);
        }
        for (key, attempt) in self.runtime.store.lose_dir(dir) {
            let (shuffle, map) = (ShuffleId(key.shuffle), key.map);
            let event =
                Event::OutputLost { shuffle, map, executor: LOCAL, attempt: attempt as u32 };
            self.handle(self.state.lock(), event, None);
        }
    }

    /// A task asks whether it may publish its files.
    pub(crate) fn may_commit(&self, task: TaskId) -> bool {
        let mut state = self.state.lock();
        let event = Event::CommitRequested { task, executor: LOCAL, incarnation: FIRST_LIFE };
        let now = self.now();
        let mut commands = Vec::new();
        state.scheduler.handle(now, event, &mut commands);
        let granted = commands.iter().any(
            |command| matches!(command, Command::GrantCommit { task: granted, .. } if *granted == task),
        );
        let mut litter = Litter::default();
        self.carry_out(&mut state, &mut commands, &mut None, &mut litter);
        drop(state);
        litter.clear();
        granted
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// What a slot calls when a task has come to its end.
    fn report(&self, task: TaskId, report: Report) {
        let Report { outcome, updates, metrics } = report;
        self.publisher.task_ended(task, LOCAL.0, &outcome, &metrics);
        let (executor, incarnation) = (LOCAL, FIRST_LIFE);
        let mut state = self.state.lock();
        let (event, finished) = match outcome {
            Outcome::Map(map) => {
                let output = TaskOutput::Map { bytes: map.bytes, rows: map.rows };
                let event = Event::TaskFinished { task, executor, incarnation, output };
                (event, Some((Finished::Map(map), updates)))
            }
            Outcome::Result(payload) => {
                let output = match state.commits(task) {
                    true => TaskOutput::Committed,
                    false => TaskOutput::Result,
                };
                let event = Event::TaskFinished { task, executor, incarnation, output };
                (event, Some((Finished::Result(payload), updates)))
            }
            Outcome::Failed(failure) => {
                if let TaskFailure::FetchFailed { shuffle, map, attempt, .. } = &failure {
                    // The store keeps the first output of a map: what cannot be read makes room.
                    let key = MapKey { shuffle: shuffle.0, map: *map };
                    self.runtime.store.remove(key, u64::from(*attempt));
                }
                (Event::TaskFailed { task, executor, incarnation, failure }, None)
            }
        };
        state.running.remove(&task);
        self.handle(state, event, finished);
    }

    /// Gives one event to the scheduler and carries out what it answers.
    fn handle(
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

    fn carry_out(
        &self,
        state: &mut State,
        commands: &mut Vec<Command>,
        finished: &mut Option<(Finished, AccumulatorUpdates)>,
        litter: &mut Litter,
    ) {
        for command in commands.drain(..) {
            self.publish(state, &command);
            match command {
                Command::Launch { task, .. } => launch(state, task),
                Command::Cancel { task, .. } | Command::DenyCommit { task, .. } => {
                    if let Some(cancelled) = state.running.remove(&task) {
                        cancelled.store(true, Ordering::Relaxed);
                    }
                }
                Command::Accept { task } => {
                    if let Some((result, updates)) = finished.take() {
                        if let Err(error) = self.merge(state, task, updates) {
                            litter.broken = Some(task.job);
                            end(state, task.job, Err(error), litter);
                        }
                        self.accept(state, task, result);
                    }
                }
                Command::Discard { .. } => {
                    litter.finished.extend(finished.take().map(|(finished, _)| finished));
                }
                Command::JobFinished { job } => end(state, job, Ok(()), litter),
                Command::JobFailed { job, error } => end(state, job, Err(error), litter),
                Command::ReleaseOutputs { shuffle } => {
                    self.runtime.store.remove_shuffle(shuffle.0);
                }
                Command::GrantCommit { .. }
                | Command::StageStarted { .. }
                | Command::StageFinished { .. }
                | Command::StageSkipped { .. }
                | Command::ExecutorRemoved { .. } => {}
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
            Finished::Map(map) => {
                let key = MapKey { shuffle: task.stage.0, map: task.partition };
                let attempt = u64::from(task.attempt);
                self.runtime.store.commit(key, attempt, map.output);
            }
            Finished::Result(payload) => {
                if let Some(job) = state.jobs.get_mut(&task.job) {
                    (job.sink)(task.partition, payload);
                }
            }
        }
    }

    /// Stops the slots and the clock; what still runs is cancelled.
    pub(crate) fn stop(&self) {
        self.cancel(None);
        let (slots, clock) = {
            let mut state = self.state.lock();
            state.stopped = true;
            self.earlier.notify_one();
            (state.slots.take(), state.clock.take())
        };
        drop(slots);
        if let Some(clock) = clock
            && clock.thread().id() != std::thread::current().id()
        {
            let _ = clock.join();
        }
        self.publisher.ended();
    }
}

fn launch(state: &mut State, task: TaskId) {
    let program = state.jobs.get(&task.job).and_then(|job| job.programs.get(&task.stage));
    let (Some(program), Some(slots)) = (program.map(Arc::clone), &state.slots) else { return };
    let cancelled = Arc::new(AtomicBool::new(false));
    state.running.insert(task, Arc::clone(&cancelled));
    slots.launch(Launch { task, program, cancelled });
}

fn end(state: &mut State, job: JobId, result: Result<(), JobError>, litter: &mut Litter) {
    if let Some(submitted) = state.jobs.remove(&job) {
        litter.jobs.push((submitted, result));
    }
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
