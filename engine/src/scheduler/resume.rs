//! What is done before a job begins: outputs that an earlier run of the application has left.

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use millstream_planner::ids::StageId;

use super::Scheduler;
use super::messages::{Command, JobSpec};
use super::planted::PlantedBug;
use super::state::{NONE, StageKey};
use super::types::{ExecutorId, Incarnation, OutputLocation};

/// A partition that need not be computed, since an earlier run of the application has. Who submits
/// the job has seen to it that the output is there, and that it is of this stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Existing {
    /// The stage.
    pub stage: StageId,
    /// The partition.
    pub partition: u32,
    /// The attempt that made it; later ones have higher numbers.
    pub attempt: u32,
    /// The executor that has taken a map output over, and in which life. Results have none: whoever
    /// submits the job has them. A map output that has none is gone, and is computed again; readers of that
    /// earlier run may have seen it.
    pub holder: Option<(ExecutorId, Incarnation)>,
    /// What a map output is known by, if it is: a later one that is another is not mixed with what was made from it.
    pub digest: Option<NonZeroU64>,
}

impl Scheduler {
    /// Enters the existing outputs of a job that has just been admitted. What does not fit is left
    /// out, and computed: an output whose executor has gone since, or a stage that runs already.
    pub(super) fn take_over(&mut self, spec: &JobSpec, result: StageKey) {
        let mut touched = BTreeSet::new();
        for existing in &spec.existing {
            let key = match self.shared_stages.get(&existing.stage) {
                Some(&key) => key,
                None if self.stages[result].id == existing.stage => result,
                None => continue,
            };
            self.take_over_one(key, existing);
            touched.insert(key);
        }
        for key in touched {
            let stage = &mut self.stages[key];
            // Its readers may have begun in that earlier run.
            stage.was_complete |= !stage.is_active() && stage.tasks.are_all_known();
        }
    }

    /// Enters one output. What is refused goes: nobody will read it, and another may be made.
    fn take_over_one(&mut self, key: StageKey, existing: &Existing) {
        let &Existing { partition: map, attempt, .. } = existing;
        let Some((executor, incarnation)) = existing.holder else {
            return self.enter(key, existing);
        };
        self.enter(key, existing);
        let Some(shuffle) = self.stages[key].shuffle() else { return };
        let row = self.stages[key].row(map);
        let entered = row.and_then(|row| self.location(&self.stages[key], row));
        if entered != Some(OutputLocation { executor, incarnation, attempt }) {
            self.commands.push(Command::DropOutput { executor, shuffle, map, attempt });
        }
    }

    fn enter(&mut self, key: StageKey, existing: &Existing) {
        let needs_holder = self.stages[key].shuffle().is_some();
        let holder = match existing.holder {
            Some((executor, _))
                if needs_holder && self.planted(PlantedBug::TakeOverFromDeadLife) =>
            {
                self.executors_by_id.get(&executor).copied()
            }
            Some((executor, incarnation)) if needs_holder => self.executor(executor, incarnation),
            None if needs_holder => None,
            None if !self.stages[key].commits() => Some(NONE as usize),
            _ => return,
        };
        let reuses_names = self.planted(PlantedBug::ForgetEarlierAttempts);
        let stage = &mut self.stages[key];
        stage.allocate();
        let Some(row) = stage.row(existing.partition) else { return };
        if !reuses_names {
            let attempts = &mut stage.tasks.attempts[row as usize];
            *attempts = (*attempts).max(existing.attempt.saturating_add(1));
        }
        if stage.is_active() || !stage.tasks.is_missing(row) {
            return;
        }
        stage.tasks.differs(row, existing.digest);
        if let Some(holder) = holder {
            stage.tasks.win(row, existing.attempt, holder);
            stage.version += 1;
        }
    }
}
