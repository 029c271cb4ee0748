//! Taking over what an earlier run of the application has left, and noting what this one comes to.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_planner::ids::{ShuffleId, StageId};
use millstream_planner::stages::{Stage, StageOutput};

use super::actor::Driver;
use super::commands::Finished;
use super::job::{Job, Submitted};
use super::journal::{self, Journal, Print, RESULT_BYTES_MAX, Updates, Value};
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
    /// The shuffles it reads.
    pub(crate) inputs: Vec<ShuffleId>,
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
        // Those that are known of all partitions need nothing of what they were made from.
        let last = graph.result();
        let all = last.and_then(|stage| {
            let print = job.prints.get(&stage.id)?;
            Some((stage, journal.all_results(print, job.spec.targets.clone())?))
        });
        let results = all.map_or(0, |(stage, all)| self.take_results(job, stage, all));
        if results == job.spec.targets.len() && results > 0 {
            self.count_known(job.prints.iter().map(|(stage, print)| (*stage, print.print)));
            return;
        }
        // Inputs come before what reads them.
        for stage in &graph.stages {
            if let StageOutput::Shuffle { shuffle, .. } = stage.output {
                self.take_outputs(job, journal, stage, shuffle);
            }
        }
        if results == 0
            && let Some(stage) = last
            && let Some(print) = job.prints.get(&stage.id)
        {
            let some = journal.results(print, job.spec.targets.clone());
            self.take_results(job, stage, some);
        }
    }

    /// Adds to the accumulators what tasks of earlier runs have added in stages that no job of this run
    /// needs.
    pub(crate) fn count_known(&self, stages: impl Iterator<Item = (StageId, Print)>) {
        let Some(journal) = &self.journal else { return };
        for (stage, print) in stages {
            for (partition, updates) in journal.take_updates(print) {
                self.count_noted(stage, partition, updates);
            }
        }
    }

    /// Counts what a task of an earlier run has added, as the journal has it. False if it cannot be
    /// counted: its task does so again, where somebody hears of it.
    fn count_noted(&self, stage: StageId, partition: u32, updates: Updates) -> bool {
        let updates = self.totals().decode(updates);
        updates.is_ok_and(|updates| self.count(stage, partition, updates).is_ok())
    }

    fn take_results(&self, job: &mut Job, stage: &Stage, results: Vec<Value>) -> usize {
        let action = match job.programs.get(&stage.id).map(|program| &program.output) {
            Some(Output::Action(action)) if stage.output == StageOutput::Result => action.clone(),
            _ => return 0,
        };
        let mut taken = 0;
        for result in results {
            let Value { partition, attempt, value, updates, .. } = result;
            let Ok(payload) = (action.entry.code().decode)(value) else { continue };
            if self.count_noted(stage.id, partition, updates) {
                (job.sink)(partition, payload);
                let holder = None;
                let (stage, digest) = (stage.id, None);
                job.spec.existing.push(Existing { stage, partition, attempt, holder, digest });
                taken += 1;
            }
        }
        self.publisher.resumed(job.spec.job, stage, taken);
        taken
    }

    fn take_outputs(&self, job: &mut Job, journal: &Journal, stage: &Stage, shuffle: ShuffleId) {
        let Some(print) = job.prints.get(&stage.id) else { return };
        let mut known = journal.take_outputs(print, stage.id);
        known.retain(|output| output.map < stage.partitions);
        if known.is_empty() {
            return;
        }
        let wanted = known.iter().map(|known| Wanted {
            output: OutputAt { shuffle, map: known.map, attempt: known.attempt },
            executor: ExecutorId(known.executor),
            file: known.file.clone(),
        });
        let adopt = self.state.lock().workers.adopt(wanted.collect());
        let adopted = adopt().into_iter().map(|(output, life)| (output.map, life));
        let mut adopted: HashMap<u32, Life> = adopted.collect();
        let mut taken = 0;
        for output in known {
            let there = adopted.remove(&output.map);
            let existing = self.take_output(journal, print, stage.id, output, there);
            taken += usize::from(existing.holder.is_some());
            job.spec.existing.push(existing);
        }
        self.publisher.resumed(job.spec.job, stage, taken);
    }

    /// What the scheduler is told of an output that an earlier run has left, and that an executor has taken over now,
    /// or none has.
    fn take_output(
        &self,
        journal: &Journal,
        print: &StagePrint,
        stage: StageId,
        mut output: journal::Output,
        there: Option<Life>,
    ) -> Existing {
        let updates = std::mem::take(&mut output.updates);
        let at = OutputAt { shuffle: ShuffleId(stage.0), map: output.map, attempt: output.attempt };
        // What was added to accumulators counts, whether or not the output is there, or somebody will need it again.
        let counts = there.is_some() || print.stable;
        let counted = counts && self.count_noted(stage, output.map, updates);
        let holder = match there {
            Some(life) if counted => {
                self.state.lock().sizes.learn(at, std::mem::take(&mut output.sizes));
                Some((life.executor, life.incarnation))
            }
            Some(life) => {
                self.state.lock().workers.drop_output(life.executor, at);
                None
            }
            None => None,
        };
        journal.taken(print, stage, &output, holder)
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
        let (executor, digest, sizes, file) = match finished {
            Finished::Map(result) => (LOCAL, result.digest, &result.sizes, result.file()),
            Finished::Kept { executor, digest, sizes, file } => {
                (*executor, *digest, sizes, file.clone())
            }
            Finished::Result(payload) => {
                if let Some(value) = encode_result(job, stage, payload)
                    && print.stable
                {
                    job.journaled_bytes += value.len() as u64;
                    if job.journaled_bytes <= RESULT_BYTES_MAX {
                        let value =
                            Value { partition, attempt, value, updates, ..Value::default() };
                        journal.result(print, value);
                    }
                }
                return;
            }
        };
        let Some(file) = file else { return };
        let (map, executor, sizes) = (partition, executor.0, sizes.clone());
        let output = journal::Output {
            map,
            attempt,
            executor,
            file,
            digest,
            sizes,
            updates,
            ..journal::Output::default()
        };
        journal.output(print, stage, output);
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
