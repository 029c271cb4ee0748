//! The one executor of local mode: slots of this process, which share its memory and its store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use millstream_planner::ids::{JobId, NodeId, ShuffleId};
use millstream_shuffle::store::MapKey;

use super::actor::{Driver, DriverLink};
use super::journal::Journal;
use super::publish::Publisher;
use super::reports::Life;
use super::workers::{Order, Wanted, Workers};
use crate::Metrics;
use crate::context::ExecutorStatus;
use crate::executor::{CommitGate, Launch, MapResult, Program, Runtime, Slots};
use crate::protocol::OutputAt;
use crate::scheduler::{ExecutorId, Incarnation, SchedulerConfig, TaskId};

/// The one executor of local mode.
pub(crate) const LOCAL: ExecutorId = ExecutorId(0);
const LIFE: Life = Life { executor: LOCAL, incarnation: Incarnation(1) };

/// Starts the driver of an application whose tasks run on `slots` threads of this process.
pub(crate) fn start_local(
    config: SchedulerConfig,
    slots: u32,
    publisher: Publisher,
    journal: Option<Journal>,
    runtime: impl FnOnce(CommitGate) -> Arc<Runtime>,
) -> Result<Arc<Driver>, std::io::Error> {
    let link = DriverLink::default();
    let gate = link.clone();
    let runtime = runtime(Arc::new(move |task| {
        gate.driver().is_some_and(|driver| driver.commit_requested(LIFE, task))
    }));
    let reporter = link.clone();
    let report = Arc::new(move |task, report, program| {
        // The program may be the last owner of a piece of lineage; it goes before the report, so
        // that nothing of a finished job is left on this thread when its caller goes on.
        drop::<Program>(program);
        if let Some(driver) = reporter.driver() {
            driver.ended(LIFE, task, report);
        }
    });
    let pool = Slots::start(slots, &runtime, report)?;
    let (loser, dirs) = (link.clone(), Arc::downgrade(&runtime));
    runtime.dirs.on_failure(move |dir| {
        if let (Some(driver), Some(runtime)) = (loser.driver(), dirs.upgrade()) {
            let (path, reason, lost) = runtime.lose_dir(dir);
            driver.dir_failed(LOCAL, &path, reason, lost);
        }
    });
    let memory_bytes = runtime.budget.limit();
    let workers = Box::new(LocalWorkers::new(runtime, pool));
    let driver = Driver::start(config, workers, publisher, &link, false, journal)?;
    driver.joined(LIFE, "localhost", slots, memory_bytes);
    Ok(driver)
}

/// Local slots, as their driver commands them.
struct LocalWorkers {
    runtime: Arc<Runtime>,
    slots: Option<Slots>,
    running: HashMap<TaskId, Arc<AtomicBool>>,
}

impl LocalWorkers {
    fn new(runtime: Arc<Runtime>, slots: Slots) -> Self {
        Self { runtime, slots: Some(slots), running: HashMap::new() }
    }
}

impl Workers for LocalWorkers {
    fn launch(&mut self, order: Order<'_>) {
        let Some(slots) = &self.slots else { return };
        let cancelled = Arc::new(AtomicBool::new(false));
        self.running.insert(order.task, Arc::clone(&cancelled));
        let program = Program::Here(Arc::clone(order.program));
        slots.launch(Launch { task: order.task, program, cancelled });
    }

    fn cancel(&mut self, _: ExecutorId, task: TaskId) {
        if let Some(cancelled) = self.running.remove(&task) {
            cancelled.store(true, Ordering::Relaxed);
        }
    }

    fn ended(&mut self, task: TaskId) {
        self.running.remove(&task);
    }

    /// The task waits for what the driver returns to it, not for a message.
    fn answer_commit(&mut self, executor: ExecutorId, task: TaskId, granted: bool) {
        if !granted {
            self.cancel(executor, task);
        }
    }

    fn keep(&mut self, task: TaskId, map: MapResult) {
        let key = MapKey { shuffle: task.stage.0, map: task.partition };
        // The scheduler's word is final: an output it has rolled back makes room.
        self.runtime.store.supersede(key, u64::from(task.attempt), map.output);
    }

    fn drop_output(&mut self, _: ExecutorId, output: OutputAt) {
        let key = MapKey { shuffle: output.shuffle.0, map: output.map };
        self.runtime.store.remove(key, u64::from(output.attempt));
    }

    fn drop_shuffle(&mut self, shuffle: ShuffleId) {
        self.runtime.tables.release(shuffle);
        self.runtime.store.remove_shuffle(shuffle.0);
    }

    fn drop_persisted(&mut self, node: NodeId) {
        self.runtime.persisted.drop_node(node, &self.runtime.events);
    }

    fn is_persisted(&self, node: NodeId, partitions: u32) -> bool {
        self.runtime.persisted.is_complete(node, partitions)
    }

    fn persisted_at(&self, _: NodeId, _: u32) -> Vec<Vec<String>> {
        Vec::new()
    }

    fn removed(&mut self, _: ExecutorId, _: Incarnation) {}

    fn adopt(&mut self, wanted: Vec<Wanted>) -> Box<dyn FnOnce() -> Vec<(OutputAt, Life)>> {
        let runtime = Arc::clone(&self.runtime);
        Box::new(move || {
            let mut wanted = wanted;
            wanted.retain(|wanted| runtime.adopt(wanted.output, &wanted.file).is_ok());
            wanted.into_iter().map(|wanted| (wanted.output, LIFE)).collect()
        })
    }

    fn job_over(&mut self, _: JobId) {}

    fn metrics(&self) -> Metrics {
        Metrics::of(&self.runtime)
    }

    fn executors(&self) -> Vec<ExecutorStatus> {
        let memory_bytes = self.runtime.budget.limit();
        let (host, slots) = ("localhost".to_owned(), self.slots.as_ref().map_or(0, Slots::count));
        vec![ExecutorStatus { executor: LOCAL.0, host, slots, memory_bytes }]
    }

    fn drain(&mut self, _: ExecutorId) -> bool {
        false
    }

    fn stop(&mut self, keep: bool) -> Box<dyn FnOnce() + Send> {
        if !keep {
            self.runtime.dirs.discard();
        }
        let (slots, runtime) = (self.slots.take(), Arc::clone(&self.runtime));
        Box::new(move || {
            drop(slots);
            runtime.dirs.end();
        })
    }
}
