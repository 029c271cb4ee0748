//! A driver that dies, and the next run of its program: what the first one writes down, what is lost meanwhile, and
//! what the second one must take over.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::rc::Rc;

use millstream::rehearsal::{Rehearsed, RehearsedOutput, RehearsedStage};
use millstream::scheduler::{
    Event, ExecutorId, Existing, Incarnation, JobSpec, LossReason, PlantedBug, Scheduler, Search,
    TaskId,
};
use millstream_planner::ids::{ShuffleId, StageId};
use millstream_planner::stages::{Determinism, Stage, StageGraph, StageOutput};
use tempfile::TempDir;

use super::books::Books;
use super::faults::Fault;
use super::prng::Prng;
use super::rows::{self, Row};
use super::world::{Action, World};

/// What a driver writes down, and what is known besides of what it should find.
#[derive(Debug)]
pub(super) struct Record {
    dir: TempDir,
    /// The real one; `None` only while the driver is dead.
    journal: Option<Rehearsed>,
    /// The results that it has, which it calls by their place.
    values: Vec<Rc<Vec<Row>>>,
    /// The map outputs that are not accepted yet: with whom, and in which file.
    pub(super) written: BTreeMap<TaskId, (ExecutorId, PathBuf, Option<NonZeroU64>)>,
    /// A file was written under a name that there was.
    pub(super) names_met: bool,
    /// By stage and map, the file of the output that was accepted last.
    accepted: BTreeMap<(StageId, u32), PathBuf>,
    /// The stages whose outputs this run has asked for.
    asked: BTreeSet<StageId>,
}

type Life = (ExecutorId, Incarnation);

impl World {
    /// From now on the driver keeps a journal, and dies now and then.
    pub(super) fn keep_journal(&mut self) {
        let Ok((dir, journal)) = open(self.config.planted) else { return };
        self.record = Some(Record {
            dir,
            journal: Some(journal),
            values: Vec::new(),
            written: BTreeMap::new(),
            names_met: false,
            accepted: BTreeMap::new(),
            asked: BTreeSet::new(),
        });
        let mut rng = Prng::new(self.seed ^ 0xdead);
        for _ in 0..rng.range(1, 3) {
            self.schedule(rng.range(50, 2_500), Action::Strike(Fault::Rerun));
        }
    }

    /// The driver writes down a task that counts.
    pub(super) fn note(&mut self, task: &TaskId, stage: &Stage) -> Result<(), String> {
        let graph = self.jobs.get(&task.job).map(|job| job.plan.spec.graph.clone());
        let (Some(record), Some(graph)) = (&mut self.record, graph) else { return Ok(()) };
        if record.names_met {
            return Err("a file was written under the name of another".to_owned());
        }
        let Some(journal) = &record.journal else { return Ok(()) };
        let known = known_as(&graph, stage);
        let TaskId { partition: map, attempt, .. } = *task;
        if let Some((executor, file, digest)) = record.written.remove(task) {
            record.accepted.insert((stage.id, map), file.clone());
            let output = RehearsedOutput { map, attempt, executor, file, digest };
            journal.note_output(&known, output);
        } else if let (Some(rows), StageOutput::Result) = (self.payloads.get(task), stage.output) {
            let place = record.values.len() as u64;
            record.values.push(Rc::clone(rows));
            journal.note_result(&known, map, attempt, place.to_le_bytes().to_vec());
        }
        Ok(())
    }

    /// The driver dies. Its executors begin new lives, under the names of each other, and with some of their files
    /// gone; the program is run again, but for the files that it has published.
    pub(super) fn rerun(&mut self) {
        let Some(record) = &mut self.record else { return };
        // The one that died gives it up first.
        record.journal = None;
        record.journal = Rehearsed::open(record.dir.path(), self.config.planted).ok();
        record.written.clear();
        record.asked.clear();
        self.figures.count("drivers that died");
        self.run += 1;
        self.forget_agenda();
        self.scheduler = Scheduler::new(self.config.clone());
        self.books = Books::default();
        let commits = |graph: &StageGraph| {
            graph.result().is_some_and(|stage| matches!(stage.output, StageOutput::Commit))
        };
        self.jobs.retain(|_, job| job.outcome == Some(Ok(())) && commits(&job.plan.spec.graph));
        self.published.retain(|task, _| self.jobs.contains_key(&task.job));
        self.payloads.clear();
        self.shuffles.clear();
        self.released.clear();
        self.rename_executors();
        for index in 0..self.planned.len() {
            if !self.jobs.contains_key(&self.planned[index].spec.job) {
                let at = self.now + self.rng.range(0, 600);
                self.schedule(at, Action::Submit(index));
            }
        }
    }

    fn rename_executors(&mut self) {
        let names: Vec<ExecutorId> = self.executors.keys().copied().collect();
        let mut machines: Vec<_> = std::mem::take(&mut self.executors).into_values().collect();
        // No life of the last run is taken for one of this.
        let lives = machines.iter().map(|executor| executor.incarnation.0).max().unwrap_or(0);
        for id in names {
            let mut executor = machines.swap_remove(self.rng.index(machines.len()));
            executor.incarnation = Incarnation(lives);
            let alive = executor.alive;
            executor.rise();
            executor.alive = alive;
            executor.disk.retain(|_, _| !self.rng.one_in(12));
            self.executors.insert(id, executor);
            if alive {
                self.announce(id);
            }
        }
    }

    /// What the driver finds of a job before it is submitted; returns the results that it has already.
    pub(super) fn take_over(
        &mut self,
        spec: &mut JobSpec,
    ) -> Result<BTreeMap<u32, Rc<Vec<Row>>>, String> {
        let mut results = BTreeMap::new();
        let Some(mut record) = self.record.take() else { return Ok(results) };
        let graph = spec.graph.clone();
        let last = graph.result().map(|stage| known_as(&graph, stage));
        let Some(last) = last else { return Err("a job without a last stage".to_owned()) };
        let journal = record.journal.as_ref();
        let all = journal.and_then(|journal| journal.all_results(&last, spec.targets.clone()));
        if all.is_some() {
            self.figures.count("jobs whose results were known");
        } else {
            for stage in &graph.stages {
                if let StageOutput::Shuffle { shuffle, .. } = stage.output {
                    let found = self.take_outputs(&mut record, &graph, stage, shuffle);
                    spec.existing.extend(found?);
                }
            }
        }
        let some =
            || record.journal.as_ref().map(|journal| journal.results(&last, spec.targets.clone()));
        for (partition, attempt, value) in all.or_else(some).into_iter().flatten() {
            let place = <[u8; 8]>::try_from(value).map_or(u64::MAX, u64::from_le_bytes);
            let Some(rows) = record.values.get(place as usize) else { continue };
            results.insert(partition, Rc::clone(rows));
            let (stage, holder, digest) = (last.id, None, None);
            spec.existing.push(Existing { stage, partition, attempt, holder, digest });
        }
        self.record = Some(record);
        self.befall_holders(&spec.existing)?;
        for existing in &spec.existing {
            self.books.used(existing.stage, existing.partition, existing.attempt);
        }
        Ok(results)
    }

    fn take_outputs(
        &mut self,
        record: &mut Record,
        graph: &StageGraph,
        stage: &Stage,
        shuffle: ShuffleId,
    ) -> Result<Vec<Existing>, String> {
        let Some(journal) = &record.journal else { return Ok(Vec::new()) };
        let known = known_as(graph, stage);
        let there = self.reachable();
        let is_there =
            |file: &PathBuf| there.iter().any(|id| self.executors[id].disk.contains_key(file));
        let mut wanted = BTreeSet::new();
        if record.asked.insert(stage.id) && is_repeatable(graph, stage) {
            let left = record.accepted.range((stage.id, 0)..=(stage.id, u32::MAX));
            wanted.extend(left.filter(|(_, file)| is_there(file)).map(|((_, map), _)| *map));
        }
        let found = journal.take_outputs(&known, |outputs| self.adopt(shuffle, outputs, &there));
        let held = |existing: &&Existing| existing.holder.is_some();
        let taken: BTreeSet<u32> = found.iter().filter(held).map(|e| e.partition).collect();
        match wanted.difference(&taken).next() {
            Some(map) => Err(format!("map {map} of {shuffle} is there, and is not taken over")),
            None => Ok(found),
        }
    }

    /// The executors that answer.
    fn reachable(&self) -> BTreeSet<ExecutorId> {
        let answers = |(id, executor): &(&ExecutorId, &super::executor::SimExecutor)| {
            executor.alive
                && self.books.counts_on(**id) == Some(executor.incarnation)
                && executor.cut_until.max(executor.stopped_until) <= self.now
        };
        self.executors.iter().filter(answers).map(|(id, _)| *id).collect()
    }

    /// Has executors take over what is there of some outputs.
    fn adopt(
        &mut self,
        shuffle: ShuffleId,
        outputs: &[RehearsedOutput],
        there: &BTreeSet<ExecutorId>,
    ) -> Vec<(u32, Life)> {
        let mut search = Search::new(outputs.iter().map(|output| (output.map, output.executor)));
        let mut adopted = Vec::new();
        loop {
            let requests = search.next(there);
            if requests.is_empty() {
                return adopted;
            }
            for (id, map) in
                requests.iter().flat_map(|(id, maps)| maps.iter().map(|map| (*id, *map)))
            {
                let output = outputs.iter().find(|output| output.map == map);
                let (Some(output), Some(executor)) = (output, self.executors.get_mut(&id)) else {
                    continue;
                };
                let key = (shuffle, map, output.attempt);
                if executor.adopt(key, &output.file) && search.found(map) {
                    let life = (id, executor.incarnation);
                    adopted.push((map, life));
                    self.figures.count("outputs taken over");
                    if self.serves {
                        let rows = executor.store.get(&key).unwrap_or_default();
                        self.service.insert((life, shuffle, map, output.attempt), rows);
                    }
                }
            }
        }
    }

    /// What may come between the answer of an executor and the submission of the job.
    fn befall_holders(&mut self, existing: &[Existing]) -> Result<(), String> {
        let Some((executor, incarnation)) = existing.iter().find_map(|existing| existing.holder)
        else {
            return Ok(());
        };
        if !self.rng.one_in(8) {
            return Ok(());
        }
        self.figures.count("holders that died before they were entered");
        self.crash(executor, None);
        let reason = LossReason::Disconnected;
        self.feed((Event::ExecutorLost { executor, incarnation, reason }, None))?;
        self.restart(executor);
        let Some(next) = self.executors.get(&executor) else { return Ok(()) };
        let (incarnation, capacity, host) = (next.incarnation, next.capacity, Self::host(executor));
        self.feed((Event::ExecutorJoined { executor, incarnation, host, capacity }, None))
    }

    /// What was taken over is entered if its holder lives, and is not if it does not.
    pub(super) fn check_taken_over(&self, existing: &[Existing]) -> Result<(), String> {
        for existing in existing {
            let Some((executor, incarnation)) = existing.holder else { continue };
            let graphs = self.jobs.values().map(|job| &job.plan.spec.graph);
            let stage =
                graphs.filter_map(|graph| Some((graph, graph.stage(existing.stage)?))).next();
            // A gang of which one is missing starts over as a whole.
            let stays =
                stage.is_some_and(|(graph, stage)| known_as(graph, stage).stable && !stage.gang);
            let at = self
                .scheduler
                .outputs(ShuffleId(existing.stage.0))
                .nth(existing.partition as usize);
            let entered = at
                .flatten()
                .is_some_and(|at| (at.executor, at.attempt) == (executor, existing.attempt));
            let lives = self.books.counts_on(executor) == Some(incarnation);
            if entered && !lives {
                return Err(format!("{existing:?} is entered, though its holder is no more"));
            }
            if lives && stays && !entered {
                return Err(format!("{existing:?} is not entered, though its holder lives"));
            }
        }
        Ok(())
    }
}

fn open(planted: Option<PlantedBug>) -> Result<(TempDir, Rehearsed), millstream::Error> {
    let dir = tempfile::tempdir().map_err(|source| millstream::Error::System {
        what: "making a directory for a journal",
        source,
    })?;
    let journal = Rehearsed::open(dir.path(), planted)?;
    Ok((dir, journal))
}

/// A stage as journals know it.
fn known_as(graph: &StageGraph, stage: &Stage) -> RehearsedStage {
    let says_so = |stage: &Stage| stage.determinism != Determinism::Indeterminate;
    let inputs = stage.inputs.iter().map(|input| input.shuffle).collect();
    RehearsedStage { id: stage.id, stable: are_all(graph, stage, &says_so), inputs }
}

/// Whether a stage and all it reads give the same rows each time, whatever they say.
fn is_repeatable(graph: &StageGraph, stage: &Stage) -> bool {
    are_all(graph, stage, &rows::is_repeatable)
}

/// Whether a stage and all below it are such.
fn are_all(graph: &StageGraph, stage: &Stage, such: &impl Fn(&Stage) -> bool) -> bool {
    let mut writers = stage.inputs.iter().map(|input| graph.stage(input.shuffle.stage()));
    such(stage) && writers.all(|writer| writer.is_some_and(|writer| are_all(graph, writer, such)))
}
