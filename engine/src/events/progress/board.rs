//! The counters behind the bars. Task events touch atomics under a shared lock; the exclusive lock is
//! taken only when a job or a stage starts or ends.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ahash::{AHashMap, AHashSet};
use millstream_planner::ids::{JobId, StageId};
use parking_lot::RwLock;

use super::super::{Event, TaskId, TaskMetrics};

#[derive(Default)]
pub(super) struct Board {
    work: RwLock<Work>,
}

#[derive(Default)]
struct Work {
    jobs: AHashSet<JobId>,
    /// When the first of `jobs` was submitted.
    busy_since: Option<Instant>,
    stages: AHashMap<StageId, StageCounters>,
}

struct StageCounters {
    attempt: u32,
    name: String,
    partitions: u64,
    started: Instant,
    done: AtomicU64,
    running: AtomicI64,
    rows: AtomicU64,
    bytes: AtomicU64,
    spilled_bytes: AtomicU64,
}

/// What one bar shows.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct StageSample {
    pub(super) stage: StageId,
    pub(super) name: String,
    pub(super) partitions: u64,
    pub(super) done: u64,
    pub(super) running: u64,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) spilled_bytes: u64,
    pub(super) elapsed: Duration,
}

impl Board {
    /// Notes the start or the end of a job or a stage; other events change nothing.
    pub(super) fn note(&self, event: &Event, now: Instant) {
        match event {
            Event::JobSubmitted { job, .. } => {
                let mut work = self.work.write();
                work.jobs.insert(*job);
                work.busy_since.get_or_insert(now);
            }
            Event::JobFinished { job, .. }
            | Event::JobFailed { job, .. }
            | Event::JobCancelled { job } => self.work.write().end_job(*job),
            Event::StageStarted { stage, stage_attempt, name, partitions, skipped_partitions } => {
                let counters = StageCounters::new(
                    *stage_attempt,
                    name.clone(),
                    *partitions,
                    *skipped_partitions,
                    now,
                );
                self.work.write().stages.insert(*stage, counters);
            }
            Event::StageFinished { stage, stage_attempt, .. }
            | Event::StageAborted { stage, stage_attempt } => {
                self.work.write().end_stage(*stage, *stage_attempt);
            }
            _ => {}
        }
    }

    /// Notes a task event; others change nothing.
    pub(super) fn note_task(&self, event: &Event) {
        match event {
            Event::TaskStarted { task, .. } => {
                self.count(*task, |stage| {
                    stage.running.fetch_add(1, Relaxed);
                });
            }
            Event::TaskFinished { task, metrics, .. } => {
                self.count(*task, |stage| stage.add(metrics));
            }
            Event::TaskFailed { task, .. } | Event::TaskCancelled { task, .. } => {
                self.count(*task, |stage| {
                    stage.running.fetch_sub(1, Relaxed);
                });
            }
            _ => {}
        }
    }

    /// Tasks of a stage run that is over are not counted.
    fn count(&self, task: TaskId, add: impl FnOnce(&StageCounters)) {
        let work = self.work.read();
        if let Some(stage) = work.stages.get(&task.stage)
            && stage.attempt == task.stage_attempt
        {
            add(stage);
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.work.read().jobs.is_empty()
    }

    /// The stages to show, oldest first; none until work has lasted for `show_after`.
    pub(super) fn sample(&self, now: Instant, show_after: Duration) -> Vec<StageSample> {
        let work = self.work.read();
        match work.busy_since {
            Some(since) if now.saturating_duration_since(since) >= show_after => {}
            _ => return Vec::new(),
        }
        let mut samples: Vec<_> =
            work.stages.iter().map(|(stage, counters)| counters.sample(*stage, now)).collect();
        samples.sort_unstable_by_key(|sample| sample.stage);
        samples
    }
}

impl Work {
    fn end_job(&mut self, job: JobId) {
        self.jobs.remove(&job);
        if self.jobs.is_empty() {
            self.busy_since = None;
            self.stages.clear();
        }
    }

    fn end_stage(&mut self, stage: StageId, attempt: u32) {
        if self.stages.get(&stage).is_some_and(|counters| counters.attempt == attempt) {
            self.stages.remove(&stage);
        }
    }
}

impl StageCounters {
    fn new(attempt: u32, name: String, partitions: u32, skipped: u32, started: Instant) -> Self {
        Self {
            attempt,
            name,
            partitions: partitions.into(),
            started,
            done: AtomicU64::new(skipped.into()),
            running: AtomicI64::new(0),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            spilled_bytes: AtomicU64::new(0),
        }
    }

    fn add(&self, metrics: &TaskMetrics) {
        self.running.fetch_sub(1, Relaxed);
        self.done.fetch_add(1, Relaxed);
        self.rows.fetch_add(metrics.rows_in, Relaxed);
        self.bytes.fetch_add(metrics.bytes_in, Relaxed);
        self.spilled_bytes.fetch_add(metrics.spilled_bytes, Relaxed);
    }

    /// Counters are read one by one while tasks end, so that they may differ by a task or so.
    fn sample(&self, stage: StageId, now: Instant) -> StageSample {
        StageSample {
            stage,
            name: self.name.clone(),
            partitions: self.partitions,
            // A recomputed partition finishes twice.
            done: self.done.load(Relaxed).min(self.partitions),
            running: u64::try_from(self.running.load(Relaxed)).unwrap_or(0),
            rows: self.rows.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            spilled_bytes: self.spilled_bytes.load(Relaxed),
            elapsed: now.saturating_duration_since(self.started),
        }
    }
}
