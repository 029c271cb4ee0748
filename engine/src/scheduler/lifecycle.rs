//! Which stages must run: they are activated from the result downwards, wait for their inputs, become
//! ready, complete, and are deactivated when nobody waits for them any more.
//!
//! ```text
//!            activate                inputs complete
//!   Idle ───────────────> Blocked ──────────────────> Ready
//!    ^                       ^    <──────────────────   │
//!    │                       │       an input was lost  │
//!    └─── complete, or nobody waits for it ─────────────┘
//! ```
//!
//! Walks over stages use a stack of their own: a lineage may be thousands of stages deep.

use millstream_planner::stages::Determinism;

use super::failures::JobError;
use super::messages::Command;
use super::planted::PlantedBug;
use super::state::{Phase, StageKey, StageState};
use super::{Scheduler, StageAttempt};

impl Scheduler {
    /// Whether an active stage cannot run without another.
    pub(super) fn needs(&self, consumer: StageKey, input: StageKey) -> bool {
        let stage = &self.stages[consumer];
        stage.is_active() && stage.inputs.iter().any(|i| i.needed && i.stage == input)
    }

    /// Whether anyone waits for a stage.
    pub(super) fn is_demanded(&self, key: StageKey) -> bool {
        let stage = &self.stages[key];
        let wanted = stage.shuffle().is_none() && !stage.users.is_empty();
        wanted || stage.consumers.iter().any(|&consumer| self.needs(consumer, key))
    }

    /// Starts a stage and all it needs, as far as it is not complete and not active.
    pub(super) fn activate(&mut self, root: StageKey) {
        let mut stack = vec![root];
        let mut started = Vec::new();
        while let Some(key) = stack.pop() {
            if self.stages[key].is_active() || self.stages[key].is_complete() {
                continue;
            }
            self.start(key);
            started.push(key);
            stack.extend(self.missing_inputs(key));
        }
        for &key in started.iter().rev() {
            // Refreshing one may have ended the jobs of the next.
            if self.stages.get(key).is_some_and(StageState::is_active) {
                self.refresh(key);
            }
        }
    }

    /// To be called when tasks of a stage were queued or its inputs changed: sees to it that what they
    /// need is on its way.
    pub(super) fn wake(&mut self, key: StageKey) {
        if !self.stages.contains(key) || !self.stages[key].is_active() {
            return;
        }
        if self.stages[key].pending() > 0 {
            for input in self.missing_inputs(key) {
                self.activate(input);
            }
        }
        self.refresh(key);
    }

    fn missing_inputs(&self, key: StageKey) -> Vec<StageKey> {
        let needed = self.stages[key].inputs.iter().filter(|input| input.needed);
        needed.map(|input| input.stage).filter(|&input| !self.stages[input].is_complete()).collect()
    }

    fn start(&mut self, key: StageKey) {
        let rerun = self.stages[key].ran;
        if self.mixes_rows(key) {
            self.roll_back(key);
        } else if self.stages[key].gang && self.stages[key].shuffle().is_some() {
            self.forget_outputs(key);
        }
        let forget = self.planted(PlantedBug::ForgetResubmit) && rerun;
        let speculation = self.config.speculation;
        let stage = &mut self.stages[key];
        stage.allocate();
        stage.ran = true;
        stage.phase = Phase::Blocked;
        stage.unannounced = true;
        stage.input_failures = 0;
        stage.tasks.forgive();
        if rerun {
            stage.attempt = StageAttempt(stage.attempt.0 + 1);
        }
        if !forget {
            stage.queue_missing();
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a u32, rounded up; out-of-range settings saturate"
        )]
        let from = (f64::from(stage.rows) * speculation.quantile).ceil() as u32;
        stage.speculate_from = if speculation.enabled && !stage.gang { from } else { u32::MAX };
    }

    /// Whether a stage that starts again would mix rows of two runs, of which readers may have seen
    /// those of the first.
    fn mixes_rows(&self, key: StageKey) -> bool {
        let stage = &self.stages[key];
        stage.determinism == Determinism::Indeterminate && stage.was_complete
    }

    /// Blocks or unblocks a stage by the state of its inputs, which matter as long as there is something
    /// to launch: one may have been rolled back while all tasks here were running.
    pub(super) fn refresh(&mut self, key: StageKey) {
        let has_work = self.stages[key].has_work();
        let blocked = has_work && !self.missing_inputs(key).is_empty();
        if has_work && !blocked && !self.match_generations(key) {
            return;
        }
        match (self.stages[key].phase, blocked) {
            (Phase::Blocked, false) => self.become_ready(key),
            (Phase::Ready, true) => self.stages[key].phase = Phase::Blocked,
            _ => {}
        }
        self.update_queue(key);
    }

    fn become_ready(&mut self, key: StageKey) {
        let stage = &mut self.stages[key];
        stage.phase = Phase::Ready;
        stage.waiting_since = self.now;
        stage.local_since = self.now;
        if std::mem::take(&mut stage.unannounced) {
            self.commands.push(Command::StageStarted {
                job: stage.owner,
                stage: stage.id,
                attempt: stage.attempt,
                tasks: stage.rows - stage.tasks.done,
                skipped: stage.tasks.done,
            });
            let job = stage.owner;
            if stage.attempt == StageAttempt(0) && stage.shuffle().is_some() {
                self.announce_skipped(job, key);
            }
        }
        self.offer_all = true;
    }

    /// Sees to it that the outputs of a stage are made from the inputs as they are now. False if that
    /// cannot be, and its jobs have failed.
    fn match_generations(&mut self, key: StageKey) -> bool {
        let stage = &self.stages[key];
        let inputs = stage.inputs.iter().filter(|input| input.needed);
        let now: u64 = inputs.map(|input| self.stages[input.stage].generation).sum();
        let stale = stage.made_from != now && (stage.tasks.done > 0 || stage.running > 0);
        if stale && stage.shuffle().is_none() && stage.tasks.done > 0 {
            let changed = &self.stages[self.changed_input(key)];
            let error = JobError::Indeterminate { stage: changed.id, name: changed.name.clone() };
            self.fail_jobs_waiting_for(key, &error);
            return false;
        }
        if stale {
            self.cancel_runs(key);
            self.roll_back(key);
            if self.stages[key].is_active() {
                self.stages[key].queue_missing();
            }
        }
        self.stages[key].made_from = now;
        true
    }

    /// Rolls back whatever was made from outputs that a stage has replaced by others, over all stages
    /// above it, complete ones included: a reader of both would mix two answers.
    fn roll_back_readers(&mut self, key: StageKey) {
        let mut stack = vec![key];
        while let Some(key) = stack.pop() {
            let consumers = self.stages.get(key).map(|stage| stage.consumers.clone());
            for consumer in consumers.into_iter().flatten() {
                let Some(before) = self.stages.get(consumer).map(|stage| stage.generation) else {
                    continue;
                };
                if self.match_generations(consumer) {
                    if self.stages[consumer].generation != before {
                        stack.push(consumer);
                    }
                    self.wake(consumer);
                }
            }
        }
    }

    /// The stage from which other rows came than before: the lowest below `key` that has replaced its
    /// outputs.
    fn changed_input(&self, mut key: StageKey) -> StageKey {
        let changed = |key: StageKey| {
            let mut inputs = self.stages[key].inputs.iter().map(|input| input.stage);
            inputs.find(|input| self.stages[*input].generation > 0)
        };
        while let Some(input) = changed(key) {
            key = input;
        }
        key
    }

    fn forget_outputs(&mut self, key: StageKey) {
        for row in 0..self.stages[key].rows {
            self.forget_output(key, row);
        }
    }

    /// Forgets all outputs of a stage and lets those above know that others will come.
    fn roll_back(&mut self, key: StageKey) {
        self.forget_outputs(key);
        self.discard_held(key);
        self.stages[key].generation += 1;
        self.stages[key].was_complete = false;
    }

    /// To be called when the last row of a stage has been accepted.
    pub(super) fn complete(&mut self, key: StageKey) {
        self.dequeue(key);
        let stage = &mut self.stages[key];
        stage.phase = Phase::Idle;
        stage.was_complete = true;
        stage.clear_pending();
        let (job, id, attempt) = (stage.owner, stage.id, stage.attempt);
        self.commands.push(Command::StageFinished { job, stage: id, attempt });
        if self.stages[key].shuffle().is_none() {
            self.end_job(job);
            self.commands.push(Command::JobFinished { job });
            return;
        }
        self.release_inputs(key);
        self.roll_back_readers(key);
        let Some(StageState { consumers, inputs, .. }) = self.stages.get(key) else { return };
        let (consumers, inputs) = (consumers.clone(), inputs.clone());
        // Waking one may end the jobs of all these stages.
        for consumer in consumers {
            self.wake(consumer);
        }
        for input in inputs {
            self.drop_spent(input.stage);
        }
    }

    /// Stops a stage that nobody waits for, and what only it waited for.
    pub(super) fn deactivate(&mut self, key: StageKey) {
        let mut stack = vec![key];
        while let Some(key) = stack.pop() {
            self.cancel_runs(key);
            self.dequeue(key);
            self.discard_held(key);
            self.announce_aborted(key);
            let stage = &mut self.stages[key];
            stage.phase = Phase::Idle;
            stage.clear_pending();
            stack.extend(self.idle_inputs(key));
        }
    }

    /// Says that the present run of an active stage is over, if it was said to have started.
    pub(super) fn announce_aborted(&mut self, key: StageKey) {
        let stage = &self.stages[key];
        if stage.is_active() && !stage.unannounced {
            let (stage, attempt) = (stage.id, stage.attempt);
            self.commands.push(Command::StageAborted { stage, attempt });
        }
    }

    /// Stops the inputs of a stage that is no longer active, where nobody else waits for them.
    fn release_inputs(&mut self, key: StageKey) {
        for input in self.idle_inputs(key) {
            self.deactivate(input);
        }
    }

    fn idle_inputs(&self, key: StageKey) -> Vec<StageKey> {
        let inputs = self.stages[key].inputs.iter().map(|input| input.stage);
        inputs.filter(|&i| self.stages[i].is_active() && !self.is_demanded(i)).collect()
    }

    /// Puts a stage into its pool's queue, or takes it out.
    pub(super) fn update_queue(&mut self, key: StageKey) {
        let stage = &mut self.stages[key];
        let wants = stage.phase == Phase::Ready && stage.has_work();
        match (wants, stage.queued) {
            (true, None) => {
                let Some(job) = self.jobs.get(&stage.owner) else { return };
                let entry = (job.rank, stage.order, key);
                self.pools[stage.pool].queue.insert(entry);
                stage.queued = Some((stage.pool, entry));
                self.check_placeable(key);
            }
            (false, Some(_)) => self.dequeue(key),
            _ => {}
        }
    }

    pub(super) fn dequeue(&mut self, key: StageKey) {
        if let Some((pool, entry)) = self.stages[key].queued.take() {
            self.pools[pool].queue.remove(&entry);
            self.stages[key].unplaceable_since = None;
        }
    }
}
