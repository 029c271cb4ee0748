//! The types of the stage DAG.

use serde::{Deserialize, Serialize};

use crate::ids::{ShuffleId, StageId};

/// What one task of a stage asks of an executor. Requests are never over-committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ResourceRequest {
    /// Task slots, each of one CPU.
    pub cpus: u32,
    /// Memory in bytes that must be unrequested on the executor.
    pub memory_bytes: u64,
    /// Disk in bytes that must be unrequested on the executor.
    pub disk_bytes: u64,
}

impl Default for ResourceRequest {
    /// One slot; memory and disk by the executor's own fair share.
    fn default() -> Self {
        Self { cpus: 1, memory_bytes: 0, disk_bytes: 0 }
    }
}

/// How a second run of the same partition relates to the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Determinism {
    /// The same rows in the same order.
    Deterministic,
    /// The same rows, in any order.
    Unordered,
    /// Possibly other rows: random numbers, clocks, user code marked so.
    Indeterminate,
}

/// When a stage needs one of its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Need {
    /// Before any of its tasks can run.
    Always,
    /// Only when a persisted copy between the two stages has gone: the writing stage is run after a
    /// task of this stage reports the output missing, not before.
    IfEvicted,
}

/// One shuffle a stage reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StageInput {
    /// The shuffle; its writing stage is [`ShuffleId::stage`].
    pub shuffle: ShuffleId,
    /// When it is needed.
    pub need: Need,
}

/// What the tasks of a stage leave behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StageOutput {
    /// One map output a task, split into `partitions`.
    Shuffle {
        /// The shuffle written; its id is also this stage's.
        shuffle: ShuffleId,
        /// The number of reduce partitions.
        partitions: u32,
    },
    /// A value a task, handed to the driver.
    Result,
    /// Files a task, which one attempt alone may commit.
    Commit,
}

/// Where the tasks of a stage would rather run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Locality {
    /// Anywhere.
    #[default]
    Any,
    /// By partition, hosts that hold the data; an empty list means anywhere.
    Hosts(Vec<Vec<String>>),
}

/// One stage.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stage {
    /// Its identity.
    pub id: StageId,
    /// A short name for people: the operations it runs.
    pub name: String,
    /// The number of partitions, one task each.
    pub partitions: u32,
    /// The shuffles it reads.
    pub inputs: Vec<StageInput>,
    /// What it leaves behind.
    pub output: StageOutput,
    /// What each task asks for.
    pub request: ResourceRequest,
    /// Where tasks would rather run.
    pub locality: Locality,
    /// What a second run of a task may change.
    pub determinism: Determinism,
    /// All tasks must run at the same time or none at all.
    pub gang: bool,
}

/// The stages of one job. `stages` is in topological order: the inputs of a stage come before it, and
/// the result stage is last.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StageGraph {
    /// All stages that the job may have to run.
    pub stages: Vec<Stage>,
}

impl StageGraph {
    /// The stage whose output the job waits for; `None` only for an empty graph.
    #[must_use]
    pub fn result(&self) -> Option<&Stage> {
        self.stages.last()
    }

    /// The stage of this identity.
    #[must_use]
    pub fn stage(&self, id: StageId) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.id == id)
    }
}
