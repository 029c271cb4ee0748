//! Running one task from its launch to its report. Nothing that a closure does leaves this module
//! other than as a value: panics become failures.

use std::any::Any;
use std::cell::Cell;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use millstream_planner::physical::PartSize;
use rustix::time::{ClockId, clock_gettime};

use super::error::TaskError;
use super::panics::take_line;
use super::place::take_panic_place;
use super::program::{MapResult, Output, StageProgram};
use super::runtime::Runtime;
use super::task::{Metrics, TaskContext};
use crate::events::TaskMetrics;
use crate::rdd::Payload;
use crate::scheduler::{TaskFailure, TaskId};
use crate::shared::{AccumulatorUpdates, enter_task, leave_task};

/// What a task has come to.
pub(crate) enum Outcome {
    Map(MapResult),
    /// A map output that its executor, in another process, keeps.
    Kept {
        rows: u64,
        bytes: u64,
        digest: Option<NonZeroU64>,
        sizes: Vec<PartSize>,
        /// Where it is, if a next run may take it over.
        file: Option<PathBuf>,
    },
    Result(Payload),
    Failed(TaskFailure),
}

/// What a task reports.
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    pub(crate) updates: AccumulatorUpdates,
    pub(crate) metrics: TaskMetrics,
}

impl Report {
    /// Of a task that could not run, or whose end could not be told.
    pub(crate) fn failed(failure: TaskFailure) -> Self {
        let (updates, metrics) = (AccumulatorUpdates::default(), TaskMetrics::default());
        Self { outcome: Outcome::Failed(failure), updates, metrics }
    }
}

thread_local! {
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is running a task.
pub(crate) fn in_task() -> bool {
    IN_TASK.get()
}

/// Runs one task.
pub(crate) fn run(
    id: TaskId,
    program: &StageProgram,
    runtime: &Arc<Runtime>,
    cancelled: Arc<AtomicBool>,
) -> Report {
    let (started, cpu_started) = (Instant::now(), cpu_nanos());
    let task = Rc::new(TaskContext::new(id, Arc::clone(runtime), cancelled));
    IN_TASK.set(true);
    enter_task();
    let result = catch_unwind(AssertUnwindSafe(|| attempt(program, &task)));
    let updates = leave_task();
    IN_TASK.set(false);
    let outcome = match result {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Outcome::Failed(error.into_failure()),
        Err(panic) => Outcome::Failed(panicked(panic.as_ref())),
    };
    let metrics = collect(&task.metrics, started, cpu_started);
    if !matches!(outcome, Outcome::Failed(_)) {
        runtime.records_skipped.fetch_add(metrics.records_skipped, Ordering::Relaxed);
    }
    Report { outcome, updates, metrics }
}

fn attempt(program: &StageProgram, task: &Rc<TaskContext>) -> Result<Outcome, TaskError> {
    task.check()?;
    let root = &program.root;
    match &program.output {
        Output::Shuffle { partitions, write } => {
            let result = (write.entry.code())(&write.params, root, task, *partitions)?;
            Metrics::add(&task.metrics.rows_out, result.rows);
            Metrics::add(&task.metrics.bytes_out, result.bytes);
            Ok(Outcome::Map(result))
        }
        Output::Action(action) => {
            Ok(Outcome::Result((action.entry.code().run)(&action.params, root, task)?))
        }
    }
}

/// What a panic says.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

fn panicked(panic: &(dyn Any + Send)) -> TaskFailure {
    let message = message(panic);
    let line = take_line().map(|line| format!(" ({line})")).unwrap_or_default();
    match take_panic_place() {
        Some(place) => TaskFailure::User {
            message: format!("panic in `{}`: {message}{line}", place.operation),
            record: Some(place.record),
        },
        None => TaskFailure::User { message: format!("panic: {message}{line}"), record: None },
    }
}

/// CPU time that this thread has taken, in nanoseconds.
fn cpu_nanos() -> u64 {
    let taken = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = taken.tv_sec.saturating_mul(1_000_000_000).saturating_add(taken.tv_nsec);
    u64::try_from(nanos).unwrap_or(0)
}

fn collect(metrics: &Metrics, started: Instant, cpu_started: u64) -> TaskMetrics {
    TaskMetrics {
        cpu_ms: cpu_nanos().saturating_sub(cpu_started) / 1_000_000,
        wall_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        rows_in: metrics.rows_in.get(),
        rows_out: metrics.rows_out.get(),
        bytes_in: metrics.bytes_in.get(),
        bytes_out: metrics.bytes_out.get(),
        spilled_bytes: metrics.spilled.get(),
        spill_cause: metrics.spill_cause.get(),
        records_skipped: metrics.records_skipped.get(),
        memory_peak_bytes: metrics.memory_peak.get(),
    }
}
