//! What an executor says to its driver.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam::channel::{Sender, bounded};
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use crate::events::{Listener, Record, TaskMetrics};
use crate::executor::{MapResult, Outcome, Output, Program, Report, Runtime};
use crate::protocol::{Ended, EndedAs, PART_BYTES, ToDriver, Totals};
use crate::scheduler::{TaskFailure, TaskId};

/// The executor's end of the conversation, from whichever thread has something to say.
///
/// The queue is not bounded here; what fills it is: a slot reports one task at a time, and the parts
/// of a result are as large as the result, which the slot holds anyway.
#[derive(Clone)]
pub(super) struct Outbox {
    say: UnboundedSender<ToDriver>,
    /// Tasks that wait to hear whether they may publish their files; `None` when none is answered any
    /// more.
    asking: Arc<Mutex<Option<HashMap<TaskId, Sender<bool>>>>>,
}

impl Outbox {
    pub(super) fn new(say: UnboundedSender<ToDriver>) -> Self {
        Self { say, asking: Arc::new(Mutex::new(Some(HashMap::new()))) }
    }

    /// Says something. Lost if the conversation has ended, and with it all that was said for.
    pub(super) fn say(&self, message: ToDriver) {
        let _ = self.say.send(message);
    }

    /// Asks whether a task may publish its files, and waits for the answer; no answer is a no.
    pub(super) fn may_commit(&self, task: TaskId) -> bool {
        let (answer, answered) = bounded(1);
        match &mut *self.asking.lock() {
            Some(asking) => drop(asking.insert(task, answer)),
            None => return false,
        }
        self.say(ToDriver::CommitRequested { task });
        answered.recv().unwrap_or(false)
    }

    /// The driver has answered a task, or the task is to stop.
    pub(super) fn answer(&self, task: TaskId, granted: bool) {
        let asking = self.asking.lock().as_mut().and_then(|asking| asking.remove(&task));
        if let Some(asking) = asking {
            let _ = asking.try_send(granted);
        }
    }

    /// Nobody answers any more.
    pub(super) fn answer_all_no(&self) {
        *self.asking.lock() = None;
    }

    /// Reports the end of a task.
    pub(super) fn report(
        &self,
        task: TaskId,
        report: Report,
        program: &Program,
        runtime: &Runtime,
    ) {
        let Report { outcome, updates, metrics } = report;
        let totals = Totals::of(runtime);
        let outcome = self.send_outcome(task, outcome, program);
        let (outcome, updates) = match updates.encode() {
            Ok(updates) => (outcome, updates),
            Err(error) => (EndedAs::Failed(internal(error)), Vec::new()),
        };
        self.say(ToDriver::Ended(Box::new(Ended { task, outcome, updates, metrics, totals })));
    }

    /// Reports that a task could not be run.
    pub(super) fn fail(&self, task: TaskId, failure: TaskFailure) {
        let (outcome, updates) = (EndedAs::Failed(failure), Vec::new());
        let (metrics, totals) = (TaskMetrics::default(), Totals::default());
        self.say(ToDriver::Ended(Box::new(Ended { task, outcome, updates, metrics, totals })));
    }

    /// The outcome as it travels. Of a result, all parts but the last are sent.
    fn send_outcome(&self, task: TaskId, outcome: Outcome, program: &Program) -> EndedAs {
        match outcome {
            Outcome::Map(MapResult { rows, bytes, digest, sizes, .. }) => {
                EndedAs::Map { rows, bytes, digest, sizes, file: None }
            }
            Outcome::Kept { rows, bytes, digest, sizes, file } => {
                let file = file.map(|file| file.to_string_lossy().into_owned());
                EndedAs::Map { rows, bytes, digest, sizes, file }
            }
            Outcome::Failed(failure) => EndedAs::Failed(failure),
            Outcome::Result(payload) => {
                let Ok(Output::Action(action)) = program.get().map(|program| &program.output)
                else {
                    return EndedAs::Failed(internal("a map task has made a result"));
                };
                match (action.entry.code().encode)(&payload) {
                    Ok(bytes) => EndedAs::Result(self.send_parts(task, bytes)),
                    Err(error) => EndedAs::Failed(internal(error)),
                }
            }
        }
    }

    /// Sends all parts of a result but the last, which is returned.
    fn send_parts(&self, task: TaskId, bytes: Vec<u8>) -> Vec<u8> {
        if bytes.len() <= PART_BYTES {
            return bytes;
        }
        let mut parts = bytes.chunks(PART_BYTES).map(<[u8]>::to_vec);
        let last = parts.next_back().unwrap_or_default();
        for bytes in parts {
            self.say(ToDriver::ResultPart { task, bytes });
        }
        last
    }
}

fn internal(error: impl ToString) -> TaskFailure {
    TaskFailure::Internal { message: error.to_string() }
}

/// Tells the driver what only this executor sees.
impl Listener for Outbox {
    fn on_event(&self, record: &Record) {
        if let Ok(event) = serde_json::to_string(&record.event) {
            self.say(ToDriver::Happened(event));
        }
    }
}
