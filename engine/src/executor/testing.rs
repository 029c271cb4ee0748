//! A task for unit tests of what runs inside one.

use std::rc::Rc;
use std::sync::Arc;

use millstream_planner::ids::{JobId, StageId};
use millstream_shuffle::block::Codec;
use millstream_shuffle::budget::MemoryBudget;
use millstream_shuffle::store::{DirSpec, LocalDirs};

use super::{Runtime, Task, TaskContext};
use crate::events::EventBus;
use crate::scheduler::{ExecutorId, StageAttempt, TaskId};

/// An executor of one slot with so much memory.
pub(crate) fn runtime_with(memory_bytes: u64) -> Arc<Runtime> {
    let specs = [DirSpec { path: std::env::temp_dir(), quota_bytes: None }];
    let dirs = LocalDirs::open(&specs, "unit-test").unwrap();
    let budget = MemoryBudget::new(memory_bytes, 1);
    let events = Arc::new(EventBus::new(Vec::new()));
    let gate = Arc::new(|_| true);
    Arc::new(Runtime::new(ExecutorId(0), budget, dirs, Codec::default(), gate, events))
}

/// A task that nobody watches or cancels.
pub(crate) fn task_on(runtime: &Arc<Runtime>) -> Task {
    let id = TaskId {
        job: JobId(0),
        stage: StageId(0),
        stage_attempt: StageAttempt(0),
        partition: 0,
        attempt: 0,
    };
    Rc::new(TaskContext::new(id, Arc::clone(runtime), Arc::default()))
}

/// A task with so much memory.
pub(crate) fn task_with(memory_bytes: u64) -> Task {
    task_on(&runtime_with(memory_bytes))
}

/// A task with memory for all it does.
pub(crate) fn task() -> Task {
    task_with(1 << 32)
}
