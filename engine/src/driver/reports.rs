//! What executors report to the driver, as events for the scheduler. The same for those in this
//! process and in others; how a report got here is not known.

use std::path::Path;
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;

use super::actor::{Driver, State};
use super::commands::{Finished, Litter};
use crate::executor::{MapResult, Outcome, Report};
use crate::protocol::OutputAt;
use crate::scheduler::{
    Capacity, Command, Event, ExecutorId, Incarnation, LossReason, LostOutput, TaskFailure, TaskId,
    TaskOutput,
};

/// One life of an executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Life {
    pub(super) executor: ExecutorId,
    pub(super) incarnation: Incarnation,
}

impl Driver {
    /// An executor offers its slots.
    pub(super) fn joined(&self, life: Life, host: &str, slots: u32, memory_bytes: u64) {
        let Life { executor, incarnation } = life;
        let state = self.state.lock();
        if state.stopped {
            return;
        }
        self.publisher.executor_joined(life, host, slots, memory_bytes);
        let capacity = Capacity { cpus: slots, memory_bytes: u64::MAX, disk_bytes: u64::MAX };
        let host = Arc::from(host);
        let event = Event::ExecutorJoined { executor, incarnation, host, capacity };
        self.handle(state, event, None);
    }

    /// The map outputs of an executor are served by a shuffle service too.
    pub(super) fn served(&self, life: Life) {
        let Life { executor, incarnation } = life;
        let event = Event::OutputsServed { executor, incarnation };
        self.handle(self.state.lock(), event, None);
    }

    /// An executor is gone. When the application is over they all go, and none is missed.
    pub(super) fn lost(&self, life: Life, reason: LossReason) {
        let Life { executor, incarnation } = life;
        let state = self.state.lock();
        if !state.stopped {
            self.handle(state, Event::ExecutorLost { executor, incarnation, reason }, None);
        }
    }

    /// An executor has given a sign of life.
    pub(super) fn heard(&self, life: Life) {
        let Life { executor, incarnation } = life;
        self.handle(self.state.lock(), Event::Heartbeat { executor, incarnation }, None);
    }

    /// An executor takes no more tasks.
    pub(super) fn draining(&self, life: Life) {
        let Life { executor, incarnation } = life;
        self.handle(self.state.lock(), Event::ExecutorDraining { executor, incarnation }, None);
    }

    /// A local directory of an executor broke. The outputs in it are given up together: found out one
    /// failed read at a time, they would use up the attempts of the stage that reads them.
    pub(super) fn dir_failed(
        &self,
        executor: ExecutorId,
        path: &Path,
        reason: String,
        lost: impl IntoIterator<Item = OutputAt>,
    ) {
        self.publisher.dir_failed(executor.0, path, reason);
        for OutputAt { shuffle, map, attempt } in lost {
            let event = Event::OutputLost { shuffle, map, executor, attempt };
            self.handle(self.state.lock(), event, None);
        }
    }

    /// A task asks whether it may publish its files. The answer goes through the executors' link, and
    /// is returned for those that have none.
    pub(super) fn commit_requested(&self, life: Life, task: TaskId) -> bool {
        let Life { executor, incarnation } = life;
        let mut state = self.state.lock();
        let event = Event::CommitRequested { task, executor, incarnation };
        let now = self.now();
        let mut commands = Vec::new();
        state.scheduler.handle(now, event, &mut commands);
        let granted = commands.iter().any(
            |command| matches!(command, Command::GrantCommit { task: granted, .. } if *granted == task),
        );
        let mut litter = Litter::default();
        self.carry_out(&mut state, &mut commands, &mut None, &mut litter);
        drop(state);
        litter.clear();
        granted
    }

    /// A task has come to its end.
    pub(super) fn ended(&self, life: Life, task: TaskId, report: Report) {
        let Life { executor, incarnation } = life;
        let Report { outcome, updates, metrics } = report;
        self.publisher.task_ended(task, executor.0, &outcome, &metrics);
        let mut state = self.state.lock();
        state.workers.ended(task);
        let (output, finished) = match outcome {
            Outcome::Map(map) => {
                let MapResult { rows, bytes, digest, .. } = map;
                let in_memory = map.output.segment().is_none();
                (TaskOutput::Map { bytes, rows, digest, in_memory }, Finished::Map(map))
            }
            // Other processes are lost now and then: what they keep spares the others a run from the start.
            Outcome::Kept { rows, bytes, digest, sizes, file } => {
                let finished = Finished::Kept { executor, digest, sizes, file };
                (TaskOutput::Map { bytes, rows, digest, in_memory: false }, finished)
            }
            Outcome::Result(payload) => {
                let output = match state.commits(task) {
                    true => TaskOutput::Committed,
                    false => TaskOutput::Result,
                };
                (output, Finished::Result(payload))
            }
            Outcome::Failed(failure) => {
                make_room(&mut state, &failure);
                let event = Event::TaskFailed { task, executor, incarnation, failure };
                return self.handle(state, event, None);
            }
        };
        if let Some(program) = state.program(task) {
            // For who decides on checkpoints.
            let root = &program.root;
            root.spent.add(root.partitions, metrics.wall_ms, metrics.bytes_out);
        }
        let event = Event::TaskFinished { task, executor, incarnation, output };
        self.handle(state, event, Some((finished, updates)));
    }
}

/// Stores keep the first output of a map: what cannot be read makes room.
fn make_room(state: &mut State, failure: &TaskFailure) {
    if let TaskFailure::FetchFailed { shuffle, outputs, .. } = failure {
        for &LostOutput { map, attempt, executor } in outputs {
            let output = OutputAt { shuffle: *shuffle, map, attempt };
            state.workers.drop_output(executor, output);
        }
    }
}

impl OutputAt {
    /// The map output that a task makes.
    pub(super) fn of(task: TaskId) -> Self {
        let TaskId { stage, partition, attempt, .. } = task;
        Self { shuffle: ShuffleId(stage.0), map: partition, attempt }
    }
}
