//! Commit: of all attempts at a partition, one may publish its files.
//!
//! A grant ends when its attempt fails or is lost; then another attempt may have it. That an attempt
//! published before it was lost does no harm: files have names that do not depend on the attempt, and
//! become visible through the job's manifest, which lists accepted attempts only.

use super::Scheduler;
use super::messages::Command;
use super::planted::PlantedBug;
use super::state::{NONE, Run};
use super::types::{ExecutorId, Incarnation, TaskId};

impl Scheduler {
    pub(super) fn on_commit_requested(
        &mut self,
        task: &TaskId,
        executor: ExecutorId,
        incarnation: Incarnation,
    ) {
        let task = *task;
        let Some((key, row)) = self.locate(&task) else { return };
        if !self.stages[key].commits() || self.stages[key].keeps(&task, row) {
            return;
        }
        let Some(run) = self.find_run(key, row, &task, executor, incarnation) else {
            self.commands.push(Command::DenyCommit { executor, task });
            return;
        };
        let stage = &mut self.stages[key];
        if stage.may_commit(row, task.attempt) {
            stage.tasks.granted[row as usize] = task.attempt;
            self.commands.push(Command::GrantCommit { executor, task });
        } else if self.planted(PlantedBug::GrantTwice) {
            self.commands.push(Command::GrantCommit { executor, task });
        } else {
            self.remove_run(run);
            self.commands.push(Command::DenyCommit { executor, task });
        }
    }

    /// Ends the grant of an attempt that is no longer running.
    pub(super) fn free_grant(&mut self, run: &Run) {
        if self.planted(PlantedBug::KeepGrantOfDeadAttempt) {
            return;
        }
        if let Some(granted) = self.stages[run.stage].tasks.granted.get_mut(run.row as usize)
            && *granted == run.task.attempt
        {
            *granted = NONE;
        }
    }
}
