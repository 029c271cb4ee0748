//! Whether a job's end is right: exact rows if it finished, a justified error if it failed; and that
//! nothing is left in the end.

use millstream::scheduler::{Census, Disposition, FreeCause, JobError, TaskFailure};
use millstream_planner::ids::{JobId, StageId};
use millstream_planner::stages::{Stage, StageOutput};

use super::rows::{self, Row};
use super::world::{SimJob, World};

/// What an error is called in the figures.
pub(super) fn name(error: &JobError) -> &'static str {
    match error {
        JobError::Task { .. } => "jobs failed by a task",
        JobError::StageAttempts { .. } => "jobs failed by stage attempts",
        JobError::NoExecutors { .. } => "jobs failed without executors",
        JobError::Unsatisfiable { .. } => "jobs failed as unsatisfiable",
        JobError::Indeterminate { .. } => "jobs failed as indeterminate",
        JobError::Cancelled { .. } => "cancelled jobs",
        JobError::Malformed { .. } => "malformed jobs",
    }
}

pub(super) fn check(
    world: &World,
    id: JobId,
    outcome: &Result<(), JobError>,
) -> Result<(), String> {
    let Some(job) = world.jobs.get(&id) else { return Err(format!("{id} is unknown")) };
    match outcome {
        Ok(()) => check_rows(world, id, job),
        Err(error) if is_justified(world, job, error) => Ok(()),
        Err(error) => Err(format!("{id} failed without cause: {error}")),
    }
}

fn check_rows(world: &World, id: JobId, job: &SimJob) -> Result<(), String> {
    let spec = &job.plan.spec;
    let Some(result) = spec.graph.result() else { return Err("no result stage".into()) };
    let mut got: Vec<Row> = Vec::new();
    for partition in spec.targets.clone() {
        let rows = if matches!(result.output, StageOutput::Commit) {
            world.books.accepted(id, partition).and_then(|task| world.published.get(task))
        } else {
            job.results.get(&partition)
        };
        let Some(rows) = rows else {
            return Err(format!("{id} finished without partition {partition}"));
        };
        got.extend(rows.iter());
    }
    // Indeterminate stages place rows anywhere: only all of them together are known.
    let indeterminate = !spec.graph.stages.iter().all(rows::is_repeatable);
    if indeterminate && spec.targets.len() < result.partitions as usize {
        return Ok(());
    }
    let last = job.reference.len() - 1;
    let targets = spec.targets.start as usize..spec.targets.end as usize;
    let wanted = rows::identities(job.reference[last][targets].iter().flatten());
    let got = rows::identities(got.iter());
    if got == wanted {
        return Ok(());
    }
    Err(format!("{id} has wrong rows: {} of {} expected", got.len(), wanted.len()))
}

fn is_justified(world: &World, job: &SimJob, error: &JobError) -> bool {
    let spec = &job.plan.spec;
    let stages = &spec.graph.stages;
    let any = |is: &dyn Fn(&Stage) -> bool| stages.iter().any(is);
    match error {
        JobError::Task { stage, partition, attempts, cause, .. } => {
            let (failures, losses) = world.books.strikes(*stage, *partition);
            match cause.disposition() {
                Disposition::Fatal => !matches!(cause, TaskFailure::Internal { .. }),
                Disposition::RetryCounted => {
                    let least = world.planned.iter().filter_map(|job| job.spec.task_attempts_max);
                    let least = least.chain([world.config.task_attempts_max]).min().unwrap_or(1);
                    failures >= *attempts && *attempts >= least
                }
                Disposition::RetryFree(FreeCause::Executor) => {
                    losses >= world.config.task_losses_max
                }
                Disposition::RetryFree(FreeCause::Input) => false,
            }
        }
        JobError::StageAttempts { stage, .. } => {
            world.books.input_failures(*stage) >= world.config.stage_attempts_max
        }
        JobError::NoExecutors { stage, .. } => {
            world.books.is_empty() && was_stuck(world, job, *stage)
        }
        JobError::Unsatisfiable { stage, .. } => {
            !world.books.is_empty() && was_stuck(world, job, *stage)
        }
        JobError::Indeterminate { stage, .. } => {
            any(&|known| known.id == *stage && !rows::is_repeatable(known))
        }
        JobError::Cancelled { .. } => job.plan.cancel_at.is_some_and(|at| at <= world.now),
        JobError::Malformed { .. } => false,
    }
}

/// Whether at no time of the grace period the executors could have run a stage.
fn was_stuck(world: &World, job: &SimJob, id: StageId) -> bool {
    let Some(stage) = job.plan.spec.graph.stage(id) else { return false };
    let tasks = if stage.gang { stage.partitions } else { 1 };
    let since = world.now.saturating_sub(world.config.executor_grace_ms);
    world.books.most_fitting(&stage.request, since) < tasks
}

impl World {
    /// When all is over, nothing may be left.
    pub(super) fn final_checks(&mut self) -> Result<(), String> {
        if let Some((id, _)) = self.jobs.iter().find(|(_, job)| job.outcome.is_none()) {
            return Err(format!("{id} did not end though nothing is left to happen"));
        }
        self.books.close()?;
        let census = self.scheduler.census();
        if census != Census::default() {
            return Err(format!("the scheduler still holds {census:?}"));
        }
        for (id, executor) in &self.executors {
            if executor.went_back {
                return Err(format!("{id} has put an output in the place of a later attempt's"));
            }
            let known = self.books.counts_on(*id) == Some(executor.incarnation);
            let free = self.scheduler.free_capacity(*id);
            if known && free != Some(executor.capacity) {
                return Err(format!("{id} has only {free:?} free of {:?}", executor.capacity));
            }
            if known
                && executor.alive
                && !(executor.store.keys().is_empty() && executor.working.is_empty())
            {
                return Err(format!(
                    "{id} still keeps {:?} and runs {:?}",
                    executor.store.keys(),
                    executor.working.keys()
                ));
            }
        }
        Ok(())
    }
}
