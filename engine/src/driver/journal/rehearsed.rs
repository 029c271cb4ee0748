//! The journal for the simulation, which has neither driver nor closures. What is noted and what is taken over is
//! decided by the journal itself.

use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};

use millstream_planner::ids::{ShuffleId, StageId};

use super::super::resume::StagePrint;
use super::{Journal, Output, Print, Value};
use crate::error::Error;
use crate::scheduler::{ExecutorId, Existing, Incarnation, PlantedBug};

/// The journal of a simulated application.
#[derive(Debug)]
pub struct Rehearsed(Journal);

/// A stage as a journal knows it. In all runs of a simulation it has one number.
#[derive(Clone, Debug)]
pub struct RehearsedStage {
    /// Its number.
    pub id: StageId,
    /// Whether a second run is sure to give the same.
    pub stable: bool,
    /// The shuffles it reads.
    pub inputs: Vec<ShuffleId>,
}

/// A map output.
#[derive(Clone, PartialEq, Debug)]
pub struct RehearsedOutput {
    /// The map task.
    pub map: u32,
    /// Which attempt has made it.
    pub attempt: u32,
    /// Who had it.
    pub executor: ExecutorId,
    /// Where it was.
    pub file: PathBuf,
    /// What it is known by.
    pub digest: Option<NonZeroU64>,
}

/// The partition, the attempt, and the value of a result.
pub(crate) type RehearsedResult = (u32, u32, Vec<u8>);

fn of(results: Vec<Value>) -> Vec<RehearsedResult> {
    let results = results.into_iter();
    results.map(|result| (result.partition, result.attempt, result.value)).collect()
}

impl RehearsedStage {
    fn print(&self) -> StagePrint {
        let (print, inputs) = (Print::from(self.id.0), self.inputs.clone());
        StagePrint { print, stable: self.stable, inputs }
    }
}

impl Rehearsed {
    /// Opens the journal in a directory, as the next run does after the one before was killed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn open(dir: &Path, planted: Option<PlantedBug>) -> Result<Self, Error> {
        let journal = Journal::open(dir, "simulated", 1, Vec::new())?;
        journal.inner.lock().bases.alike = planted == Some(PlantedBug::IgnoreBasis);
        Ok(Self(journal))
    }

    /// Notes a map output that counts.
    pub fn note_output(&self, stage: &RehearsedStage, output: RehearsedOutput) {
        let RehearsedOutput { map, attempt, executor: ExecutorId(executor), file, digest } = output;
        let output = Output { map, attempt, executor, file, digest, ..Output::default() };
        self.0.output(&stage.print(), stage.id, output);
    }

    /// Notes a result that counts.
    pub fn note_result(
        &self,
        stage: &RehearsedStage,
        partition: u32,
        attempt: u32,
        value: Vec<u8>,
    ) {
        if stage.stable {
            let value = Value { partition, attempt, value, ..Value::default() };
            self.0.result(&stage.print(), value);
        }
    }

    /// The results of some partitions of a stage that were made from what has been taken over.
    #[must_use]
    pub fn results(&self, stage: &RehearsedStage, targets: Range<u32>) -> Vec<RehearsedResult> {
        of(self.0.results(&stage.print(), targets))
    }

    /// The results of some partitions of a stage, if they are known of all.
    #[must_use]
    pub fn all_results(
        &self,
        stage: &RehearsedStage,
        targets: Range<u32>,
    ) -> Option<Vec<RehearsedResult>> {
        self.0.all_results(&stage.print(), targets).map(of)
    }

    /// What the scheduler is told of the outputs of a stage that earlier runs have left; `adopt` says who has taken
    /// one over.
    pub fn take_outputs(
        &self,
        stage: &RehearsedStage,
        adopt: impl FnOnce(&[RehearsedOutput]) -> Vec<(u32, (ExecutorId, Incarnation))>,
    ) -> Vec<Existing> {
        let print = stage.print();
        let outputs = self.0.take_outputs(&print, stage.id);
        let known = outputs.iter().map(|output| RehearsedOutput {
            map: output.map,
            attempt: output.attempt,
            executor: ExecutorId(output.executor),
            file: output.file.clone(),
            digest: output.digest,
        });
        let adopted = adopt(&known.collect::<Vec<_>>());
        let holder = |map| adopted.iter().find(|(of, _)| *of == map).map(|(_, life)| *life);
        let taken = |output: &Output| self.0.taken(&print, stage.id, output, holder(output.map));
        outputs.iter().map(taken).collect()
    }
}
