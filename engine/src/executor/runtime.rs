//! What all tasks of one executor share: its budget, its directories, the shuffle store and the
//! persisted blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_shuffle::block::Codec;
use millstream_shuffle::budget::MemoryBudget;
use millstream_shuffle::read::Segment;
use millstream_shuffle::store::{LocalDirs, ShuffleStore};

use super::persisted::PersistedBlocks;
use crate::events::EventBus;
use crate::scheduler::{ExecutorId, TaskId};

/// Asks the driver whether a task may publish its files.
pub(crate) type CommitGate = Arc<dyn Fn(TaskId) -> bool + Send + Sync>;

/// What all tasks of one executor share.
pub(crate) struct Runtime {
    pub(crate) executor: ExecutorId,
    pub(crate) budget: MemoryBudget,
    pub(crate) dirs: Arc<LocalDirs>,
    pub(crate) store: ShuffleStore<Segment>,
    pub(crate) persisted: PersistedBlocks,
    pub(crate) codec: Codec,
    pub(crate) commit_gate: CommitGate,
    pub(crate) events: Arc<EventBus>,
    /// Records that sources left out in tasks that succeeded.
    pub(crate) records_skipped: AtomicU64,
    serial: AtomicU64,
}

impl Runtime {
    pub(crate) fn new(
        executor: ExecutorId,
        budget: MemoryBudget,
        dirs: Arc<LocalDirs>,
        codec: Codec,
        commit_gate: CommitGate,
        events: Arc<EventBus>,
    ) -> Self {
        Self {
            executor,
            budget,
            dirs,
            store: ShuffleStore::new(),
            persisted: PersistedBlocks::default(),
            codec,
            commit_gate,
            events,
            records_skipped: AtomicU64::new(0),
            serial: AtomicU64::new(0),
        }
    }

    /// A number not handed out before.
    pub(crate) fn next_number(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }
}
