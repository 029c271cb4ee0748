//! Map outputs: which exist, where, and what follows from losing one.

use millstream_planner::ids::{JobId, ShuffleId};
use millstream_planner::stages::Determinism;

use super::Scheduler;
use super::messages::Command;
use super::planted::PlantedBug;
use super::state::{ExecutorKey, NONE, StageKey, StageState};
use super::types::{ExecutorId, OutputLocation};

impl Scheduler {
    /// Where each map output of a shuffle is, in map order; `None` at the place of a missing one. An
    /// unknown shuffle has no places at all.
    pub fn outputs(
        &self,
        shuffle: ShuffleId,
    ) -> impl ExactSizeIterator<Item = Option<OutputLocation>> + '_ {
        let stage = self.shuffle_stage(shuffle).map(|key| &self.stages[key]);
        let rows = stage.map_or(0, |stage| stage.rows);
        (0..rows).map(move |row| stage.and_then(|stage| self.location(stage, row)))
    }

    /// A number that rises whenever [`Self::outputs`] of this shuffle change, so that a driver may keep
    /// a copy.
    #[must_use]
    pub fn outputs_version(&self, shuffle: ShuffleId) -> u64 {
        self.shuffle_stage(shuffle).map_or(0, |key| self.stages[key].version)
    }

    pub(super) fn on_output_lost(
        &mut self,
        shuffle: ShuffleId,
        map: u32,
        executor: ExecutorId,
        attempt: u32,
    ) {
        if let Some(key) = self.lose_output(shuffle, map, executor, attempt) {
            self.wake_after_loss(key);
        }
    }

    pub(super) fn on_shuffle_released(&mut self, shuffle: ShuffleId) {
        let Some(key) = self.shuffle_stage(shuffle) else { return };
        self.stages[key].released = true;
        if self.stages[key].users.is_empty() {
            self.remove_stage(key);
        }
    }

    /// Unregisters an output if it is still the one meant; returns its stage if so.
    pub(super) fn lose_output(
        &mut self,
        shuffle: ShuffleId,
        map: u32,
        executor: ExecutorId,
        attempt: u32,
    ) -> Option<StageKey> {
        let key = self.shuffle_stage(shuffle)?;
        let stage = &self.stages[key];
        let row = stage.row(map)?;
        let there = self.location(stage, row)?;
        if there.attempt != attempt || there.executor != executor {
            return None;
        }
        self.forget_output(key, row);
        self.queue_lost(key, row);
        Some(key)
    }

    /// Gives back the memory of a stage's outputs if only a recovery could read them: all that read them
    /// are complete, and nothing else ever will read them. What is on disk stays, since it is not in the
    /// way; a recovery computes the rest again.
    ///
    /// Other rows might come of a second run of an indeterminate stage, which keeps its outputs.
    pub(super) fn drop_spent(&mut self, key: StageKey) {
        let Some(stage) = self.stages.get(key) else { return };
        let Some(shuffle) = stage.shuffle() else { return };
        let passing =
            |job: &JobId| self.jobs.get(job).is_some_and(|j| j.passing.contains(&shuffle));
        if stage.determinism != Determinism::Deterministic
            || stage.is_active()
            || !stage.users.iter().any(passing)
            || stage.consumers.iter().any(|&consumer| self.stages[consumer].is_active())
        {
            return;
        }
        let in_memory: Vec<u32> = stage.tasks.in_memory.iter().collect();
        for row in in_memory {
            let stage = &self.stages[key];
            if let Some(OutputLocation { executor, attempt, .. }) = self.location(stage, row) {
                let map = stage.base + row;
                self.commands.push(Command::DropOutput { executor, shuffle, map, attempt });
                self.forget_output(key, row);
            }
        }
    }

    /// Unregisters all outputs of an executor; returns the stages that lost some.
    pub(super) fn lose_outputs_of(&mut self, executor: ExecutorKey) -> Vec<StageKey> {
        if self.planted(PlantedBug::KeepOutputsOfLostExecutor) {
            return Vec::new();
        }
        let Ok(holder) = u32::try_from(executor) else { return Vec::new() };
        let keys: Vec<StageKey> = self.shared_keys();
        let mut losers = Vec::new();
        for key in keys {
            let rows: Vec<u32> = (0_u32..)
                .zip(&self.stages[key].tasks.holder)
                .filter(|(_, at)| **at == holder)
                .map(|(row, _)| row)
                .collect();
            for &row in &rows {
                self.forget_output(key, row);
                self.queue_lost(key, row);
            }
            if !rows.is_empty() {
                losers.push(key);
            }
        }
        losers
    }

    /// Whether outputs are registered with an executor.
    pub(super) fn holds_outputs(&self, executor: ExecutorKey) -> bool {
        let Ok(holder) = u32::try_from(executor) else { return false };
        let holds = |stage: &StageState| stage.tasks.holder.contains(&holder);
        self.stages.iter().any(|(_, stage)| stage.shuffle().is_some() && holds(stage))
    }

    /// Sees to it that what was lost is computed again, if anyone needs it now.
    pub(super) fn wake_after_loss(&mut self, key: StageKey) {
        self.wake(key);
        let Some(stage) = self.stages.get(key) else { return };
        for consumer in stage.consumers.clone() {
            self.wake(consumer);
        }
    }

    pub(super) fn forget_output(&mut self, key: StageKey, row: u32) {
        let stage = &mut self.stages[key];
        if stage.tasks.is_allocated() && stage.tasks.lose(row) {
            stage.version += 1;
        }
    }

    /// Queues the row of a lost output if its stage is running anyway. A gang has to start over.
    fn queue_lost(&mut self, key: StageKey, row: u32) {
        let stage = &mut self.stages[key];
        if !stage.is_active() {
            return;
        }
        if stage.gang {
            self.restart_gang(key);
        } else if stage.tasks.is_missing(row) {
            stage.queue(row);
            self.offer_all = true;
        }
    }

    /// In the order of their keys, which is the same in each run.
    fn shared_keys(&self) -> Vec<StageKey> {
        let shared = self.stages.iter().filter(|(_, stage)| stage.shuffle().is_some());
        shared.map(|(key, _)| key).collect()
    }

    fn shuffle_stage(&self, shuffle: ShuffleId) -> Option<StageKey> {
        self.shared_stages.get(&shuffle.stage()).copied()
    }

    pub(super) fn location(&self, stage: &StageState, row: u32) -> Option<OutputLocation> {
        let attempt = *stage.tasks.winner.get(row as usize)?;
        if attempt == NONE {
            return None;
        }
        let executor = self.executors.get(stage.tasks.holder[row as usize] as usize)?;
        let (executor, incarnation) = (executor.id, executor.incarnation);
        Some(OutputLocation { executor, incarnation, attempt })
    }

    /// Drops an executor's part in gangs that have not finished as a whole.
    pub(super) fn lose_held_by(&mut self, executor: ExecutorKey) -> Vec<StageKey> {
        let lost = |stage: &StageState| {
            stage.shuffle().is_some() && stage.held.iter().any(|held| held.executor == executor)
        };
        let keys: Vec<StageKey> =
            self.stages.iter().filter(|(_, s)| lost(s)).map(|(key, _)| key).collect();
        for &key in &keys {
            self.restart_gang(key);
        }
        keys
    }
}
