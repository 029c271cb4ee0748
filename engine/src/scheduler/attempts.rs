//! Attempts: what follows when a task finishes or fails.

use millstream_planner::stages::StageOutput;

use super::Scheduler;
use super::failures::{Disposition, FreeCause, JobError, LostOutput, TaskFailure};
use super::messages::Command;
use super::planted::PlantedBug;
use super::state::{ExecutorKey, Held, NONE, Run, RunKey, StageKey};
use super::types::{ExecutorId, Incarnation, StageAttempt, TaskId, TaskOutput};

impl Scheduler {
    pub(super) fn on_task_finished(
        &mut self,
        task: &TaskId,
        executor: ExecutorId,
        incarnation: Incarnation,
        output: TaskOutput,
    ) {
        let task = *task;
        let Some((stage, row)) = self.locate(&task) else {
            if matches!(output, TaskOutput::Map { .. }) {
                self.commands.push(Command::Discard { executor, task });
            }
            return;
        };
        let Some(run) = self.find_run(stage, row, &task, executor, incarnation) else {
            self.on_stale_finish(stage, row, task, executor, output);
            return;
        };
        let granted = self.stages[stage].tasks.granted.get(row as usize).copied();
        let right = match (output, self.stages[stage].output) {
            (TaskOutput::Map { .. }, StageOutput::Shuffle { .. })
            | (TaskOutput::Result, StageOutput::Result) => true,
            (TaskOutput::Committed, StageOutput::Commit) => granted == Some(task.attempt),
            _ => false,
        };
        if !right {
            let message = format!("{task} finished with {output:?}, which it may not");
            self.fail_run(run, TaskFailure::Internal { message });
            return;
        }
        let run = self.remove_run(run);
        if let TaskOutput::Map { in_memory, .. } = output {
            self.stages[stage].tasks.place(row, in_memory);
        }
        let now = self.now;
        self.stages[stage].run_times.record(now.since(run.started_at));
        if self.stages[stage].gang && !self.stages[stage].commits() {
            self.hold(&run, output);
        } else {
            self.accept(stage, row, task, run.executor, output);
        }
    }

    /// A finished attempt that was not running: a repeated message, or one the scheduler gave up.
    fn on_stale_finish(
        &mut self,
        stage: StageKey,
        row: u32,
        task: TaskId,
        executor: ExecutorId,
        output: TaskOutput,
    ) {
        if self.stages[stage].keeps(&task, row) {
            return;
        }
        if self.planted(PlantedBug::AcceptStaleAttempt)
            && let Some(&key) = self.executors_by_id.get(&executor)
            && self.stages[stage].tasks.winner[row as usize] == NONE
            && self.stages[stage].is_active()
        {
            self.accept(stage, row, task, key, output);
            return;
        }
        self.commands.push(Command::Discard { executor, task });
    }

    /// Makes a finished attempt the one that counts.
    fn accept(
        &mut self,
        key: StageKey,
        row: u32,
        task: TaskId,
        holder: ExecutorKey,
        output: TaskOutput,
    ) {
        let trust = self.planted(PlantedBug::TrustSecondRuns);
        let stage = &mut self.stages[key];
        stage.tasks.win(row, task.attempt, holder);
        if stage.tasks.differs(row, output.digest()) && stage.was_complete && !trust {
            stage.generation += 1;
        }
        stage.version += 1;
        stage.input_failures = 0;
        if !stage.copies.is_empty() {
            stage.copies.retain(|&copy| copy != row);
        }
        let loser = stage.tasks.running[row as usize];
        self.commands.push(Command::Accept { task });
        if loser != NONE {
            self.cancel_run(loser);
            if self.planted(PlantedBug::CountSpeculationLoser) {
                self.count_failure(key, row, TaskFailure::Cancelled);
                if !self.stages.contains(key) {
                    return;
                }
            }
        }
        if self.stages[key].is_complete() {
            self.complete(key);
        } else {
            self.look_for_slow_tasks(key);
        }
    }

    /// Keeps a finished task of a gang until all have finished; then all count at once.
    fn hold(&mut self, run: &Run, output: TaskOutput) {
        let key = run.stage;
        let held = Held { task: run.task, row: run.row, executor: run.executor, output };
        self.stages[key].held.push(held);
        if self.stages[key].held.len() < self.stages[key].rows as usize {
            return;
        }
        let all = std::mem::take(&mut self.stages[key].held);
        for held in all {
            self.accept(key, held.row, held.task, held.executor, held.output);
        }
    }

    /// Drops what finished tasks of a gang left that will not finish as a whole.
    pub(super) fn discard_held(&mut self, key: StageKey) {
        for held in std::mem::take(&mut self.stages[key].held) {
            if let Some(executor) = self.executors.get(held.executor) {
                let executor = executor.id;
                self.commands.push(Command::Discard { executor, task: held.task });
            }
        }
    }

    pub(super) fn on_task_failed(
        &mut self,
        task: &TaskId,
        executor: ExecutorId,
        incarnation: Incarnation,
        failure: TaskFailure,
    ) {
        let Some((stage, row)) = self.locate(task) else { return };
        if let Some(run) = self.find_run(stage, row, task, executor, incarnation) {
            self.fail_run(run, failure);
        }
    }

    fn fail_run(&mut self, run: RunKey, failure: TaskFailure) {
        let run = self.remove_run(run);
        let key = run.stage;
        let serial = self.stages[key].serial;
        match self.disposition(&failure, &run) {
            Disposition::RetryCounted => {
                if self.count_failure(key, run.row, failure) {
                    self.requeue(key, run.row, Some(run.executor));
                }
            }
            Disposition::Fatal => {
                let earlier = self.stages[key].tasks.failures[run.row as usize];
                self.give_up(key, run.row, u32::from(earlier) + 1, failure);
            }
            Disposition::RetryFree(FreeCause::Executor) => {
                self.count_loss(key, run.row, failure);
            }
            Disposition::RetryFree(FreeCause::Input) => {
                self.on_input_failure(&run, failure);
            }
        }
        if self.stages.get(key).is_some_and(|stage| stage.serial == serial) {
            self.restart_gang(key);
            self.wake(key);
        }
    }

    /// What becomes of a failed task. One for which its executor has no room left is tried on another, and
    /// so are others for a while.
    fn disposition(&mut self, failure: &TaskFailure, run: &Run) -> Disposition {
        /// After how long an executor may have room again.
        const FULL_MS: u64 = 10_000;
        let disposition = failure.disposition();
        let no_room = matches!(failure, TaskFailure::Disk { retryable: false, .. });
        let Some(executor) = self.executors.get_mut(run.executor).filter(|_| no_room) else {
            return disposition;
        };
        executor.full_until = self.now + FULL_MS;
        match self.passed_over_until(run.executor, &self.stages[run.stage].request) {
            Some(_) => Disposition::RetryCounted,
            None => disposition,
        }
    }

    /// Counts a failure against the limit; false if that was the last one.
    fn count_failure(&mut self, key: StageKey, row: u32, failure: TaskFailure) -> bool {
        let stage = &mut self.stages[key];
        let failures = &mut stage.tasks.failures[row as usize];
        *failures = failures.saturating_add(1);
        let failures = u32::from(*failures);
        let limit = self
            .jobs
            .get(&stage.owner)
            .map_or(self.config.task_attempts_max, |job| job.task_attempts_max);
        if failures < limit.clamp(1, u32::from(u8::MAX)) {
            return true;
        }
        self.give_up(key, row, failures, failure);
        false
    }

    /// Queues a task again that lost its executor, unless that has happened too often.
    pub(super) fn count_loss(&mut self, key: StageKey, row: u32, failure: TaskFailure) {
        let losses = &mut self.stages[key].tasks.losses[row as usize];
        *losses = losses.saturating_add(1);
        let losses = u32::from(*losses);
        if losses > self.config.task_losses_max.min(u32::from(u8::MAX) - 1) {
            self.give_up(key, row, losses, failure);
        } else {
            self.requeue(key, row, None);
        }
    }

    fn give_up(&mut self, key: StageKey, row: u32, attempts: u32, cause: TaskFailure) {
        let stage = &self.stages[key];
        let (id, name, partition) = (stage.id, stage.name.clone(), stage.base + row);
        let error = JobError::Task { stage: id, name, partition, attempts, cause };
        self.fail_jobs_waiting_for(key, &error);
    }

    fn on_input_failure(&mut self, run: &Run, failure: TaskFailure) {
        let key = run.stage;
        let (missing, outputs) = match &failure {
            TaskFailure::FetchFailed { shuffle, outputs, .. } => (*shuffle, outputs.as_slice()),
            TaskFailure::InputMissing { shuffle } => (*shuffle, [].as_slice()),
            _ => return,
        };
        let mut lost = None;
        for &LostOutput { map, attempt, executor } in outputs {
            lost = self.lose_output(missing, map, executor, attempt).or(lost);
        }
        if run.task.stage_attempt == self.stages[key].attempt {
            self.announce_aborted(key);
        }
        let stage = &mut self.stages[key];
        for input in stage.inputs.iter_mut().filter(|input| input.shuffle == missing) {
            input.needed = true;
        }
        if run.task.stage_attempt == stage.attempt {
            stage.attempt = StageAttempt(stage.attempt.0 + 1);
            stage.unannounced = true;
            stage.input_failures += 1;
        }
        if stage.input_failures < self.config.stage_attempts_max {
            self.requeue(key, run.row, None);
        } else {
            let error = JobError::StageAttempts {
                stage: stage.id,
                name: stage.name.clone(),
                partition: run.task.partition,
                attempts: stage.input_failures,
                cause: failure,
            };
            self.fail_jobs_waiting_for(key, &error);
        }
        if let Some(lost) = lost {
            self.wake_after_loss(lost);
        }
    }

    /// Queues a row again, if nothing else is under way for it.
    fn requeue(&mut self, key: StageKey, row: u32, avoid: Option<ExecutorKey>) {
        let until = self.now + self.config.locality_wait_ms;
        let stage = &mut self.stages[key];
        if !stage.is_active() || stage.gang || !stage.tasks.is_missing(row) {
            return;
        }
        match avoid {
            Some(executor) => stage.queue_away(row, executor, until),
            None => stage.queue(row),
        }
        // Not only the slot that was freed may take it.
        self.offer_all = true;
    }

    /// After a task of a gang has failed: stops the others and queues all again.
    pub(super) fn restart_gang(&mut self, key: StageKey) {
        if !self.stages[key].gang || !self.stages[key].is_active() {
            return;
        }
        self.cancel_runs(key);
        self.discard_held(key);
        self.stages[key].queue_missing();
    }

    /// The stage and row of a task, if they are on the books.
    pub(super) fn locate(&self, task: &TaskId) -> Option<(StageKey, u32)> {
        let key = match self.shared_stages.get(&task.stage) {
            Some(&key) => key,
            None => self.jobs.get(&task.job)?.result,
        };
        let stage = &self.stages[key];
        (stage.id == task.stage).then(|| Some((key, stage.row(task.partition)?))).flatten()
    }

    /// The run of this exact identity.
    pub(super) fn find_run(
        &self,
        stage: StageKey,
        row: u32,
        task: &TaskId,
        executor: ExecutorId,
        incarnation: Incarnation,
    ) -> Option<RunKey> {
        let mut key = self.stages[stage].tasks.running[row as usize];
        while key != NONE {
            let run = &self.runs[key as usize];
            let at = &self.executors[run.executor];
            if run.task == *task && at.id == executor && at.incarnation == incarnation {
                return Some(key);
            }
            key = run.twin;
        }
        None
    }

    /// Takes a run off the books and gives back what it had requested.
    pub(super) fn remove_run(&mut self, key: RunKey) -> Run {
        let run = self.runs.remove(key as usize);
        let stage = &mut self.stages[run.stage];
        stage.running -= 1;
        let first = &mut stage.tasks.running[run.row as usize];
        if *first == key {
            *first = run.twin;
        } else {
            self.runs[*first as usize].twin = NONE;
        }
        self.pools[run.pool].cpus -= u64::from(stage.request.cpus);
        let executor = &mut self.executors[run.executor];
        executor.give(&stage.request);
        executor.runs.swap_remove(run.place as usize);
        if let Some(&moved) = executor.runs.get(run.place as usize) {
            self.runs[moved as usize].place = run.place;
        }
        self.freed.push(run.executor);
        self.free_grant(&run);
        run
    }

    /// Stops a run.
    pub(super) fn cancel_run(&mut self, key: RunKey) {
        let leak = self.planted(PlantedBug::LeakSlotOnCancel);
        let run = self.remove_run(key);
        let executor = &mut self.executors[run.executor];
        if leak {
            executor.free.take(&self.stages[run.stage].request);
        }
        let executor = executor.id;
        self.commands.push(Command::Cancel { executor, task: run.task });
    }

    /// Stops all runs of a stage.
    pub(super) fn cancel_runs(&mut self, stage: StageKey) {
        if self.stages[stage].running == 0 {
            return;
        }
        let runs = self.runs.iter().filter(|(_, run)| run.stage == stage);
        let keys: Vec<RunKey> = runs.filter_map(|(key, _)| RunKey::try_from(key).ok()).collect();
        for key in keys {
            self.cancel_run(key);
        }
    }
}
