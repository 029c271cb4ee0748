//! The driver's commands, as messages.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_planner::ids::{JobId, NodeId, ShuffleId};
use tokio::runtime::Runtime as Tokio;

use super::super::reports::Life;
use super::super::workers::{Order, Wanted, Workers};
use super::adopt::adopt;
use super::processes::Processes;
use super::services;
use super::sessions::{Session, Sessions, Table};
use super::settings::ClusterSettings;
use crate::Metrics;
use crate::context::ExecutorStatus;
use crate::executor::MapResult;
use crate::protocol::{
    Holder, InputAt, Launched, OutputAt, PART_BYTES, ProgramKey, ServedBy, ToExecutor,
};
use crate::scheduler::{ExecutorId, Incarnation, OutputLocation, Scheduler, TaskId};

/// See the module's documentation.
pub(super) struct ClusterWorkers {
    settings: Arc<ClusterSettings>,
    sessions: Arc<Sessions>,
    processes: Option<Processes>,
    tokio: Option<Tokio>,
}

impl ClusterWorkers {
    pub(super) fn new(
        settings: Arc<ClusterSettings>,
        sessions: Arc<Sessions>,
        processes: Option<Processes>,
        tokio: Tokio,
    ) -> Self {
        Self { settings, sessions, processes, tokio: Some(tokio) }
    }

    fn say(&self, executor: ExecutorId, message: ToExecutor) {
        if let Some(session) = self.sessions.0.lock().live.get(&executor) {
            session.say(message);
        }
    }

    /// Nobody reads a shuffle any more: what executors that are no more have left of it goes.
    fn drop_departed(&self, shuffle: ShuffleId) {
        let departed: Vec<ServedBy> = self.sessions.0.lock().departed().cloned().collect();
        if let (false, Some(tokio)) = (departed.is_empty(), &self.tokio) {
            let access = self.settings.access.clone();
            tokio.spawn(services::drop_shuffle(departed, access, shuffle));
        }
    }

    fn say_to_all(&self, message: &ToExecutor) {
        for session in self.sessions.0.lock().live.values() {
            session.say(message.clone());
        }
    }
}

impl Workers for ClusterWorkers {
    fn launch(&mut self, order: Order<'_>) {
        let mut table = self.sessions.0.lock();
        let table = &mut *table;
        // One that has just gone: the driver is about to hear of it.
        let Some(mut session) = table.live.remove(&order.executor) else { return };
        let key = ProgramKey { job: order.task.job, stage: order.task.stage };
        if session.programs.insert(key) {
            send_program(&session, key, order.program.encoded());
        }
        for input in order.inputs {
            let version = order.scheduler.outputs_version(input.shuffle);
            if session.inputs.insert(input.shuffle, version) != Some(version) {
                session.say(inputs(input.shuffle, order.scheduler, table, &session));
            }
        }
        session.say(ToExecutor::Launch(Launched { task: order.task, program: key }));
        table.live.insert(order.executor, session);
    }

    fn cancel(&mut self, executor: ExecutorId, task: TaskId) {
        self.say(executor, ToExecutor::Cancel(task));
    }

    fn ended(&mut self, _: TaskId) {}

    fn answer_commit(&mut self, executor: ExecutorId, task: TaskId, granted: bool) {
        self.say(executor, ToExecutor::Commit { task, granted });
    }

    /// No map output is made in this process.
    fn keep(&mut self, _: TaskId, _: MapResult) {}

    fn drop_output(&mut self, executor: ExecutorId, output: OutputAt) {
        self.say(executor, ToExecutor::DropOutput(output));
    }

    fn drop_shuffle(&mut self, shuffle: ShuffleId) {
        self.say_to_all(&ToExecutor::DropShuffle(shuffle));
        self.drop_departed(shuffle);
    }

    fn drop_persisted(&mut self, node: NodeId) {
        self.sessions.0.lock().persisted.remove(&node);
        self.say_to_all(&ToExecutor::DropPersisted(node));
    }

    fn is_persisted(&self, node: NodeId, partitions: u32) -> bool {
        let table = self.sessions.0.lock();
        table.persisted.get(&node).is_some_and(|known| known.len() == partitions as usize)
    }

    fn persisted_at(&self, node: NodeId, partitions: u32) -> Vec<Vec<String>> {
        let table = self.sessions.0.lock();
        let Some(known) = table.persisted.get(&node) else { return Vec::new() };
        let host = |partition: u32| {
            let session = known.get(&partition).and_then(|holder| table.live.get(holder));
            session.map(|session| session.host.clone()).into_iter().collect()
        };
        (0..partitions).map(host).collect()
    }

    fn removed(&mut self, executor: ExecutorId, incarnation: Incarnation) {
        self.sessions.0.lock().end(Life { executor, incarnation });
    }

    fn adopt(&mut self, wanted: Vec<Wanted>) -> Box<dyn FnOnce() -> Vec<(OutputAt, Life)>> {
        let sessions = Arc::clone(&self.sessions);
        let spawned = self.settings.spawn.as_ref().map(|spawn| u64::from(spawn.executors));
        Box::new(move || adopt(&sessions, wanted, spawned))
    }

    fn job_over(&mut self, job: JobId) {
        let mut table = self.sessions.0.lock();
        for session in table.live.values_mut() {
            let before = session.programs.len();
            session.programs.retain(|key| key.job != job);
            if session.programs.len() < before {
                session.say(ToExecutor::JobOver(job));
            }
        }
    }

    fn metrics(&self) -> Metrics {
        let table = self.sessions.0.lock();
        let dirs = self.settings.spawn.iter().flat_map(|spawn| &spawn.dirs);
        let dirs = dirs.map(|dir| dir.path.clone()).collect();
        Metrics::sum(table.memory_bytes.values().sum(), table.totals.values(), dirs)
    }

    fn executors(&self) -> Vec<ExecutorStatus> {
        let table = self.sessions.0.lock();
        let mut all: Vec<ExecutorStatus> = table.live.values().map(Session::status).collect();
        all.sort_by_key(|status| status.executor);
        all
    }

    fn drain(&mut self, executor: ExecutorId) -> bool {
        let table = self.sessions.0.lock();
        let session = table.live.get(&executor);
        session.inspect(|session| session.say(ToExecutor::Drain)).is_some()
    }

    fn stop(&mut self, keep: bool) -> Box<dyn FnOnce() + Send> {
        {
            let mut table = self.sessions.0.lock();
            (table.over, table.keep) = (true, keep);
        }
        self.say_to_all(&ToExecutor::Shutdown { keep });
        let (processes, tokio) = (self.processes.take(), self.tokio.take());
        let (sessions, settings) = (Arc::clone(&self.sessions), Arc::clone(&self.settings));
        let services = sessions.0.lock().services();
        Box::new(move || {
            wait_for_farewells(&sessions);
            if let Some(processes) = processes {
                processes.stop();
            }
            if !keep {
                services::tell_all(&services, &settings);
            }
            if let Some(tokio) = tokio {
                // Nobody waits for a conversation: the driver may be stopped by one of its threads.
                tokio.shutdown_background();
            }
        })
    }
}

/// Waits for the executors to hang up, which they do when they have heard that the application is over:
/// one that only finds its driver gone would look for it.
fn wait_for_farewells(sessions: &Sessions) {
    const PATIENCE: Duration = Duration::from_secs(2);
    let since = Instant::now();
    while !sessions.0.lock().live.is_empty() && since.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a program, in parts.
fn send_program(session: &Session, key: ProgramKey, bytes: &[u8]) {
    let parts = bytes.chunks(PART_BYTES);
    let last = parts.len();
    for (number, part) in (1..).zip(parts) {
        session.say(ToExecutor::Program { key, bytes: part.to_vec(), last: number == last });
    }
}

/// Where the map outputs of a shuffle are now.
fn inputs(
    shuffle: ShuffleId,
    scheduler: &Scheduler,
    table: &Table,
    reader: &Session,
) -> ToExecutor {
    let mut holders: Vec<Holder> = Vec::new();
    let mut places: HashMap<(ExecutorId, Incarnation), u32> = HashMap::new();
    let maps = scheduler.outputs(shuffle).map(|output| {
        let output = output?;
        let OutputLocation { executor, incarnation, .. } = output;
        let place = match places.get(&(executor, incarnation)) {
            Some(place) => *place,
            None => {
                let life = Life { executor, incarnation };
                let holder = match reader.life == life {
                    true => reader.holder(),
                    false => table.holder(life)?,
                };
                let place = u32::try_from(holders.len()).ok()?;
                holders.push(holder);
                places.insert((executor, incarnation), place);
                place
            }
        };
        Some(InputAt { holder: place, attempt: output.attempt })
    });
    let maps = maps.collect();
    ToExecutor::Inputs { shuffle, maps, holders }
}
