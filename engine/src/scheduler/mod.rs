//! The scheduler: a pure state machine from events to commands.
//!
//! ```text
//!   Event ──> handle(now, event) ──> Commands
//!               │
//!               ├─ jobs        submit, cancel, finish, fail
//!               ├─ resume      what an earlier run of the application has left
//!               ├─ lifecycle   which stages must run: activate, block, ready, complete
//!               ├─ attempts    a task finished or failed
//!               ├─ outputs     which map outputs exist, and what follows from losing one
//!               ├─ commit      one attempt a partition may publish
//!               ├─ executors   the one path in and the one path out
//!               ├─ speculation second copies of slow tasks
//!               └─ placement   free slots to waiting tasks, by policy
//! ```
//!
//! It has no clock, no I/O, no threads and no randomness: the same events give the same commands, which
//! is what lets the simulation drive it through any number of fault schedules. The driver around it
//! feeds it events, carries out its commands, and calls [`Scheduler::handle`] with [`Event::Tick`] when
//! [`Scheduler::next_deadline`] has come.
//!
//! What holds at the end of each call:
//!
//! - A stage is active if and only if it is not complete and a job waits for it, directly or through
//!   active stages that need it.
//! - No executor has more requested of it than it offered.
//! - No waiting task fits a free slot, unless it is held back for a bounded time: for a preferred host,
//!   to stay away from where it failed, or for a gang or large request that starves.
//!
//! A stage that writes a shuffle belongs to the application: jobs that name it share its tasks and its
//! outputs until [`Event::ShuffleReleased`]. A stage with another output belongs to its job.

mod attempts;
mod bitset;
mod commit;
mod config;
mod executors;
mod failures;
mod jobs;
mod lease;
mod lifecycle;
mod messages;
mod outputs;
mod placement;
mod planted;
mod policy;
mod resume;
mod search;
mod speculation;
mod state;
#[cfg(test)]
mod tests;
mod timers;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use ahash::HashMap;
use millstream_planner::ids::{JobId, StageId};
use slab::Slab;

pub use config::{SchedulerConfig, SpeculationConfig};
pub use failures::{Disposition, FreeCause, JobError, LossReason, LostOutput, TaskFailure};
pub use lease::Lease;
pub use messages::{Command, Event, JobSpec};
#[cfg(any(test, feature = "planted-bugs"))]
pub use planted::PlantedBug;
pub use policy::{JobTraits, Policy, PolicyKind, PoolShare, Rank};
pub use resume::Existing;
pub use search::Search;
pub use types::{
    Capacity, ExecutorId, Incarnation, Millis, OutputLocation, StageAttempt, TaskId, TaskOutput,
};

use state::{ExecutorKey, ExecutorState, JobState, Pool, Run, StageKey, StageState};
use timers::{Timer, Timers};

/// The state machine. See the module's documentation.
#[derive(Debug)]
pub struct Scheduler {
    config: SchedulerConfig,
    policy: Box<dyn Policy>,
    now: Millis,
    /// Filled during a call.
    commands: Vec<Command>,

    jobs: HashMap<JobId, JobState>,
    jobs_submitted: u64,
    stages: Slab<StageState>,
    stages_made: u64,
    /// The stages that write shuffles.
    shared_stages: HashMap<StageId, StageKey>,
    pools: Vec<Pool>,
    runs: Slab<Run>,

    executors: Slab<ExecutorState>,
    executors_by_id: BTreeMap<ExecutorId, ExecutorKey>,
    /// The highest incarnation seen of executors that are lost.
    incarnations: HashMap<ExecutorId, Incarnation>,
    /// How many executors that take tasks each host has.
    hosts: HashMap<Arc<str>, u32>,
    /// How many executors take tasks.
    schedulable: u32,

    timers: Timers,
    /// Whether free slots anywhere may have found a use.
    offer_all: bool,
    /// The executors on which resources were freed.
    freed: Vec<ExecutorKey>,
    /// How often a stage was asked whether it has a use for a slot.
    #[cfg(test)]
    asked: u64,
}

/// Figures for tests and for the driver's metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// Jobs that are not over.
    pub jobs: usize,
    /// Stages known.
    pub stages: usize,
    /// Attempts running.
    pub running: usize,
    /// Commit grants held.
    pub grants: usize,
    /// Tasks that wait.
    pub pending: u64,
    /// Executors that are lost and whose outputs have stayed behind.
    pub departed: usize,
}

impl Scheduler {
    /// A scheduler without executors or jobs.
    #[must_use]
    pub fn new(config: SchedulerConfig) -> Self {
        Self {
            policy: config.policy.build(),
            config,
            now: Millis::default(),
            commands: Vec::new(),
            jobs: HashMap::default(),
            jobs_submitted: 0,
            stages: Slab::new(),
            stages_made: 0,
            shared_stages: HashMap::default(),
            pools: Vec::new(),
            runs: Slab::new(),
            executors: Slab::new(),
            executors_by_id: BTreeMap::new(),
            incarnations: HashMap::default(),
            hosts: HashMap::default(),
            schedulable: 0,
            timers: Timers::default(),
            offer_all: false,
            freed: Vec::new(),
            #[cfg(test)]
            asked: 0,
        }
    }

    /// Takes in what happened and appends what is to be done, in order, to `commands`. Time never runs
    /// backwards: an earlier `now` than before counts as the latest one.
    pub fn handle(&mut self, now: Millis, event: Event, commands: &mut Vec<Command>) {
        std::mem::swap(&mut self.commands, commands);
        self.now = self.now.max(now);
        self.dispatch(event);
        while let Some(timer) = self.timers.pop_due(self.now) {
            self.on_timer(timer);
        }
        self.place();
        std::mem::swap(&mut self.commands, commands);
    }

    /// When to call [`Self::handle`] with [`Event::Tick`] if nothing else happens before.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Millis> {
        self.timers.next()
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::ExecutorJoined { executor, incarnation, host, capacity } => {
                self.on_executor_joined(executor, incarnation, host, capacity);
            }
            Event::OutputsServed { executor, incarnation } => {
                self.on_outputs_served(executor, incarnation);
            }
            Event::ExecutorLost { executor, incarnation, reason } => {
                self.on_executor_lost(executor, incarnation, reason);
            }
            Event::Heartbeat { executor, incarnation } => self.on_heartbeat(executor, incarnation),
            Event::ExecutorDraining { executor, incarnation } => {
                self.on_executor_draining(executor, incarnation);
            }
            Event::JobSubmitted(spec) => self.on_job_submitted(&spec),
            Event::JobCancelled { job } => self.on_job_cancelled(job),
            Event::TaskFinished { task, executor, incarnation, output } => {
                self.on_task_finished(&task, executor, incarnation, output);
            }
            Event::TaskFailed { task, executor, incarnation, failure } => {
                self.on_task_failed(&task, executor, incarnation, failure);
            }
            Event::CommitRequested { task, executor, incarnation } => {
                self.on_commit_requested(&task, executor, incarnation);
            }
            Event::OutputLost { shuffle, map, executor, attempt } => {
                self.on_output_lost(shuffle, map, executor, attempt);
            }
            Event::ShuffleReleased { shuffle } => self.on_shuffle_released(shuffle),
            Event::Tick => {}
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        match timer {
            Timer::Offer => self.offer_all = true,
            Timer::Grace(stage, serial) => self.on_grace_over(stage, serial),
            Timer::Speculate(stage, serial) => self.on_speculation_due(stage, serial),
            Timer::Heartbeat(executor, incarnation) => {
                self.on_heartbeat_due(executor, incarnation);
            }
        }
    }

    /// What is on the books now. Walks all stages: not for every event.
    #[must_use]
    pub fn census(&self) -> Census {
        let grants = |stage: &StageState| {
            let rows = stage.tasks.granted.iter().zip(&stage.tasks.winner);
            rows.filter(|(granted, winner)| **granted != state::NONE && granted != winner).count()
        };
        Census {
            jobs: self.jobs.len(),
            stages: self.stages.len(),
            running: self.runs.len(),
            grants: self.stages.iter().map(|(_, stage)| grants(stage)).sum(),
            pending: self.stages.iter().map(|(_, stage)| u64::from(stage.pending())).sum(),
            departed: self.executors.iter().filter(|(_, executor)| executor.departed).count(),
        }
    }

    /// What an executor has left to offer; `None` if it is not known.
    #[must_use]
    pub fn free_capacity(&self, executor: ExecutorId) -> Option<Capacity> {
        self.executors_by_id.get(&executor).map(|&key| self.executors[key].free)
    }

    #[cfg(any(test, feature = "planted-bugs"))]
    fn planted(&self, bug: PlantedBug) -> bool {
        self.config.planted == Some(bug)
    }

    /// Outside of tests there are no planted bugs, and the compiler knows.
    #[cfg(not(any(test, feature = "planted-bugs")))]
    const fn planted(&self, _bug: planted::PlantedBug) -> bool {
        false
    }
}
