//! One running task: what it may use, and how it opens the partitions it reads.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use millstream_shuffle::budget::alloc::{is_counting, thread_live_bytes};
use millstream_shuffle::budget::{Refused, SpillCause, StorageReservation, TaskMemory};

use super::error::TaskError;
use super::meter::{Figures, Meter, Metering};
use super::runtime::Runtime;
use crate::events::Event;
use crate::rdd::{BoxStream, Data, Node, typed};
use crate::scheduler::TaskId;

#[cfg(feature = "counting-allocator")]
use crate::allocator::memory_is_short;
/// Another allocator has its own ways.
#[cfg(not(feature = "counting-allocator"))]
fn memory_is_short(_: bool) {}

/// A handle on the running task. It does not leave the slot's thread.
pub(crate) type Task = Rc<TaskContext>;

/// One running task.
pub(crate) struct TaskContext {
    pub(crate) id: TaskId,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) metrics: Metrics,
    pub(crate) memory: TaskMemory,
    cancelled: Arc<AtomicBool>,
    /// Where figures of operators have been asked for.
    meter: OnceCell<Rc<Meter>>,
    /// The thread's live bytes when the task began.
    live_at_start: Cell<i64>,
    /// Bytes allocated by this task that are kept for readers between tasks.
    stored: Cell<u64>,
}

/// What a task counts about itself.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) rows_in: Cell<u64>,
    pub(crate) rows_out: Cell<u64>,
    pub(crate) bytes_in: Cell<u64>,
    pub(crate) bytes_out: Cell<u64>,
    pub(crate) spilled: Cell<u64>,
    /// Of the first spill.
    pub(crate) spill_cause: Cell<Option<SpillCause>>,
    /// Records that a source left out, since the options said so.
    pub(crate) records_skipped: Cell<u64>,
    pub(crate) memory_peak: Cell<u64>,
}

impl Metrics {
    pub(crate) fn add(cell: &Cell<u64>, n: u64) {
        cell.set(cell.get() + n);
    }
}

impl TaskContext {
    pub(crate) fn new(id: TaskId, runtime: Arc<Runtime>, cancelled: Arc<AtomicBool>) -> Self {
        /// Limits below this leave no room for memory that waits for its next use.
        const AMPLE_BYTES: u64 = 1 << 30;
        let (used, limit) = (runtime.budget.used(), runtime.budget.limit());
        memory_is_short(limit < AMPLE_BYTES || used > limit / 4);
        Self {
            id,
            memory: runtime.budget.task(),
            runtime,
            metrics: Metrics::default(),
            cancelled,
            meter: OnceCell::new(),
            live_at_start: Cell::new(thread_live_bytes()),
            stored: Cell::new(0),
        }
    }

    /// Fails if the task has been told to stop. Sources and exchanges call it for each chunk.
    pub(crate) fn check(&self) -> Result<(), TaskError> {
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(TaskError::Cancelled),
            false => Ok(()),
        }
    }

    /// Whether state must be spilled: the budget refuses what this task's allocations have grown to.
    /// `estimate` is the caller's own figure for its state, used where allocations are not counted.
    pub(crate) fn pressed(&self, estimate: usize) -> bool {
        self.pressed_by(estimate, 0)
    }

    /// [`Self::pressed`] for state that is about to grow by `growth` bytes.
    pub(crate) fn pressed_by(&self, estimate: usize, growth: usize) -> bool {
        self.holds(estimate);
        let live = self.measured().max(if is_counting() { 0 } else { estimate as u64 });
        self.metrics.memory_peak.set(self.metrics.memory_peak.get().max(live));
        let refused = self.memory.follow(live + growth as u64).is_err();
        if refused {
            memory_is_short(true);
        }
        refused
    }

    /// Tells how many bytes of state the operator at work holds; for figures alone.
    pub(crate) fn holds(&self, bytes: usize) {
        if let Some(meter) = self.meter.get() {
            meter.count(|figures| figures.state_peak = figures.state_peak.max(bytes as u64));
        }
    }

    /// Counts for so many operators from now on.
    pub(crate) fn measure(&self, metering: &Metering, operators: usize) {
        self.meter.get_or_init(|| Rc::new(Meter::new(metering.clone(), operators)));
    }

    /// Where figures of operators have been asked for, what counts them.
    pub(crate) fn meter(&self) -> Option<&Rc<Meter>> {
        self.meter.get()
    }

    /// Hands over the figures of operators, at the end. `wrote` is whether it wrote an output.
    pub(crate) fn hand_over_figures(&self, wrote: bool) {
        if let Some(meter) = self.meter.get() {
            let (rows, bytes) = (self.metrics.rows_out.get(), self.metrics.bytes_out.get());
            let output = Figures { rows, bytes, ..Figures::default() };
            meter.finish(output, wrote, self.memory.peak());
        }
    }

    /// Like [`Self::pressed`] for state that cannot be spilled: an error that names it.
    pub(crate) fn demand(&self, what: impl FnOnce() -> String) -> Result<(), TaskError> {
        let live = self.measured();
        self.memory.follow(live).map_err(|refused| TaskError::Memory { what: what(), refused })
    }

    /// Bytes this task has allocated and not freed, whoever answers for them now.
    fn measured(&self) -> u64 {
        u64::try_from(thread_live_bytes() - self.live_at_start.get()).unwrap_or(0)
    }

    /// Runs what allocates `bytes` that stay, and frees what other threads have allocated: the latter
    /// is none of this task's, and would hide as much of what it holds.
    pub(crate) fn freeing_of_others<T>(&self, run: impl FnOnce() -> (T, usize)) -> T {
        let before = thread_live_bytes();
        let (result, bytes) = run();
        let freed = before + bytes as i64 - thread_live_bytes();
        if freed > 0 {
            self.live_at_start.set(self.live_at_start.get() - freed);
        }
        result
    }

    /// Bytes this task has allocated and still answers for.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.measured().saturating_sub(self.stored.get())
    }

    /// Keeps `bytes` of what this task has allocated for readers between tasks, if the budget has room
    /// for them there.
    pub(crate) fn store(&self, bytes: u64) -> Result<StorageReservation, Refused> {
        let _ = self.memory.follow(self.measured());
        let reservation = self.memory.into_storage(bytes)?;
        self.stored.set(self.stored.get() + bytes);
        Ok(reservation)
    }

    /// Records a spill and follows the shrunken state.
    pub(crate) fn spilled(&self, cause: SpillCause, bytes: u64) {
        Metrics::add(&self.metrics.spilled, bytes);
        self.metrics.spill_cause.set(self.metrics.spill_cause.get().or(Some(cause)));
        self.memory.record_spill(cause, bytes);
        if let Some(meter) = self.meter.get() {
            meter.count(|figures| {
                figures.spilled += bytes;
                figures.spill_cause = figures.spill_cause.or(Some(cause));
            });
        }
        let held = self.memory.held();
        let _ = self.memory.follow(self.measured());
        self.runtime.events.emit(Event::Spill {
            task: Some(self.id.into()),
            cause,
            memory_bytes: held.saturating_sub(self.memory.held()),
            disk_bytes: bytes,
        });
    }

    /// Opens a partition of a node: from its persisted copy if there is one, else by its code.
    pub(crate) fn open<T: Data>(
        self: &Rc<Self>,
        node: &Node,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        match node.persist_level() {
            Some(level) => super::persisted::open(self, node, partition, level),
            None => self.compute(node, partition),
        }
    }

    /// Opens a partition by the node's code.
    pub(crate) fn compute<T: Data>(
        self: &Rc<Self>,
        node: &Node,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        typed((node.code.entry.code())(&node.code.params, node, self, partition)?)
    }

    /// Opens a partition of the narrow parent at `index`.
    pub(crate) fn open_parent<T: Data>(
        self: &Rc<Self>,
        node: &Node,
        index: usize,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        let parent = node
            .parent(index)
            .ok_or_else(|| TaskError::internal(format!("{node:?} has no parent {index}")))?;
        self.open(parent, partition)
    }

    /// A name for a file of this attempt that no other file of the executor has.
    pub(crate) fn file_name(&self, kind: &str) -> String {
        let TaskId { stage, partition, attempt, .. } = self.id;
        format!("{kind}-{}-{partition}-{attempt}-{}", stage.0, self.runtime.next_number())
    }
}
