//! What is done before a job begins: outputs that an earlier run of the application has left.

use millstream_planner::ids::StageId;

use super::Scheduler;
use super::messages::JobSpec;
use super::state::{NONE, StageKey};
use super::types::{ExecutorId, Incarnation};

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
    /// submits the job has them.
    pub holder: Option<(ExecutorId, Incarnation)>,
}

impl Scheduler {
    /// Enters the existing outputs of a job that has just been admitted. What does not fit is left
    /// out, and computed: an output whose executor has gone since, or a stage that runs already.
    pub(super) fn take_over(&mut self, spec: &JobSpec, result: StageKey) {
        for existing in &spec.existing {
            let key = match self.shared_stages.get(&existing.stage) {
                Some(&key) => key,
                None if self.stages[result].id == existing.stage => result,
                None => continue,
            };
            self.take_over_one(key, existing);
        }
    }

    fn take_over_one(&mut self, key: StageKey, existing: &Existing) {
        let needs_holder = self.stages[key].shuffle().is_some();
        let holder = match existing.holder {
            Some((executor, incarnation)) if needs_holder => {
                let Some(holder) = self.executor(executor, incarnation) else { return };
                holder
            }
            None if !needs_holder && !self.stages[key].commits() => NONE as usize,
            _ => return,
        };
        let stage = &mut self.stages[key];
        if stage.is_active() {
            return;
        }
        stage.allocate();
        let Some(row) = stage.row(existing.partition) else { return };
        if !stage.tasks.is_missing(row) {
            return;
        }
        stage.tasks.win(row, existing.attempt, holder);
        let attempts = &mut stage.tasks.attempts[row as usize];
        *attempts = (*attempts).max(existing.attempt.saturating_add(1));
        stage.version += 1;
        // Its readers may have begun in that earlier run.
        stage.was_complete |= stage.is_complete();
    }
}
