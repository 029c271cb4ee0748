//! Events into the scheduler, its commands carried out.

use std::num::NonZeroU64;
use std::path::PathBuf;

use millstream_planner::ids::JobId;
use millstream_planner::physical::PartSize;
use parking_lot::MutexGuard;

use super::actor::{Driver, State};
use super::job::Submitted;
use super::workers::Order;
use crate::executor::{MapResult, message};
use crate::protocol::OutputAt;
use crate::rdd::Payload;
use crate::scheduler::{Command, Event, ExecutorId, JobError, TaskFailure, TaskId};
use crate::shared::AccumulatorUpdates;

/// What a finished task hands over, held while the scheduler decides whether it counts.
pub(super) enum Finished {
    /// A map output of this process.
    Map(MapResult),
    /// A map output that the executor keeps, in this file if a next run may take it over.
    Kept {
        executor: ExecutorId,
        digest: Option<NonZeroU64>,
        sizes: Vec<PartSize>,
        file: Option<PathBuf>,
    },
    Result(Payload),
}

/// What an event leaves to be dropped, outside the lock: it may own lineage, whose end calls back
/// into the driver.
#[derive(Default)]
pub(super) struct Litter {
    jobs: Vec<(Submitted, Result<(), JobError>)>,
    finished: Vec<Finished>,
    /// A job that has ended here and which the scheduler has yet to give up.
    broken: Option<JobId>,
}

impl Litter {
    /// Drops everything, and tells the callers of ended jobs only then: a caller that goes on to end
    /// the application must find nothing left of its job on this thread.
    pub(super) fn clear(self) {
        drop(self.finished);
        for (job, result) in self.jobs {
            let done = job.done.clone();
            drop(job);
            // The caller waits on the other side, or has gone; both are fine.
            let _ = done.try_send(result);
        }
    }
}

impl Driver {
    /// Gives one event to the scheduler and carries out what it answers.
    pub(super) fn handle(
        &self,
        mut state: MutexGuard<'_, State>,
        event: Event,
        finished: Option<(Finished, AccumulatorUpdates)>,
    ) {
        let mut commands = std::mem::take(&mut state.commands);
        let now = self.now();
        state.scheduler.handle(now, event, &mut commands);
        let mut finished = finished;
        let mut litter = Litter::default();
        self.carry_out(&mut state, &mut commands, &mut finished, &mut litter);
        if let Some(job) = litter.broken.take() {
            state.scheduler.handle(now, Event::JobCancelled { job }, &mut commands);
            self.carry_out(&mut state, &mut commands, &mut finished, &mut litter);
        }
        state.commands = commands;
        let deadline = state.scheduler.next_deadline();
        if deadline.is_some_and(|at| state.clock_wakes.is_none_or(|wakes| at < wakes)) {
            self.earlier.notify_one();
        }
        drop(state);
        litter.finished.extend(finished.map(|(finished, _)| finished));
        litter.clear();
    }

    pub(super) fn carry_out(
        &self,
        state: &mut State,
        commands: &mut Vec<Command>,
        finished: &mut Option<(Finished, AccumulatorUpdates)>,
        litter: &mut Litter,
    ) {
        for command in commands.drain(..) {
            self.publish(state, &command);
            match command {
                Command::Launch { executor, task, .. } => launch(state, executor, task),
                Command::Cancel { executor, task } => state.workers.cancel(executor, task),
                Command::GrantCommit { executor, task } => {
                    state.workers.answer_commit(executor, task, true);
                }
                Command::DenyCommit { executor, task } => {
                    state.workers.answer_commit(executor, task, false);
                }
                Command::Accept { task } => {
                    if let Some((result, updates)) = finished.take() {
                        self.note(state.jobs.get_mut(&task.job), task, &result, &updates);
                        if let Err(error) = self.count_accepted(state, task, updates) {
                            litter.broken = Some(task.job);
                            self.end(state, task.job, Err(error), litter);
                        }
                        self.accept(state, task, result);
                    }
                }
                Command::Discard { executor, task } => {
                    let finished = finished.take().map(|(finished, _)| finished);
                    if let Some(Finished::Kept { .. }) = finished {
                        state.workers.drop_output(executor, OutputAt::of(task));
                    }
                    litter.finished.extend(finished);
                }
                Command::JobFinished { job } => self.end(state, job, Ok(()), litter),
                Command::JobFailed { job, error } => self.end(state, job, Err(error), litter),
                Command::DropOutput { executor, shuffle, map, attempt } => {
                    state.workers.drop_output(executor, OutputAt { shuffle, map, attempt });
                }
                Command::ReleaseOutputs { shuffle } => {
                    self.counted.forget(shuffle.stage());
                    state.sizes.forget(shuffle);
                    if let Some(journal) = &self.journal {
                        journal.forget(shuffle);
                    }
                    state.workers.drop_shuffle(shuffle);
                }
                Command::ExecutorRemoved { executor, incarnation, .. } => {
                    state.workers.removed(executor, incarnation);
                }
                Command::StageStarted { .. }
                | Command::StageFinished { .. }
                | Command::StageAborted { .. }
                | Command::TaskSpeculated { .. }
                | Command::StageSkipped { .. } => {}
            }
        }
    }

    fn publish(&self, state: &State, command: &Command) {
        let stage = |(job, stage)| {
            let job = state.jobs.get(&job);
            let stage = job.and_then(|job| job.graph.stage(stage));
            stage.map(|stage| (stage.name.clone(), stage.partitions)).unwrap_or_default()
        };
        let elapsed = |job| {
            let job: Option<&Submitted> = state.jobs.get(&job);
            job.map_or(0, |job| self.now().since(job.submitted))
        };
        self.publisher.command(command, stage, elapsed);
    }

    /// Counts what an accepted task has added to accumulators. A merge that panics ends the job.
    fn count_accepted(
        &self,
        state: &State,
        task: TaskId,
        updates: AccumulatorUpdates,
    ) -> Result<(), JobError> {
        let TaskId { stage, partition, attempt, .. } = task;
        self.count(stage, partition, updates).map_err(|panic| {
            let job = state.jobs.get(&task.job).and_then(|job| job.graph.stage(stage));
            let name = job.map(|stage| stage.name.to_string()).unwrap_or_default();
            let message = format!("panic in an accumulator's `merge`: {}", message(panic.as_ref()));
            let cause = TaskFailure::User { message, record: None };
            JobError::Task { stage, name, partition, attempts: attempt + 1, cause }
        })
    }

    /// A finished task counts: its output becomes visible, its result goes to the job.
    fn accept(&self, state: &mut State, task: TaskId, finished: Finished) {
        match finished {
            Finished::Map(mut map) => {
                state.sizes.learn(OutputAt::of(task), std::mem::take(&mut map.sizes));
                state.workers.keep(task, map);
            }
            Finished::Kept { sizes, .. } => state.sizes.learn(OutputAt::of(task), sizes),
            Finished::Result(payload) => {
                if let Some(job) = state.jobs.get_mut(&task.job) {
                    (job.sink)(task.partition, payload);
                }
            }
        }
    }

    fn end(
        &self,
        state: &mut State,
        job: JobId,
        result: Result<(), JobError>,
        litter: &mut Litter,
    ) {
        if let Some(submitted) = state.jobs.remove(&job) {
            if let Some(last) = submitted.graph.result() {
                self.counted.forget(last.id);
                if let (Some(journal), Some(print)) =
                    (&self.journal, submitted.prints.get(&last.id))
                {
                    journal.job_ended(print.print, result.is_err());
                }
            }
            state.workers.job_over(job);
            litter.jobs.push((submitted, result));
        }
    }
}

fn launch(state: &mut State, executor: ExecutorId, task: TaskId) {
    let State { scheduler, workers, jobs, .. } = state;
    let Some(job) = jobs.get(&task.job) else { return };
    let (Some(program), Some(stage)) = (job.programs.get(&task.stage), job.graph.stage(task.stage))
    else {
        return;
    };
    workers.launch(Order { executor, task, program, inputs: &stage.inputs, scheduler });
}
