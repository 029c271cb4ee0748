//! What goes into the scheduler and what comes out of it.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use millstream_planner::ids::{JobId, ShuffleId, StageId};
use millstream_planner::stages::StageGraph;

use super::failures::{JobError, LossReason, TaskFailure};
use super::resume::Existing;
use super::types::{Capacity, ExecutorId, Incarnation, StageAttempt, TaskId, TaskOutput};

/// A job to run.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// Its identity.
    pub job: JobId,
    /// Its stages.
    pub graph: Arc<StageGraph>,
    /// The partitions of the result stage to compute.
    pub targets: Range<u32>,
    /// The pool it shares under the fair policy.
    pub pool: Arc<str>,
    /// Its rank under the priority policy; higher goes first.
    pub priority: i32,
    /// Attempts at a partition, in place of [`super::SchedulerConfig::task_attempts_max`].
    pub task_attempts_max: Option<u32>,
    /// The shuffles that no other job can come to read, but by way of a shuffle of this one. Naming
    /// one too many costs that it may be computed twice.
    pub passing: Arc<HashSet<ShuffleId>>,
    /// Partitions that need not be computed.
    pub existing: Vec<Existing>,
}

impl JobSpec {
    /// All partitions of the graph's result, in the default pool.
    #[must_use]
    pub fn new(job: JobId, graph: Arc<StageGraph>) -> Self {
        let targets = 0..graph.result().map_or(0, |stage| stage.partitions);
        Self {
            job,
            graph,
            targets,
            pool: Arc::from("default"),
            priority: 0,
            task_attempts_max: None,
            passing: Arc::default(),
            existing: Vec::new(),
        }
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// An executor registered. A higher incarnation of a known executor replaces it; a lower or
    /// equal one is stale.
    ExecutorJoined {
        /// Its name.
        executor: ExecutorId,
        /// Its life.
        incarnation: Incarnation,
        /// The host it runs on, as locality hints spell it.
        host: Arc<str>,
        /// What it offers.
        capacity: Capacity,
    },
    /// The outputs of an executor are served by somebody else too, and stay when it goes.
    OutputsServed {
        /// Its name.
        executor: ExecutorId,
        /// Its life.
        incarnation: Incarnation,
    },
    /// An executor is gone, with its outputs, unless they are served by somebody else.
    ExecutorLost {
        /// Its name.
        executor: ExecutorId,
        /// Its life.
        incarnation: Incarnation,
        /// How.
        reason: LossReason,
    },
    /// An executor is alive.
    Heartbeat {
        /// Its name.
        executor: ExecutorId,
        /// Its life.
        incarnation: Incarnation,
    },
    /// An executor takes no more tasks; its running ones go on, and its outputs stay readable until
    /// it is lost.
    ExecutorDraining {
        /// Its name.
        executor: ExecutorId,
        /// Its life.
        incarnation: Incarnation,
    },
    /// A job is to run.
    JobSubmitted(JobSpec),
    /// A job is to stop.
    JobCancelled {
        /// The job.
        job: JobId,
    },
    /// A task finished.
    TaskFinished {
        /// The task.
        task: TaskId,
        /// Who ran it.
        executor: ExecutorId,
        /// In which life.
        incarnation: Incarnation,
        /// What it left.
        output: TaskOutput,
    },
    /// A task failed.
    TaskFailed {
        /// The task.
        task: TaskId,
        /// Who ran it.
        executor: ExecutorId,
        /// In which life.
        incarnation: Incarnation,
        /// Why.
        failure: TaskFailure,
    },
    /// A task of a committing stage is ready to publish its files and asks whether it may.
    CommitRequested {
        /// The task.
        task: TaskId,
        /// Who runs it.
        executor: ExecutorId,
        /// In which life.
        incarnation: Incarnation,
    },
    /// A map output is gone though its executor lives: a failed directory, a corrupt file.
    OutputLost {
        /// The shuffle.
        shuffle: ShuffleId,
        /// The map index.
        map: u32,
        /// The executor that had it.
        executor: ExecutorId,
        /// The attempt that wrote it.
        attempt: u32,
    },
    /// No later job can name this shuffle.
    ShuffleReleased {
        /// The shuffle.
        shuffle: ShuffleId,
    },
    /// Time has passed; see [`super::Scheduler::next_deadline`].
    Tick,
}

/// Something to do.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Run a task. The executor may still be stopping a cancelled one: it holds this one back until
    /// the slot is truly free.
    Launch {
        /// Where.
        executor: ExecutorId,
        /// Which.
        task: TaskId,
        /// Whether another attempt at the partition is running.
        speculative: bool,
    },
    /// Stop a task and drop what it wrote. Its slot counts as free from now on. No answer is needed.
    Cancel {
        /// Where.
        executor: ExecutorId,
        /// Which.
        task: TaskId,
    },
    /// This finished attempt is the one that counts: hand its payload on, once.
    Accept {
        /// Which.
        task: TaskId,
    },
    /// This finished attempt does not count: drop what it left.
    Discard {
        /// Where.
        executor: ExecutorId,
        /// Which.
        task: TaskId,
    },
    /// The task may publish its files.
    GrantCommit {
        /// Where.
        executor: ExecutorId,
        /// Which.
        task: TaskId,
    },
    /// The task must not publish: stop it and drop its files. As [`Command::Cancel`] otherwise.
    DenyCommit {
        /// Where.
        executor: ExecutorId,
        /// Which.
        task: TaskId,
    },
    /// A stage's inputs are there and its tasks may be launched. For information.
    StageStarted {
        /// On whose behalf.
        job: JobId,
        /// The stage.
        stage: StageId,
        /// Its run.
        attempt: StageAttempt,
        /// Partitions to run.
        tasks: u32,
        /// Partitions whose output was there already.
        skipped: u32,
    },
    /// A run of a stage ended early: nobody waits for it any more, or it lost its inputs and another
    /// run will follow. For information.
    StageAborted {
        /// The stage.
        stage: StageId,
        /// The run that ended.
        attempt: StageAttempt,
    },
    /// A slow task is about to get a second copy. For information.
    TaskSpeculated {
        /// The slow attempt.
        task: TaskId,
        /// For how long it has run, in milliseconds.
        running_ms: u64,
        /// The median of its stage, in milliseconds.
        median_ms: u64,
    },
    /// All wanted partitions of a stage are there. For information.
    StageFinished {
        /// On whose behalf.
        job: JobId,
        /// The stage.
        stage: StageId,
        /// Its run.
        attempt: StageAttempt,
    },
    /// A stage has nothing to run, since its output was there already. For information.
    StageSkipped {
        /// The job that would have needed it.
        job: JobId,
        /// The stage.
        stage: StageId,
        /// Its partitions.
        partitions: u32,
    },
    /// A job is done: each of its targets has been accepted.
    JobFinished {
        /// The job.
        job: JobId,
    },
    /// A job is over without a result. Its tasks have been cancelled.
    JobFailed {
        /// The job.
        job: JobId,
        /// Why.
        error: JobError,
    },
    /// An executor drops one accepted output, to make room; it may be computed again.
    DropOutput {
        /// Where.
        executor: ExecutorId,
        /// The shuffle.
        shuffle: ShuffleId,
        /// The map index.
        map: u32,
        /// The attempt that wrote it.
        attempt: u32,
    },
    /// All executors drop their outputs of a shuffle.
    ReleaseOutputs {
        /// The shuffle.
        shuffle: ShuffleId,
    },
    /// The scheduler has given an executor up: fence it and drop its connection.
    ExecutorRemoved {
        /// Its name.
        executor: ExecutorId,
        /// Its life.
        incarnation: Incarnation,
        /// Why.
        reason: LossReason,
    },
}
