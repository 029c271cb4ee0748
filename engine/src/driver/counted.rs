//! Adding to accumulators what tasks have added: once for each partition of a stage, be its output taken
//! over from an earlier run, accepted, or lost and made again.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use millstream_planner::ids::StageId;
use parking_lot::Mutex;

use super::actor::Driver;
use crate::shared::AccumulatorUpdates;

/// The partitions whose additions are in the totals, by stage. Those that added nothing are not noted:
/// most programs have no accumulators.
#[derive(Default)]
pub(super) struct Counted(Mutex<HashMap<StageId, HashSet<u32>>>);

impl Counted {
    /// Notes a partition; false if it was noted before.
    fn note(&self, stage: StageId, partition: u32) -> bool {
        self.0.lock().entry(stage).or_default().insert(partition)
    }

    fn take_back(&self, stage: StageId, partition: u32) {
        if let Some(partitions) = self.0.lock().get_mut(&stage) {
            partitions.remove(&partition);
        }
    }

    /// No task of this stage will run again.
    pub(super) fn forget(&self, stage: StageId) {
        self.0.lock().remove(&stage);
    }
}

impl Driver {
    /// Counts what a task has added, unless its partition has been counted.
    ///
    /// # Errors
    /// Merges are code of the user's. What one panicked with; the partition has not been counted then.
    pub(super) fn count(
        &self,
        stage: StageId,
        partition: u32,
        updates: AccumulatorUpdates,
    ) -> Result<(), Box<dyn Any + Send>> {
        if updates.is_empty() || !self.counted.note(stage, partition) {
            return Ok(());
        }
        catch_unwind(AssertUnwindSafe(|| self.totals.merge(updates)))
            .inspect_err(|_| self.counted.take_back(stage, partition))
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use millstream_planner::ids::{JobId, NodeId, ShuffleId};
    use millstream_planner::stages::{
        Determinism, Locality, Need, ResourceRequest, Stage, StageGraph, StageInput, StageOutput,
    };

    use super::super::actor::DriverLink;
    use super::super::job::Job;
    use super::super::journal::{Journal, Output as Noted};
    use super::super::publish::{Publisher, PublisherConfig};
    use super::super::reports::Life;
    use super::super::resume::StagePrint;
    use super::super::workers::{Order, Wanted, Workers};
    use super::*;
    use crate::Metrics;
    use crate::context::ExecutorStatus;
    use crate::executor::{MapResult, Outcome, Report};
    use crate::protocol::OutputAt;
    use crate::scheduler::{
        ExecutorId, Incarnation, JobSpec, LossReason, SchedulerConfig, StageAttempt, TaskId,
    };
    use crate::shared::{Accumulator, enter_task, leave_task};

    const MAPS: StageId = StageId(1);
    const JOB: JobId = JobId(9);
    const PARTITIONS: u32 = 2;
    /// What each task adds.
    const ADDS: u64 = 10;

    /// Executors that do what they are told without being there: the test reports for them.
    struct Absent {
        /// Who takes over what an earlier run has left.
        adopter: Life,
    }

    impl Workers for Absent {
        fn launch(&mut self, _: Order<'_>) {}
        fn cancel(&mut self, _: ExecutorId, _: TaskId) {}
        fn ended(&mut self, _: TaskId) {}
        fn answer_commit(&mut self, _: ExecutorId, _: TaskId, _: bool) {}
        fn keep(&mut self, _: TaskId, _: MapResult) {}
        fn drop_output(&mut self, _: ExecutorId, _: OutputAt) {}
        fn drop_shuffle(&mut self, _: ShuffleId) {}
        fn drop_persisted(&mut self, _: NodeId) {}
        fn is_persisted(&self, _: NodeId, _: u32) -> bool {
            false
        }
        fn persisted_at(&self, _: NodeId, _: u32) -> Vec<Vec<String>> {
            Vec::new()
        }
        fn removed(&mut self, _: ExecutorId, _: Incarnation) {}
        fn adopt(&mut self, wanted: Vec<Wanted>) -> Box<dyn FnOnce() -> Vec<(OutputAt, Life)>> {
            let adopter = self.adopter;
            Box::new(move || wanted.into_iter().map(|wanted| (wanted.output, adopter)).collect())
        }
        fn job_over(&mut self, _: JobId) {}
        fn metrics(&self) -> Metrics {
            Metrics::sum(0, [], Vec::new())
        }
        fn executors(&self) -> Vec<ExecutorStatus> {
            Vec::new()
        }
        fn drain(&mut self, _: ExecutorId) -> bool {
            false
        }
        fn stop(&mut self, _: bool) -> Box<dyn FnOnce() + Send> {
            Box::new(|| ())
        }
    }

    /// A driver of such executors, a job of two stages, and what its tasks count with.
    struct Rig {
        driver: Arc<Driver>,
        lines: Accumulator<u64>,
    }

    fn life(incarnation: u64) -> Life {
        Life { executor: ExecutorId(1), incarnation: Incarnation(incarnation) }
    }

    impl Rig {
        fn new(journal: Option<Journal>, adopter: Life) -> Self {
            let publisher = Publisher::new(PublisherConfig {
                app_name: "counted".to_owned(),
                master: String::new(),
                memory_limit: 0,
                quiet: true,
                event_log: None,
                listeners: Vec::new(),
            });
            let (config, workers) = (SchedulerConfig::default(), Box::new(Absent { adopter }));
            let (publisher, link) = (publisher.unwrap(), DriverLink::default());
            let driver = Driver::start(config, workers, publisher, &link, false, journal).unwrap();
            let lines = Accumulator::new(ACCUMULATOR, driver.totals());
            Self { driver, lines }
        }

        fn submit(&self) {
            let stage = |id, inputs, output| Stage {
                id,
                name: id.to_string(),
                partitions: PARTITIONS,
                inputs,
                output,
                request: ResourceRequest::default(),
                locality: Locality::Any,
                determinism: Determinism::Deterministic,
                gang: false,
            };
            let shuffle = ShuffleId(MAPS.0);
            let maps = StageOutput::Shuffle { shuffle, partitions: PARTITIONS };
            let input = StageInput { shuffle, need: Need::Always };
            let stages = vec![
                stage(MAPS, Vec::new(), maps),
                stage(StageId(2), vec![input], StageOutput::Result),
            ];
            let print = StagePrint { print: PRINT, stable: true, inputs: Vec::new() };
            let end = self.driver.submit(Job {
                spec: JobSpec::new(JOB, Arc::new(StageGraph { stages })),
                name: "count".to_owned(),
                group: None,
                programs: HashMap::new(),
                sink: Box::new(|_, _| ()),
                prints: HashMap::from([(MAPS, print)]),
            });
            drop(end);
        }

        fn join(&self, incarnation: u64) {
            self.driver.joined(life(incarnation), "host", PARTITIONS, 1 << 20);
        }

        /// Both map tasks report their end, after having counted.
        fn finish_maps(&self, incarnation: u64, stage_attempt: u32, attempt: u32) {
            for partition in 0..PARTITIONS {
                let stage_attempt = StageAttempt(stage_attempt);
                let task = TaskId { job: JOB, stage: MAPS, stage_attempt, partition, attempt };
                let outcome = Outcome::Kept {
                    rows: 1,
                    bytes: 1,
                    digest: None,
                    sizes: Vec::new(),
                    file: None,
                };
                let report =
                    Report { outcome, updates: self.additions(), metrics: Default::default() };
                self.driver.ended(life(incarnation), task, report);
            }
        }

        fn additions(&self) -> AccumulatorUpdates {
            enter_task();
            self.lines.add(ADDS);
            leave_task()
        }

        fn maps_there(&self) -> usize {
            self.driver.state.lock().scheduler.outputs(ShuffleId(MAPS.0)).flatten().count()
        }

        fn is_counted_once(&self) {
            assert_eq!(
                self.maps_there(),
                PARTITIONS as usize,
                "the tasks of the test are the scheduler's"
            );
            assert_eq!(self.lines.value(), ADDS * u64::from(PARTITIONS));
        }
    }

    const ACCUMULATOR: u64 = 5;
    const PRINT: u128 = 77;

    /// A journal of a run that had finished both maps.
    fn journal(dir: &Path) -> Journal {
        let open = || Journal::open(dir, "counted", 1, Vec::new()).unwrap();
        let first = open();
        let stage = StagePrint { print: PRINT, stable: true, inputs: Vec::new() };
        for map in 0..PARTITIONS {
            let (file, executor) = (PathBuf::from("map"), 1);
            let updates = vec![(ACCUMULATOR, postcard::to_stdvec(&ADDS).unwrap())];
            first.output(&stage, MAPS, Noted { map, executor, file, updates, ..Noted::default() });
        }
        drop(first);
        open()
    }

    #[test]
    fn what_was_adopted_and_then_refused_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        // The executor that took the outputs over is gone before the scheduler hears of them.
        let rig = Rig::new(Some(journal(dir.path())), life(1));
        rig.submit();
        assert_eq!(rig.maps_there(), 0);
        rig.join(2);
        rig.finish_maps(2, 0, 1);
        rig.is_counted_once();
    }

    #[test]
    fn what_was_adopted_and_then_lost_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let rig = Rig::new(Some(journal(dir.path())), life(1));
        rig.join(1);
        rig.submit();
        rig.is_counted_once();
        rig.driver.lost(life(1), LossReason::Exited);
        rig.join(2);
        rig.finish_maps(2, 0, 1);
        rig.is_counted_once();
    }

    #[test]
    fn what_was_accepted_and_then_lost_counts_once() {
        let rig = Rig::new(None, life(1));
        rig.join(1);
        rig.submit();
        rig.finish_maps(1, 0, 0);
        rig.is_counted_once();
        rig.driver.lost(life(1), LossReason::Exited);
        rig.join(2);
        rig.finish_maps(2, 1, 1);
        rig.is_counted_once();
    }

    #[test]
    fn a_shuffle_that_is_released_is_forgotten() {
        let rig = Rig::new(None, life(1));
        rig.join(1);
        rig.submit();
        rig.finish_maps(1, 0, 0);
        rig.driver.cancel(None);
        rig.driver.release_shuffle(ShuffleId(MAPS.0));
        assert!(rig.driver.counted.0.lock().is_empty());
    }
}
