//! The driver of one application.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded};
use millstream_planner::ids::{JobId, NodeId, ShuffleId};
use millstream_planner::physical::PartSize;
use millstream_planner::stages::StageOutput;
use parking_lot::{Condvar, Mutex};

use super::clock::start_clock;
use super::counted::Counted;
use super::job::{Job, Submitted};
use super::journal::Journal;
use super::publish::Publisher;
use super::sizes::Sizes;
use super::workers::Workers;
use crate::Metrics;
use crate::context::Demand;
use crate::events::EventBus;
use crate::executor::StageProgram;
use crate::scheduler::{
    Command, Event, ExecutorId, JobError, Millis, Scheduler, SchedulerConfig, TaskId,
};
use crate::shared::AccumulatorTotals;

/// The driver of one application.
pub(crate) struct Driver {
    pub(super) state: Mutex<State>,
    /// Wakes the clock when a deadline comes earlier than it expects.
    pub(super) earlier: Condvar,
    started: Instant,
    pub(super) totals: AccumulatorTotals,
    pub(super) counted: Counted,
    pub(super) publisher: Publisher,
    /// Programs have to travel.
    portable: bool,
    pub(super) journal: Option<Journal>,
    taking_over: Mutex<()>,
    /// Shuffles that no later job reads, and whose outputs may be for a next run.
    unreleased: Mutex<Vec<ShuffleId>>,
}

/// How executors find their driver, which is made after them. It leads nowhere before the driver is
/// there and after it has gone.
#[derive(Clone, Default)]
pub(crate) struct DriverLink(Arc<OnceLock<Weak<Driver>>>);

impl DriverLink {
    pub(crate) fn driver(&self) -> Option<Arc<Driver>> {
        self.0.get().and_then(Weak::upgrade)
    }

    /// As [`Self::driver`], by whom may come while the driver is being started.
    pub(crate) async fn started_driver(&self) -> Option<Arc<Driver>> {
        const LOOK_AGAIN: Duration = Duration::from_millis(1);
        while self.0.get().is_none() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.driver()
    }
}

pub(super) struct State {
    pub(super) scheduler: Scheduler,
    pub(super) workers: Box<dyn Workers>,
    pub(super) jobs: HashMap<JobId, Submitted>,
    pub(super) commands: Vec<Command>,
    pub(super) sizes: Sizes,
    /// When the clock wakes next; `None` while it sleeps without a limit.
    pub(super) clock_wakes: Option<Millis>,
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
                sizes: Sizes::default(),
                clock_wakes: Some(Millis(0)),
                clock: None,
                stopped: false,
            }),
            earlier: Condvar::new(),
            started: Instant::now(),
            totals: AccumulatorTotals::default(),
            counted: Counted::default(),
            publisher,
            portable,
            journal,
            taking_over: Mutex::default(),
            unreleased: Mutex::default(),
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
        // What one job has found is the scheduler's before the next one looks.
        let _one_at_a_time = self.journal.as_ref().map(|_| self.taking_over.lock());
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

    /// No later job reads this shuffle: its outputs go. Those of a program that seems to end with a failure are
    /// left to its next run; where it goes on instead, they go with the next shuffle that does.
    pub(crate) fn release_shuffle(&self, shuffle: ShuffleId) {
        let mut unreleased = self.unreleased.lock();
        unreleased.push(shuffle);
        if self.journal.as_ref().is_some_and(Journal::seems_to_fail) {
            return;
        }
        let shuffles = std::mem::take(&mut *unreleased);
        drop(unreleased);
        shuffles.into_iter().for_each(|shuffle| self.release(shuffle));
    }

    fn release(&self, shuffle: ShuffleId) {
        let state = self.state.lock();
        if state.scheduler.outputs(shuffle).len() == 0 {
            // No job has had to name it.
            self.counted.forget(shuffle.stage());
        }
        self.handle(state, Event::ShuffleReleased { shuffle }, None);
    }

    /// How much each map task of a shuffle has written into each partition, in map order; `None` if that is not known
    /// of all.
    pub(crate) fn sizes(&self, shuffle: ShuffleId, maps: u32) -> Option<Vec<Arc<[PartSize]>>> {
        self.state.lock().sizes.of(shuffle, maps)
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
