//! The conversation with one executor: what it says becomes reports to the driver.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Status, Streaming};

use super::super::actor::{Driver, DriverLink};
use super::super::reports::Life;
use super::sessions::{Sessions, host};
use super::settings::ClusterSettings;
use crate::closure::CodeError;
use crate::executor::{Outcome, Output, Report};
use crate::protocol::{Ended, EndedAs, PROTOCOL_VERSION, Register, ToDriver, ToExecutor, Welcome};
use crate::scheduler::{LossReason, TaskFailure, TaskId};

/// How long an executor that has connected may take to say who it is.
const REGISTER_TIMEOUT: Duration = Duration::from_secs(5);

/// Holds a conversation; returns what the driver says in it.
pub(super) fn converse(
    from_executor: Streaming<ToDriver>,
    settings: &Arc<ClusterSettings>,
    sessions: &Arc<Sessions>,
    link: &DriverLink,
) -> BoxStream<'static, Result<ToExecutor, Status>> {
    let (say, said) = unbounded_channel();
    let (settings, sessions, link) = (Arc::clone(settings), Arc::clone(sessions), link.clone());
    tokio::spawn(async move {
        hold(from_executor, say, &settings, &sessions, &link).await;
    });
    UnboundedReceiverStream::new(said).map(Ok).boxed()
}

async fn hold(
    mut from_executor: Streaming<ToDriver>,
    say: UnboundedSender<ToExecutor>,
    settings: &ClusterSettings,
    sessions: &Sessions,
    link: &DriverLink,
) {
    let first = tokio::time::timeout(REGISTER_TIMEOUT, from_executor.message()).await;
    let Ok(Ok(Some(ToDriver::Register(register)))) = first else {
        let _ = say.send(ToExecutor::Refused("an executor has to register first".to_owned()));
        return;
    };
    let Some(driver) = link.started_driver().await else { return };
    let life = match admit(&register, &say, settings, sessions) {
        Ok(life) => life,
        Err(why) => {
            driver.publisher.refused(&register.data_addr, &why);
            let _ = say.send(ToExecutor::Refused(why));
            return;
        }
    };
    drop(say);
    driver.joined(life, &host(&register, life), register.slots, register.memory_bytes);
    drop(driver);
    let mut session = Talk { life, results: HashMap::new() };
    let reason = session.listen(&mut from_executor, sessions, link).await;
    sessions.0.lock().end(life);
    if let Some(driver) = link.driver() {
        driver.lost(life, reason);
    }
}

fn admit(
    register: &Register,
    say: &UnboundedSender<ToExecutor>,
    settings: &ClusterSettings,
    sessions: &Sessions,
) -> Result<Life, String> {
    if register.protocol != PROTOCOL_VERSION {
        let theirs = register.protocol;
        return Err(format!(
            "the executor speaks version {theirs} of the protocol, the driver {PROTOCOL_VERSION}: run both from the same release"
        ));
    }
    if register.slots == 0 {
        return Err("an executor needs at least one slot".to_owned());
    }
    let mut sessions = sessions.0.lock();
    let life = sessions.admit(register, say.clone())?;
    let (over, keep) = (sessions.over, sessions.keep);
    if let Some(session) = sessions.live.get(&life.executor) {
        session.say(ToExecutor::Welcome(Welcome {
            executor: life.executor,
            app_name: settings.app_name.clone(),
            heartbeat_ms: settings.heartbeat_ms,
            lease_ms: settings.lease_ms,
            group: settings.group,
            keep: settings.keep,
        }));
        if over {
            session.say(ToExecutor::Shutdown { keep });
        }
    }
    Ok(life)
}

/// One conversation.
struct Talk {
    life: Life,
    /// Results that come in parts.
    results: HashMap<TaskId, Vec<u8>>,
}

impl Talk {
    /// Listens to the end; returns how it ended.
    async fn listen(
        &mut self,
        from_executor: &mut Streaming<ToDriver>,
        sessions: &Sessions,
        link: &DriverLink,
    ) -> LossReason {
        loop {
            match from_executor.message().await {
                Ok(Some(ToDriver::Farewell)) => return LossReason::Drained,
                Ok(Some(message)) => {
                    let Some(driver) = link.driver() else { return LossReason::Disconnected };
                    self.take(message, &driver, sessions);
                }
                Ok(None) => return LossReason::Exited,
                Err(_) => return LossReason::Disconnected,
            }
        }
    }

    fn take(&mut self, message: ToDriver, driver: &Driver, sessions: &Sessions) {
        match message {
            // The first message alone registers, and the last has been seen to.
            ToDriver::Register(_) | ToDriver::Farewell => {}
            ToDriver::Heartbeat => {
                if let Some(session) = sessions.0.lock().session(self.life) {
                    session.say(ToExecutor::Heartbeat);
                }
                driver.heard(self.life);
            }
            ToDriver::ResultPart { task, bytes } => {
                self.results.entry(task).or_default().extend_from_slice(&bytes);
            }
            ToDriver::Ended(ended) => self.ended(*ended, driver, sessions),
            ToDriver::CommitRequested { task } => {
                driver.commit_requested(self.life, task);
            }
            ToDriver::DirFailed { path, reason, lost } => {
                driver.dir_failed(self.life.executor, Path::new(&path), reason, lost);
            }
            ToDriver::Persisted(at) => {
                sessions.0.lock().note_persisted(self.life, at);
            }
            ToDriver::Happened(event) => {
                if let Ok(event) = serde_json::from_str(&event) {
                    driver.publisher.happened(event);
                }
            }
            ToDriver::Adopted { request, outputs } => {
                sessions.0.lock().adopted(request, self.life, outputs);
            }
            ToDriver::Draining => driver.draining(self.life),
            ToDriver::Served(served_by) => {
                sessions.0.lock().note_served(self.life, served_by);
                driver.served(self.life);
            }
        }
    }

    fn ended(&mut self, ended: Ended, driver: &Driver, sessions: &Sessions) {
        let Ended { task, outcome, updates, metrics, totals } = ended;
        let Life { executor, incarnation } = self.life;
        sessions.0.lock().totals.insert((executor, incarnation), totals);
        let parts = self.results.remove(&task).unwrap_or_default();
        let outcome = match outcome {
            EndedAs::Map { rows, bytes, digest, sizes, file } => {
                Ok(Outcome::Kept { rows, bytes, digest, sizes, file: file.map(PathBuf::from) })
            }
            EndedAs::Result(last) => decode_result(driver, task, parts, last),
            EndedAs::Failed(failure) => Ok(Outcome::Failed(failure)),
        };
        let report = outcome.and_then(|outcome| {
            Ok(Report { outcome, updates: driver.totals().decode(updates)?, metrics })
        });
        let report = report.unwrap_or_else(|error| Report {
            outcome: Outcome::Failed(TaskFailure::Internal { message: error.to_string() }),
            updates: Default::default(),
            metrics,
        });
        driver.ended(self.life, task, report);
    }
}

/// The value that a task has sent. That of a job which is over is dropped undecoded.
fn decode_result(
    driver: &Driver,
    task: TaskId,
    mut bytes: Vec<u8>,
    last: Vec<u8>,
) -> Result<Outcome, CodeError> {
    let program = driver.state.lock().program(task).map(Arc::clone);
    let Some(Output::Action(action)) = program.as_ref().map(|program| &program.output) else {
        return Ok(Outcome::Failed(TaskFailure::Cancelled));
    };
    match bytes.is_empty() {
        true => bytes = last,
        false => bytes.extend_from_slice(&last),
    }
    Ok(Outcome::Result((action.entry.code().decode)(bytes)?))
}
