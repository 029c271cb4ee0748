//! What the driver says to an executor, carried out.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam::channel::{Sender, unbounded};
use millstream_planner::ids::{JobId, NodeId, ShuffleId};
use millstream_shuffle::store::MapKey;
use parking_lot::Mutex;

use super::inputs::{Inputs, Located};
use super::outbox::Outbox;
use crate::executor::{Launch, Outcome, Program, Report, Runtime, SentProgram, Slots};
use crate::protocol::{Launched, OutputAt, ProgramKey, ToDriver, ToExecutor};
use crate::scheduler::{TaskFailure, TaskId};

/// What follows from a message, beyond what has been done.
pub(super) enum Then {
    GoOn,
    /// Take no more tasks and go when those there are have ended.
    Drain,
    /// The application is over; its files are for a next run, or not.
    Stop {
        keep: bool,
    },
    /// The driver does not want this executor.
    Refused(String),
}

/// See the module's documentation. Nothing here touches a disk or runs user code: it is called on the
/// thread that keeps the executor alive.
pub(super) struct Inbox {
    inputs: Arc<Inputs>,
    outbox: Outbox,
    slots: Slots,
    running: Running,
    programs: HashMap<ProgramKey, Arc<SentProgram>>,
    /// The parts of a program of which the last has yet to come.
    arriving: HashMap<ProgramKey, Vec<u8>>,
    chores: Sender<Chore>,
}

/// The tasks of an executor whose end has not been reported.
#[derive(Clone, Default)]
pub(super) struct Running(Arc<Mutex<HashMap<TaskId, Arc<AtomicBool>>>>);

impl Running {
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Tells all tasks to stop.
    pub(super) fn cancel_all(&self) {
        for cancelled in self.0.lock().values() {
            cancelled.store(true, Ordering::Relaxed);
        }
    }
}

/// What takes the disk's time: removing what is no longer needed, and taking over what is there.
enum Chore {
    Output(OutputAt),
    Shuffle(u64),
    Persisted(NodeId),
    Programs(Vec<Arc<SentProgram>>),
    Adopt { request: u64, outputs: Vec<(OutputAt, String)> },
}

impl Inbox {
    /// Starts the slots.
    pub(super) fn new(
        slots: u32,
        runtime: &Arc<Runtime>,
        inputs: Arc<Inputs>,
        outbox: Outbox,
    ) -> Result<Self, std::io::Error> {
        let running = Running::default();
        let reporter = {
            let (running, outbox, runtime) = (running.clone(), outbox.clone(), Arc::clone(runtime));
            Arc::new(move |task: TaskId, report: Report, program: Program| {
                outbox.report(task, keep(task, report, &runtime), &program, &runtime);
                // Not before: an executor that drains has said all it has to say once nothing runs.
                running.0.lock().remove(&task);
            })
        };
        let slots = Slots::start(slots, runtime, reporter)?;
        let chores = start_chores(Arc::clone(runtime), outbox.clone())?;
        let (programs, arriving) = (HashMap::new(), HashMap::new());
        Ok(Self { inputs, outbox, slots, running, programs, arriving, chores })
    }

    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    /// Carries out one message.
    pub(super) fn take(&mut self, message: ToExecutor) -> Then {
        match message {
            ToExecutor::Welcome(_) | ToExecutor::Heartbeat => {}
            ToExecutor::Refused(why) => return Then::Refused(why),
            ToExecutor::Program { key, bytes, last } => self.take_program(key, bytes, last),
            ToExecutor::JobOver(job) => self.forget_job(job),
            ToExecutor::Inputs { shuffle, maps, holders } => {
                self.inputs.learn(shuffle, Located { maps, holders });
            }
            ToExecutor::Gone { data_addr } => self.inputs.fetcher.note_gone(&data_addr),
            ToExecutor::Launch(launched) => self.launch(launched),
            ToExecutor::Cancel(task) => self.cancel(task),
            ToExecutor::Commit { task, granted } => {
                self.outbox.answer(task, granted);
                if !granted {
                    self.cancel(task);
                }
            }
            ToExecutor::DropOutput(output) => self.put_aside(Chore::Output(output)),
            ToExecutor::DropShuffle(shuffle) => {
                self.inputs.forget(shuffle);
                self.put_aside(Chore::Shuffle(shuffle.0));
            }
            ToExecutor::DropPersisted(node) => self.put_aside(Chore::Persisted(node)),
            ToExecutor::Drain => return Then::Drain,
            ToExecutor::Adopt { request, outputs } => {
                self.put_aside(Chore::Adopt { request, outputs });
            }
            ToExecutor::Shutdown { keep } => return Then::Stop { keep },
        }
        Then::GoOn
    }

    fn take_program(&mut self, key: ProgramKey, bytes: Vec<u8>, last: bool) {
        let whole = match self.arriving.remove(&key) {
            Some(mut before) => {
                before.extend_from_slice(&bytes);
                before
            }
            None => bytes,
        };
        match last {
            true => drop(self.programs.insert(key, Arc::new(SentProgram::new(whole)))),
            false => drop(self.arriving.insert(key, whole)),
        }
    }

    fn forget_job(&mut self, job: JobId) {
        let over: Vec<ProgramKey> =
            self.programs.keys().filter(|key| key.job == job).copied().collect();
        let programs = over.iter().filter_map(|key| self.programs.remove(key)).collect();
        self.arriving.retain(|key, _| key.job != job);
        self.put_aside(Chore::Programs(programs));
    }

    fn launch(&mut self, launched: Launched) {
        let Some(program) = self.programs.get(&launched.program) else {
            // The driver sends a program before the first task that runs it, and forgets it after the
            // last.
            let message = format!("{} was sent without its program", launched.task);
            return self.outbox.fail(launched.task, TaskFailure::Internal { message });
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        self.running.0.lock().insert(launched.task, Arc::clone(&cancelled));
        let program = Program::Sent(Arc::clone(program));
        self.slots.launch(Launch { task: launched.task, program, cancelled });
    }

    /// Stops a task. It stays among the running ones until it has: its slot is not free before.
    fn cancel(&self, task: TaskId) {
        if let Some(cancelled) = self.running.0.lock().get(&task) {
            cancelled.store(true, Ordering::Relaxed);
        }
        self.outbox.answer(task, false);
    }

    fn put_aside(&self, chore: Chore) {
        // The thread that does them lives as long as this sender.
        let _ = self.chores.send(chore);
    }
}

/// A map output is there for readers before the driver hears of it.
fn keep(task: TaskId, report: Report, runtime: &Runtime) -> Report {
    let Report { outcome, updates, metrics } = report;
    let outcome = match outcome {
        Outcome::Map(mut map) => {
            let key = MapKey { shuffle: task.stage.0, map: task.partition };
            let file = runtime.durable.then(|| map.file()).flatten();
            let (rows, bytes, digest) = (map.rows, map.bytes, map.digest);
            let sizes = std::mem::take(&mut map.sizes);
            let kept = Outcome::Kept { rows, bytes, digest, sizes, file };
            // An attempt is launched only after the driver has given up those before it.
            runtime.store.supersede(key, u64::from(task.attempt), map.output);
            kept
        }
        other => other,
    };
    Report { outcome, updates, metrics }
}

/// Starts the thread that does what takes the disk's time.
fn start_chores(runtime: Arc<Runtime>, outbox: Outbox) -> Result<Sender<Chore>, std::io::Error> {
    let (sender, chores) = unbounded();
    std::thread::Builder::new().name("chores".to_owned()).spawn(move || {
        for chore in chores {
            match chore {
                Chore::Output(OutputAt { shuffle, map, attempt }) => {
                    runtime.store.remove(MapKey { shuffle: shuffle.0, map }, u64::from(attempt));
                }
                Chore::Shuffle(shuffle) => {
                    runtime.tables.release(ShuffleId(shuffle));
                    runtime.store.remove_shuffle(shuffle);
                }
                Chore::Persisted(node) => {
                    runtime.persisted.drop_node(node, &runtime.events);
                }
                Chore::Programs(programs) => drop(programs),
                Chore::Adopt { request, outputs } => {
                    let adopt = |(output, file): (OutputAt, String)| {
                        runtime.adopt(output, Path::new(&file)).ok().map(|()| output)
                    };
                    let outputs = outputs.into_iter().filter_map(adopt).collect();
                    outbox.say(ToDriver::Adopted { request, outputs });
                }
            }
        }
    })?;
    Ok(sender)
}

/// Tells the driver of a directory that broke.
pub(super) fn tell_of_failed_dirs(runtime: &Arc<Runtime>, outbox: &Outbox) {
    let (weak, outbox) = (Arc::downgrade(runtime), outbox.clone());
    runtime.dirs.on_failure(move |dir| {
        if let Some(runtime) = weak.upgrade() {
            let (path, reason, lost) = runtime.lose_dir(dir);
            let path = path.to_string_lossy().into_owned();
            outbox.say(ToDriver::DirFailed { path, reason, lost });
        }
    });
}
