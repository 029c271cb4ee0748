//! From commands and reports to the event stream.
//!
//! The scheduler and the slots speak their own types; here they become what listeners see. With no
//! listener nothing is built.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use millstream_planner::ids::{JobId, StageId};
use millstream_planner::stages::Stage;

use super::journal::Found;
use super::reports::Life;
use crate::error::Error;
use crate::events::{
    Event, EventBus, FORMAT_VERSION, FailureKind, JsonLog, Listener, Progress, ProgressMode,
    TaskId as EventTask, TaskMetrics,
};
use crate::executor::Outcome;
use crate::scheduler::{Command, JobError, JobSpec, TaskFailure, TaskId};

/// What the publisher needs to know of the application.
pub(crate) struct PublisherConfig {
    pub(crate) app_name: String,
    pub(crate) master: String,
    pub(crate) memory_limit: u64,
    pub(crate) quiet: bool,
    pub(crate) event_log: Option<PathBuf>,
    pub(crate) listeners: Vec<Box<dyn Listener>>,
}

/// Turns what happens into events.
pub(crate) struct Publisher {
    bus: Arc<EventBus>,
}

impl Publisher {
    pub(crate) fn new(config: PublisherConfig) -> Result<Self, Error> {
        let mut listeners = config.listeners;
        let mode = if config.quiet { ProgressMode::Off } else { ProgressMode::Auto };
        if let Some(progress) = Progress::start(mode) {
            listeners.push(Box::new(progress));
        }
        let mut build_id = String::new();
        if let Some(path) = &config.event_log {
            let log = JsonLog::create(path).map_err(|error| Error::EventLog(error.to_string()))?;
            listeners.push(Box::new(log));
            build_id = crate::closure::build_id()
                .map_or_else(|error| format!("unknown: {error}"), |build| format!("{build:016x}"));
        }
        let bus = Arc::new(EventBus::new(listeners));
        let settings = BTreeMap::from([
            ("master".to_owned(), config.master),
            ("memory_limit".to_owned(), config.memory_limit.to_string()),
        ]);
        let (format_version, name) = (FORMAT_VERSION, config.app_name);
        bus.emit(Event::ApplicationStarted { format_version, name, build_id, settings });
        Ok(Self { bus })
    }

    /// The stream, for what only a task sees.
    pub(crate) fn bus(&self) -> Arc<EventBus> {
        Arc::clone(&self.bus)
    }

    pub(super) fn ended(&self) {
        self.bus.emit(Event::ApplicationEnded);
    }

    pub(super) fn job_submitted(&self, spec: &JobSpec, name: &str) {
        if self.bus.has_listeners() {
            let stages = spec.graph.stages.iter().map(|stage| stage.id).collect();
            self.bus.emit(Event::JobSubmitted { job: spec.job, name: name.to_owned(), stages });
        }
    }

    /// What the scheduler has decided. `stage_name` finds the name of a stage of a job.
    pub(super) fn command(
        &self,
        command: &Command,
        stage_name: impl Fn(TaskStage) -> (String, u32),
        job_ms: impl Fn(JobId) -> u64,
    ) {
        if !self.bus.has_listeners() {
            return;
        }
        let event = match command {
            Command::Launch { executor, task, .. } => {
                Event::TaskStarted { task: (*task).into(), executor: executor.0 }
            }
            Command::Cancel { executor, task } | Command::DenyCommit { executor, task } => {
                Event::TaskCancelled { task: (*task).into(), executor: executor.0 }
            }
            Command::StageStarted { job, stage, attempt, tasks: _, skipped } => {
                let (name, partitions) = stage_name((*job, *stage));
                Event::StageStarted {
                    stage: *stage,
                    stage_attempt: attempt.0,
                    name,
                    partitions,
                    skipped_partitions: *skipped,
                }
            }
            Command::StageFinished { job, stage, attempt } => {
                let (name, partitions) = stage_name((*job, *stage));
                Event::StageFinished {
                    stage: *stage,
                    stage_attempt: attempt.0,
                    name,
                    partitions,
                    skipped_partitions: 0,
                }
            }
            Command::StageAborted { stage, attempt } => {
                Event::StageAborted { stage: *stage, stage_attempt: attempt.0 }
            }
            Command::TaskSpeculated { task, running_ms, median_ms } => {
                let (running_ms, median_ms) = (*running_ms, *median_ms);
                Event::TaskSpeculated { task: (*task).into(), running_ms, median_ms }
            }
            Command::JobFinished { job } => Event::JobFinished { job: *job, wall_ms: job_ms(*job) },
            Command::JobFailed { job, error: JobError::Cancelled { .. } } => {
                Event::JobCancelled { job: *job }
            }
            Command::JobFailed { job, error } => {
                Event::JobFailed { job: *job, kind: job_failure(error), message: error.to_string() }
            }
            Command::ExecutorRemoved { executor, incarnation, reason } => Event::ExecutorLost {
                executor: executor.0,
                incarnation: incarnation.0,
                reason: reason.to_string(),
            },
            Command::Accept { .. }
            | Command::Discard { .. }
            | Command::GrantCommit { .. }
            | Command::StageSkipped { .. }
            | Command::DropOutput { .. }
            | Command::ReleaseOutputs { .. } => return,
        };
        self.bus.emit(event);
    }

    /// What the journal had to tell.
    pub(crate) fn journal_opened(&self, found: &Found) {
        let Found { path, outputs, results, refused } = found.clone();
        let path = path.display().to_string();
        let (outputs, results) = (outputs as u64, results as u64);
        self.bus.emit(Event::JournalOpened { path, outputs, results, refused });
    }

    /// Partitions of a stage that were taken over from an earlier run.
    pub(super) fn resumed(&self, job: JobId, stage: &Stage, resumed: usize) {
        if resumed > 0 && self.bus.has_listeners() {
            self.bus.emit(Event::StageResumed {
                job,
                stage: stage.id,
                name: stage.name.clone(),
                partitions: stage.partitions,
                resumed_partitions: resumed as u32,
            });
        }
    }

    /// Somebody was not let in.
    pub(super) fn refused(&self, peer: &str, why: &str) {
        let (peer, why) = (peer.to_owned(), why.to_owned());
        self.bus.emit(Event::ConnectionRefused { peer, why });
    }

    /// What an executor in another process has seen.
    pub(super) fn happened(&self, event: Event) {
        self.bus.emit(event);
    }

    pub(super) fn executor_joined(&self, life: Life, host: &str, slots: u32, memory_bytes: u64) {
        let (executor, incarnation) = (life.executor.0, life.incarnation.0);
        let host = host.to_owned();
        self.bus.emit(Event::ExecutorJoined { executor, incarnation, host, slots, memory_bytes });
    }

    pub(super) fn dir_failed(&self, executor: u64, path: &Path, message: String) {
        let path = path.display().to_string();
        self.bus.emit(Event::DiskDirFailed { executor, path, message });
    }

    /// What a slot has reported.
    pub(super) fn task_ended(
        &self,
        task: TaskId,
        executor: u64,
        outcome: &Outcome,
        metrics: &TaskMetrics,
    ) {
        if !self.bus.has_listeners() {
            return;
        }
        let task = EventTask::from(task);
        let event = match outcome {
            Outcome::Map(_) | Outcome::Kept { .. } | Outcome::Result(_) => {
                Event::TaskFinished { task, executor, metrics: *metrics }
            }
            Outcome::Failed(TaskFailure::Cancelled) => Event::TaskCancelled { task, executor },
            Outcome::Failed(failure) => Event::TaskFailed {
                task,
                executor,
                kind: task_failure(failure),
                message: failure.to_string(),
            },
        };
        self.bus.emit(event);
    }
}

/// A stage as a job names it.
pub(super) type TaskStage = (JobId, StageId);

impl From<TaskId> for EventTask {
    fn from(task: TaskId) -> Self {
        let TaskId { job, stage, stage_attempt, partition, attempt } = task;
        Self { job, stage, stage_attempt: stage_attempt.0, partition, attempt }
    }
}

fn task_failure(failure: &TaskFailure) -> FailureKind {
    match failure {
        TaskFailure::User { .. } | TaskFailure::Data { .. } => FailureKind::User,
        TaskFailure::FetchFailed { .. } => FailureKind::FetchFailed,
        TaskFailure::InputMissing { .. } => FailureKind::InputMissing,
        TaskFailure::OutOfMemory { .. } => FailureKind::OutOfMemory,
        TaskFailure::Disk { .. } => FailureKind::Disk,
        TaskFailure::Cancelled => FailureKind::Cancelled,
        TaskFailure::ExecutorLost { .. } => FailureKind::ExecutorLost,
        TaskFailure::Internal { .. } => FailureKind::Internal,
    }
}

fn job_failure(error: &JobError) -> FailureKind {
    match error {
        JobError::Task { cause, .. } | JobError::StageAttempts { cause, .. } => task_failure(cause),
        JobError::NoExecutors { .. } => FailureKind::NoExecutors,
        JobError::Unsatisfiable { .. } => FailureKind::Unsatisfiable,
        JobError::Indeterminate { .. } => FailureKind::Indeterminate,
        JobError::Cancelled { .. } => FailureKind::Cancelled,
        JobError::Malformed { .. } => FailureKind::Malformed,
    }
}
