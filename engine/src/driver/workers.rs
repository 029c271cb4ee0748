//! What the driver needs of its executors, wherever they are: threads of this process ([`super::local`])
//! or other processes ([`super::cluster`]). Implementations carry out and decide nothing.

use std::path::PathBuf;
use std::sync::Arc;

use millstream_planner::ids::{JobId, NodeId, ShuffleId};
use millstream_planner::stages::StageInput;

use super::reports::Life;
use crate::Metrics;
use crate::context::ExecutorStatus;
use crate::executor::{MapResult, StageProgram};
use crate::protocol::OutputAt;
use crate::scheduler::{ExecutorId, Incarnation, Scheduler, TaskId};

/// A task to run.
pub(super) struct Order<'a> {
    pub(super) executor: ExecutorId,
    pub(super) task: TaskId,
    pub(super) program: &'a Arc<StageProgram>,
    /// The shuffles that the stage reads.
    pub(super) inputs: &'a [StageInput],
    /// Knows where their map outputs are.
    pub(super) scheduler: &'a Scheduler,
}

/// A map output that an earlier run has left.
pub(super) struct Wanted {
    /// What it is in this run.
    pub(super) output: OutputAt,
    /// The executor in whose directories it is.
    pub(super) executor: ExecutorId,
    pub(super) file: PathBuf,
}

/// The executors of an application. All methods are called under the driver's lock: none waits.
pub(super) trait Workers: Send {
    fn launch(&mut self, order: Order<'_>);

    /// Stops a task; nothing is reported of it any more.
    fn cancel(&mut self, executor: ExecutorId, task: TaskId);

    /// A task has reported its end.
    fn ended(&mut self, task: TaskId);

    /// The answer to a task that asked whether it may publish its files.
    fn answer_commit(&mut self, executor: ExecutorId, task: TaskId, granted: bool);

    /// A map output that was made in this process counts: readers see it from now on.
    fn keep(&mut self, task: TaskId, map: MapResult);

    /// Drops a map output that no reader will ask for.
    fn drop_output(&mut self, executor: ExecutorId, output: OutputAt);

    fn drop_shuffle(&mut self, shuffle: ShuffleId);

    fn drop_persisted(&mut self, node: NodeId);

    /// Whether each partition of a node is persisted somewhere.
    fn is_persisted(&self, node: NodeId, partitions: u32) -> bool;

    /// Where the partitions of a node are persisted, as locality hints spell it; empty if that is
    /// everywhere alike.
    fn persisted_at(&self, node: NodeId, partitions: u32) -> Vec<Vec<String>>;

    /// The scheduler has given an executor up.
    fn removed(&mut self, executor: ExecutorId, incarnation: Incarnation);

    /// Lets the executors take over map outputs that an earlier run has left. The returned function,
    /// which is called without the lock, does it, and says which are there now and with whom.
    fn adopt(&mut self, wanted: Vec<Wanted>) -> Box<dyn FnOnce() -> Vec<(OutputAt, Life)>>;

    fn job_over(&mut self, job: JobId);

    fn metrics(&self) -> Metrics;

    /// The executors that are there, in the order of their numbers.
    fn executors(&self) -> Vec<ExecutorStatus>;

    /// Asks an executor to drain; false if it is not there or cannot.
    fn drain(&mut self, executor: ExecutorId) -> bool;

    /// Ends all executors; `keep` says that their map outputs are for a next run. What has to be
    /// waited for is left to the returned function, which is
    /// called without the lock.
    fn stop(&mut self, keep: bool) -> Box<dyn FnOnce() + Send>;
}
