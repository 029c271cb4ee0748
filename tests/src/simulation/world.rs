//! The simulated world: the agenda of what will happen, and the loop that lets it happen.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use millstream::scheduler::{
    Capacity, Event, ExecutorId, Incarnation, JobError, Millis, PlantedBug, PolicyKind, Scheduler,
    SchedulerConfig, SpeculationConfig, TaskId,
};
use millstream_planner::ids::{JobId, ShuffleId, StageId};
use millstream_planner::stages::Stage;

use super::books::Books;
use super::executor::{Locations, SimExecutor};
use super::faults::Fault;
use super::graphs::{self, PlannedJob};
use super::prng::{Prng, mix};
use super::reruns::Record;
use super::rows::{self, Row};

/// No job may take longer than this, in simulated milliseconds.
const TIME_LIMIT_MS: u64 = 300_000;
pub(super) const HEARTBEAT_MS: u64 = 500;
const TIMEOUT_MS: u64 = 2_500;
/// Two thirds of what the driver waits.
pub(super) const LEASE_MS: u64 = TIMEOUT_MS * 2 / 3;

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The seed of the schedule.
    pub seed: u64,
    /// The simulated time in milliseconds.
    pub at_ms: u64,
    /// What was violated.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, at_ms, message } = self;
        write!(f, "seed {seed}, at {at_ms} ms: {message}; replay with MILLSTREAM_SIM_SEED={seed}")
    }
}

/// What happened in a schedule, to show that faults fire; and a fingerprint of all commands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Counts by name.
    pub counts: BTreeMap<&'static str, u64>,
    /// The same for each run of a seed.
    pub fingerprint: u64,
}

impl Figures {
    pub(super) fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }
}

/// What is sent to an executor.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Launch(TaskId, Locations),
    Cancel(TaskId),
    Grant(TaskId),
    Drop(ShuffleId, u32, u32),
    Release(ShuffleId),
    Fence,
    /// The driver lives.
    Alive,
}

/// What is sent to the driver: an event, and the rows that travel with a result.
pub(super) type Report = (Event, Option<Rc<Vec<Row>>>);

/// Something that will happen.
#[derive(Debug)]
pub(super) enum Action {
    Submit(usize),
    CancelJob(JobId),
    Deliver(Order, ExecutorId, Incarnation),
    Report(Report),
    Work(TaskId, ExecutorId, Incarnation),
    AskCommit(TaskId, ExecutorId, Incarnation),
    Heartbeat(ExecutorId, Incarnation),
    Strike(Fault),
    Restart(ExecutorId),
    Tick,
}

#[derive(Debug)]
struct Entry {
    at: u64,
    order: u64,
    action: Action,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// A job in the world.
#[derive(Debug)]
pub(super) struct SimJob {
    pub(super) plan: PlannedJob,
    pub(super) reference: Vec<Vec<Vec<Row>>>,
    pub(super) results: BTreeMap<u32, Rc<Vec<Row>>>,
    pub(super) outcome: Option<Result<(), JobError>>,
}

/// The world.
#[derive(Debug)]
pub struct World {
    pub(super) seed: u64,
    pub(super) rng: Prng,
    pub(super) now: u64,
    agenda: BinaryHeap<Reverse<Entry>>,
    entries: u64,
    ticking_at: Option<u64>,
    pub(super) config: SchedulerConfig,
    pub(super) scheduler: Scheduler,
    pub(super) books: Books,
    pub(super) executors: BTreeMap<ExecutorId, SimExecutor>,
    pub(super) jobs: BTreeMap<JobId, SimJob>,
    pub(super) planned: Vec<PlannedJob>,
    pub(super) shuffles: BTreeSet<ShuffleId>,
    pub(super) released: BTreeSet<ShuffleId>,
    /// Results and commits that the driver holds until they are accepted.
    pub(super) payloads: BTreeMap<TaskId, Rc<Vec<Row>>>,
    /// What attempts published.
    pub(super) published: BTreeMap<TaskId, Rc<Vec<Row>>>,
    pub(super) shaky: bool,
    /// Whether shuffle services have the outputs of executors too.
    pub(super) serves: bool,
    /// What they have: by the life of an executor, the shuffle, the map and the attempt.
    pub(super) service: BTreeMap<((ExecutorId, Incarnation), ShuffleId, u32, u32), Rc<Vec<Row>>>,
    /// Whether executors stop by themselves when they do not hear from the driver.
    pub(super) leased: bool,
    /// What the driver writes down, if it keeps a journal.
    pub(super) record: Option<Record>,
    /// How often the driver has died.
    pub(super) run: u32,
    /// All jobs are over: nothing new happens, and what is under way arrives.
    pub(super) quiet: bool,
    pub(super) figures: Figures,
    /// Whether events and commands are printed.
    pub(super) traced: bool,
}

impl World {
    /// The world of a seed.
    #[must_use]
    pub fn new(seed: u64, planted: Option<PlantedBug>) -> Self {
        let mut rng = Prng::new(seed);
        let mut config = random_config(&mut rng);
        config.planted = planted;
        let setting = graphs::Setting { hosts: rng.range(1, 4), swift: config.ahead_max > 0 };
        let planned = graphs::jobs(&mut rng, setting);
        let mut world = Self {
            seed,
            now: 0,
            agenda: BinaryHeap::new(),
            entries: 0,
            ticking_at: None,
            scheduler: Scheduler::new(config.clone()),
            config,
            books: Books::default(),
            executors: BTreeMap::new(),
            jobs: BTreeMap::new(),
            shuffles: BTreeSet::new(),
            released: BTreeSet::new(),
            payloads: BTreeMap::new(),
            published: BTreeMap::new(),
            shaky: rng.percent(50),
            serves: mix(seed ^ 0x5e4e).is_multiple_of(3),
            service: BTreeMap::new(),
            leased: mix(seed ^ 0x1ea5e).is_multiple_of(3),
            record: None,
            run: 0,
            quiet: false,
            figures: Figures::default(),
            traced: false,
            planned,
            rng,
        };
        world.populate();
        if mix(seed ^ 0x10a7).is_multiple_of(4) {
            world.keep_journal();
        }
        world
    }

    fn populate(&mut self) {
        for index in 0..self.planned.len() {
            self.schedule(self.planned[index].submit_at, Action::Submit(index));
            if let Some(at) = self.planned[index].cancel_at {
                self.schedule(at, Action::CancelJob(self.planned[index].spec.job));
            }
        }
        for number in 0..self.rng.range(1, 5) {
            let cpus = u32::try_from(self.rng.range(1, 5)).unwrap_or(1);
            let capacity = Capacity {
                cpus,
                memory_bytes: self.rng.range(40, 100),
                disk_bytes: self.rng.range(30, 100),
            };
            let id = ExecutorId(number);
            self.executors.insert(id, SimExecutor::new(number, capacity, self.config.planted));
            self.announce(id);
        }
        self.plan_faults();
    }

    /// Puts something on the agenda.
    pub(super) fn schedule(&mut self, at: u64, action: Action) {
        self.entries += 1;
        self.agenda.push(Reverse(Entry { at, order: self.entries, action }));
    }

    /// Of what will happen, only what befalls machines does.
    pub(super) fn forget_agenda(&mut self) {
        self.agenda.retain(|Reverse(entry)| {
            matches!(entry.action, Action::Strike(_) | Action::Restart(_))
        });
        self.ticking_at = None;
    }

    /// The same world, which prints all events and commands.
    #[must_use]
    pub fn traced(self) -> Self {
        Self { traced: true, ..self }
    }

    /// Lets the world run until all jobs are over and all messages have arrived.
    ///
    /// # Errors
    /// The first violation of an invariant.
    pub fn run(mut self) -> Result<Figures, Violation> {
        match self.live() {
            Ok(()) => Ok(self.figures),
            Err(message) => Err(Violation { seed: self.seed, at_ms: self.now, message }),
        }
    }

    fn live(&mut self) -> Result<(), String> {
        while let Some(Reverse(Entry { at, action, .. })) = self.agenda.pop() {
            self.now = at;
            if !self.quiet && self.now > TIME_LIMIT_MS {
                let open = self.jobs.iter().find(|(_, job)| job.outcome.is_none());
                return Err(format!("{:?} did not end", open.map(|(id, _)| id)));
            }
            self.happen(action)?;
            self.check_end()?;
            self.set_alarm();
        }
        self.final_checks()
    }

    fn happen(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Submit(index) => self.submit(index),
            Action::CancelJob(job) => self.feed((Event::JobCancelled { job }, None)),
            Action::Deliver(order, executor, incarnation) => {
                self.deliver(order, executor, incarnation);
                Ok(())
            }
            Action::Report(report) => self.feed(report),
            Action::Work(task, executor, incarnation) => {
                self.work_done(task, executor, incarnation);
                Ok(())
            }
            Action::AskCommit(task, executor, incarnation) => {
                self.ask_commit(task, executor, incarnation);
                Ok(())
            }
            Action::Heartbeat(executor, incarnation) => {
                self.check_lease(executor, incarnation)?;
                self.heartbeat(executor, incarnation);
                Ok(())
            }
            Action::Strike(fault) => {
                self.strike(fault);
                Ok(())
            }
            Action::Restart(executor) => {
                self.restart(executor);
                Ok(())
            }
            Action::Tick => {
                self.ticking_at = None;
                if self.quiet { Ok(()) } else { self.feed((Event::Tick, None)) }
            }
        }
    }

    /// Enters quiet once all jobs are over.
    fn check_end(&mut self) -> Result<(), String> {
        let over = self.jobs.len() == self.planned.len()
            && self.jobs.values().all(|job| job.outcome.is_some());
        if self.quiet || !over {
            return Ok(());
        }
        self.quiet = true;
        for shuffle in std::mem::take(&mut self.shuffles) {
            if self.released.insert(shuffle) {
                self.feed((Event::ShuffleReleased { shuffle }, None))?;
            }
        }
        Ok(())
    }

    fn set_alarm(&mut self) {
        let Some(Millis(at)) = self.scheduler.next_deadline() else { return };
        if !self.quiet && self.ticking_at.is_none_or(|armed| at < armed) {
            self.ticking_at = Some(at);
            self.schedule(at.max(self.now), Action::Tick);
        }
    }

    /// A stage as the graph of a task's job has it.
    pub(super) fn stage(&self, job: JobId, stage: StageId) -> Option<&Stage> {
        self.jobs.get(&job)?.plan.spec.graph.stage(stage)
    }

    fn submit(&mut self, index: usize) -> Result<(), String> {
        let plan = self.planned[index].clone();
        let mut spec = plan.spec.clone();
        for stage in &spec.graph.stages {
            if matches!(stage.output, millstream_planner::stages::StageOutput::Shuffle { .. }) {
                self.shuffles.insert(ShuffleId(stage.id.0));
            }
        }
        let reference = rows::reference(&spec.graph);
        let results = self.take_over(&mut spec)?;
        let existing = spec.existing.clone();
        let job = SimJob { plan, reference, results, outcome: None };
        self.jobs.insert(spec.job, job);
        self.feed((Event::JobSubmitted(spec), None))?;
        self.check_taken_over(&existing)?;
        // A program may drop its handles as soon as its last job is submitted.
        if self.jobs.len() == self.planned.len() && self.rng.one_in(4) {
            let shuffle = self.shuffles.iter().next().copied();
            if let Some(shuffle) = shuffle.filter(|&shuffle| self.released.insert(shuffle)) {
                self.figures.count("released in use");
                self.feed((Event::ShuffleReleased { shuffle }, None))?;
            }
        }
        Ok(())
    }

    /// Whether tasks and messages take so short that tasks are sent ahead.
    pub(super) fn is_swift(&self) -> bool {
        self.config.ahead_max > 0
    }

    /// The host an executor is on.
    pub(super) fn host(id: ExecutorId) -> Arc<str> {
        Arc::from(format!("host{}", id.0 % 3))
    }
}

fn random_config(rng: &mut Prng) -> SchedulerConfig {
    let policy = match rng.range(0, 3) {
        0 => PolicyKind::Fifo,
        1 => PolicyKind::Priority,
        _ => PolicyKind::Fair { weights: vec![("etl".into(), 3)] },
    };
    let small = |rng: &mut Prng, from, to| u32::try_from(rng.range(from, to)).unwrap_or(1);
    SchedulerConfig {
        policy,
        task_attempts_max: small(rng, 2, 6),
        task_losses_max: 16,
        stage_attempts_max: small(rng, 2, 12),
        executor_grace_ms: 8_000,
        heartbeat_timeout_ms: Some(TIMEOUT_MS),
        locality_wait_ms: rng.range(0, 300),
        gang_wait_ms: rng.range(50, 800),
        ahead_max: if rng.one_in(5) { small(rng, 1, 4) } else { 0 },
        speculation: SpeculationConfig {
            enabled: rng.percent(80),
            quantile: 0.5,
            multiplier: 2.0,
            run_ms_min: rng.range(20, 200),
            samples_min: 2,
            same_executor: rng.percent(20),
        },
        planted: None,
    }
}
