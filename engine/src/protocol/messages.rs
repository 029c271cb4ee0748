//! The messages of the control plane.

use std::num::NonZeroU64;

use millstream_planner::ids::{JobId, NodeId, ShuffleId};
use millstream_planner::physical::PartSize;
use millstream_shuffle::budget::SpillCause;
use serde::{Deserialize, Serialize};

use super::program::ProgramKey;
use crate::events::TaskMetrics;
use crate::scheduler::{ExecutorId, Incarnation, TaskFailure, TaskId};

/// What an executor says first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Register {
    /// The version of the messages that it speaks.
    pub(crate) protocol: u32,
    /// The identity it was started with or had in its last life; none for one that comes by itself.
    pub(crate) executor: Option<ExecutorId>,
    /// Its life.
    pub(crate) incarnation: Incarnation,
    pub(crate) slots: u32,
    pub(crate) memory_bytes: u64,
    /// Where it serves its blocks.
    pub(crate) data_addr: String,
}

/// What the driver answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) executor: ExecutorId,
    pub(crate) app_name: String,
    /// How often the executor has to say that it lives.
    pub(crate) heartbeat_ms: u64,
    /// After how long without a word from the driver the executor gives up what it does.
    pub(crate) lease_ms: u64,
    /// What its local directories have in common in their names with those of other executors, if they
    /// are not to go with it.
    pub(crate) group: u64,
    /// They are kept for a next run of the application.
    pub(crate) keep: bool,
}

/// What an executor says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum ToDriver {
    Register(Register),
    /// It lives.
    Heartbeat,
    /// A part of a result that is too long for one message. The rest comes in [`Ended`].
    ResultPart {
        task: TaskId,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// A task has come to its end.
    Ended(Box<Ended>),
    /// A task asks whether it may publish its files.
    CommitRequested {
        task: TaskId,
    },
    /// A local directory broke, and these map outputs with it.
    DirFailed {
        path: String,
        reason: String,
        lost: Vec<OutputAt>,
    },
    /// Partitions of persisted nodes that it keeps now, or no longer.
    Persisted(PersistedAt),
    /// What only it has seen: an [`Event`](crate::events::Event), in the form of the log.
    Happened(String),
    /// The map outputs of an earlier run that it has taken over, of those it was asked for.
    Adopted {
        request: u64,
        outputs: Vec<OutputAt>,
    },
    /// It takes no more tasks, and goes when those it has are done.
    Draining,
    /// It has drained, and has nothing more to say: it goes when the driver has heard all and hangs up.
    Farewell,
    /// Its map outputs are served by a shuffle service too.
    Served(ServedBy),
}

/// Who serves the map outputs of an executor, be it alive or not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ServedBy {
    /// The address of the shuffle service.
    pub(crate) service: String,
    /// The name by which it knows the executor's directories.
    pub(crate) owner: String,
}

/// Who has map outputs of a shuffle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) executor: ExecutorId,
    /// Where it serves its blocks; none of one that is no more.
    pub(crate) addr: Option<String>,
    /// Who serves them too.
    pub(crate) served_by: Option<ServedBy>,
}

/// How a task ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) task: TaskId,
    pub(crate) outcome: EndedAs,
    /// What it added to accumulators, by their numbers.
    pub(crate) updates: Vec<(u64, Vec<u8>)>,
    pub(crate) metrics: TaskMetrics,
    /// What the whole executor has used up to now.
    pub(crate) totals: Totals,
}

/// See [`Ended`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum EndedAs {
    /// With a map output, which the executor keeps.
    Map {
        rows: u64,
        bytes: u64,
        digest: Option<NonZeroU64>,
        /// What it holds of each partition; empty if nobody has asked for it.
        sizes: Vec<PartSize>,
        /// Where it is, if a next run may take it over.
        file: Option<String>,
    },
    /// With a result, of which this is the last part.
    Result(#[serde(with = "serde_bytes")] Vec<u8>),
    Failed(TaskFailure),
}

/// What an executor has used since it started.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) memory_peak: u64,
    pub(crate) disk_written: u64,
    pub(crate) files_created: u64,
    pub(crate) disk_read: u64,
    pub(crate) extents_read: u64,
    pub(crate) records_skipped: u64,
    /// By cause, how often and how many bytes.
    pub(crate) spills: Vec<(SpillCause, u64, u64)>,
}

/// A map output on its executor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct OutputAt {
    pub(crate) shuffle: ShuffleId,
    pub(crate) map: u32,
    pub(crate) attempt: u32,
}

/// A partition of a persisted node on its executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PersistedAt {
    pub(crate) node: NodeId,
    pub(crate) partition: u32,
    pub(crate) kept: bool,
}

/// What the driver says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum ToExecutor {
    Welcome(Welcome),
    /// The registration is refused; the reason is for people.
    Refused(String),
    /// It lives, and has heard the executor.
    Heartbeat,
    /// A part of a program. With the last one the program can be run.
    Program {
        key: ProgramKey,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
        last: bool,
    },
    /// Programs of this job are not run any more.
    JobOver(JobId),
    /// Where the map outputs of a shuffle are, in map order.
    Inputs {
        shuffle: ShuffleId,
        maps: Vec<Option<InputAt>>,
        /// The executors that [`InputAt::holder`] means.
        holders: Vec<Holder>,
    },
    /// An executor that served blocks at this address is no more.
    Gone {
        data_addr: String,
    },
    /// Tasks to run, in this order.
    Launch(Launched),
    /// Stop a task and drop what it wrote.
    Cancel(TaskId),
    /// Whether a task may publish its files.
    Commit {
        task: TaskId,
        granted: bool,
    },
    /// Drop a map output that is not read.
    DropOutput(OutputAt),
    DropShuffle(ShuffleId),
    DropPersisted(NodeId),
    /// Take no more tasks, finish those there are, and go.
    Drain,
    /// Take over these map outputs that an earlier run has left, in these files.
    Adopt {
        request: u64,
        outputs: Vec<(OutputAt, String)>,
    },
    /// The application is over; its files are for a next run, or not.
    Shutdown {
        keep: bool,
    },
}

/// Where a map output is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct InputAt {
    /// The place of its executor in [`ToExecutor::Inputs`].
    pub(crate) holder: u32,
    pub(crate) attempt: u32,
}

/// A task to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Launched {
    pub(crate) task: TaskId,
    pub(crate) program: ProgramKey,
}
