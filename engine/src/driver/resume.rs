//! Taking over what an earlier run of the application has left, and noting what this one comes to.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use millstream_planner::ids::{ShuffleId, StageId};
use millstream_planner::stages::{Stage, StageOutput};

use super::actor::Driver;
use super::commands::Finished;
use super::job::{Job, Submitted};
use super::journal::{self, Journal, Print, RESULT_BYTES_MAX, Value};
use super::local::LOCAL;
use super::reports::Life;
use super::workers::Wanted;
use crate::executor::Output;
use crate::protocol::OutputAt;
use crate::rdd::Payload;
use crate::scheduler::{ExecutorId, Existing, TaskId};
use crate::shared::AccumulatorUpdates;

/// What stands for a stage in all runs of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StagePrint {
    pub(crate) print: Print,
    /// Whether a second run is sure to give the same: neither the stage nor what it reads is
    /// indeterminate.
    pub(crate) stable: bool,
    /// The shuffles it reads that a second run may make otherwise.
    pub(crate) unstable_inputs: Vec<ShuffleId>,
}

impl Driver {
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Finds what there is of a job before it is submitted. Called without the lock: files are opened,
    /// and executors asked.
    pub(super) fn take_over(&self, job: &mut Job) {
        let Some(journal) = &self.journal else { return };
        let graph = Arc::clone(&job.spec.graph);
        let results = graph.result().map_or(0, |stage| self.take_results(job, journal, stage));
        if results == job.spec.targets.len() && results > 0 {
            self.count_known(job.prints.values().map(|print| print.print));
            return;
        }
        // Inputs come before what reads them.
        for stage in &graph.stages {
            if let StageOutput::Shuffle { shuffle, .. } = stage.output {
                self.take_outputs(job, journal, stage, shuffle);
            }
        }
    }

    /// Adds to the accumulators what tasks of earlier runs have added in stages that no job of this run
    /// needs.
    pub(crate) fn count_known(&self, prints: impl Iterator<Item = Print>) {
        let Some(journal) = &self.journal else { return };
        for updates in prints.flat_map(|print| journal.take_updates(print)) {
            if let Ok(updates) = self.totals().decode(updates) {
                self.add(updates);
            }
        }
    }

    fn take_results(&self, job: &mut Job, journal: &Journal, stage: &Stage) -> usize {
        let action = match job.programs.get(&stage.id).map(|program| &program.output) {
            Some(Output::Action(action)) if stage.output == StageOutput::Result => action.clone(),
            _ => return 0,
        };
        let Some(print) = job.prints.get(&stage.id) else { return 0 };
        let mut taken = 0;
        for result in journal.results(print.print, job.spec.targets.clone()) {
            let Value { partition, attempt, value, updates, .. } = result;
            let (Ok(payload), Ok(updates)) =
                ((action.entry.code().decode)(value), self.totals().decode(updates))
            else {
                continue;
            };
            if self.add(updates) {
                (job.sink)(partition, payload);
                let holder = None;
                job.spec.existing.push(Existing { stage: stage.id, partition, attempt, holder });
                taken += 1;
            }
        }
        self.publisher.resumed(job.spec.job, stage, taken);
        taken
    }

    fn take_outputs(&self, job: &mut Job, journal: &Journal, stage: &Stage, shuffle: ShuffleId) {
        let Some(print) = job.prints.get(&stage.id) else { return };
        let mut known = HashMap::new();
        for output in journal.take_outputs(print.print, journal.basis(&print.unstable_inputs)) {
            if let Ok(updates) = self.totals().decode(output.updates.clone())
                && output.map < stage.partitions
            {
                known.insert(output.map, (output, updates));
            }
        }
        if known.is_empty() {
            return;
        }
        let wanted = known.values().map(|(known, _)| Wanted {
            output: OutputAt { shuffle, map: known.map, attempt: known.attempt },
            executor: ExecutorId(known.executor),
            file: known.file.clone(),
        });
        let wanted = wanted.collect();
        let adopt = self.state.lock().workers.adopt(wanted);
        let mut taken = 0;
        for (OutputAt { map, attempt, .. }, Life { executor, incarnation }) in adopt() {
            let Some((known, updates)) = known.remove(&map) else { continue };
            self.state.lock().sizes.learn(OutputAt { shuffle, map, attempt }, known.sizes);
            if !print.stable {
                journal.note_unstable(shuffle, map, &known.file);
            }
            if self.add(updates) {
                let holder = Some((executor, incarnation));
                let existing = Existing { stage: stage.id, partition: map, attempt, holder };
                job.spec.existing.push(existing);
                taken += 1;
            }
        }
        self.publisher.resumed(job.spec.job, stage, taken);
    }

    /// Adds to the accumulators what a task of an earlier run has added. If a merge panics, its task
    /// does so again, where somebody hears of it.
    fn add(&self, updates: AccumulatorUpdates) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.totals().merge(updates))).is_ok()
    }

    /// Notes a task that counts. What does not serialise is not noted.
    pub(super) fn note(
        &self,
        job: Option<&mut Submitted>,
        task: TaskId,
        finished: &Finished,
        updates: &AccumulatorUpdates,
    ) {
        let (Some(journal), Some(job)) = (&self.journal, job) else { return };
        let TaskId { stage, partition, attempt, .. } = task;
        let Some(print) = job.prints.get(&stage) else { return };
        let Ok(updates) = updates.encode() else { return };
        let (executor, sizes, file) = match finished {
            Finished::Map(result) => (LOCAL, &result.sizes, result.file()),
            Finished::Kept { executor, sizes, file } => (*executor, sizes, file.clone()),
            Finished::Result(payload) => {
                if let Some(value) = encode_result(job, stage, payload)
                    && print.stable
                {
                    job.journaled_bytes += value.len() as u64;
                    if job.journaled_bytes <= RESULT_BYTES_MAX {
                        let print = print.print;
                        journal.result(Value { print, partition, attempt, value, updates });
                    }
                }
                return;
            }
        };
        let Some(file) = file else { return };
        if !print.stable {
            journal.note_unstable(ShuffleId(stage.0), partition, &file);
        }
        journal.output(journal::Output {
            print: print.print,
            basis: journal.basis(&print.unstable_inputs),
            map: partition,
            attempt,
            executor: executor.0,
            file,
            sizes: sizes.clone(),
            updates,
        });
    }
}

/// A result as the journal keeps it. Those of an action that writes files count with the files alone.
fn encode_result(job: &Submitted, stage: StageId, result: &Payload) -> Option<Vec<u8>> {
    let is_result = job.graph.stage(stage)?.output == StageOutput::Result;
    match &job.programs.get(&stage)?.output {
        Output::Action(action) if is_result => (action.entry.code().encode)(result).ok(),
        _ => None,
    }
}
