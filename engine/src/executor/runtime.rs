//! What all tasks of one executor share: its budget, its directories, the shuffle store and the
//! persisted blocks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_planner::ids::ShuffleId;
use millstream_shuffle::block::Codec;
use millstream_shuffle::budget::MemoryBudget;
use millstream_shuffle::read::Segment;
use millstream_shuffle::store::{
    CommitOutcome, DirId, DirSnapshot, DirState, LocalDirs, MapKey, ShuffleStore, map_file_name,
};

use super::error::TaskError;
use super::exchange::in_segment;
use super::persisted::PersistedBlocks;
use super::remote::Inputs;
use super::tables::SharedTables;
use crate::events::EventBus;
use crate::protocol::OutputAt;
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
    pub(crate) tables: SharedTables,
    pub(crate) codec: Codec,
    pub(crate) commit_gate: CommitGate,
    /// Where the inputs of tasks are; `None` if all of them are in `store`.
    pub(crate) inputs: Option<Arc<Inputs>>,
    /// Map outputs go to files, for a next run of the application to take over, or for others to serve.
    pub(crate) durable: bool,
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
            tables: SharedTables::default(),
            codec,
            commit_gate,
            inputs: None,
            durable: false,
            events,
            records_skipped: AtomicU64::new(0),
            serial: AtomicU64::new(0),
        }
    }

    /// The same, for tasks that read the map outputs of other executors too.
    pub(crate) fn with_inputs(self, inputs: Arc<Inputs>) -> Self {
        Self { inputs: Some(inputs), ..self }
    }

    /// The same, with map outputs that go to files.
    pub(crate) fn durable(self, durable: bool) -> Self {
        Self { durable, ..self }
    }

    /// Takes over a map output that an earlier run of the application has left.
    ///
    /// # Errors
    /// If it is not there, or its footer does not verify. Its blocks are verified when they are read.
    pub(crate) fn adopt(&self, output: OutputAt, file: &Path) -> Result<(), TaskError> {
        let OutputAt { shuffle, map, attempt } = output;
        let name = map_file_name(shuffle.0, map, u64::from(attempt));
        let segment = Segment::adopt(&self.dirs, file, &name)?;
        let partitions = segment.partitions();
        let key = MapKey { shuffle: shuffle.0, map };
        match self.store.commit(key, u64::from(attempt), in_segment(segment, partitions)?) {
            CommitOutcome::Committed => Ok(()),
            other => {
                Err(TaskError::internal(format!("an earlier run's {key} is not wanted: {other:?}")))
            }
        }
    }

    /// Gives up the map outputs in a directory that has failed; says which it is, why, and what is lost.
    pub(crate) fn lose_dir(&self, dir: DirId) -> (PathBuf, String, Vec<OutputAt>) {
        let known = self.dirs.snapshot().dirs.into_iter().find(|known| known.id == dir);
        let (path, reason) = match known {
            Some(DirSnapshot { path, state: DirState::Failed { reason }, .. }) => (path, reason),
            Some(DirSnapshot { path, .. }) => (path, "it failed".to_owned()),
            None => (PathBuf::new(), "it failed".to_owned()),
        };
        let lost = self.store.lose_dir(dir).into_iter().map(|(key, attempt)| OutputAt {
            shuffle: ShuffleId(key.shuffle),
            map: key.map,
            // The scheduler counts attempts in 32 bits; the store in 64.
            attempt: attempt as u32,
        });
        (path, reason, lost.collect())
    }

    /// A number not handed out before.
    pub(crate) fn next_number(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }
}
