//! Executors in other processes, as their driver commands them.
//!
//! ```text
//!   Driver ── Workers ──> ClusterWorkers ── messages ──> conversation ──> executor
//!      ^                        │ Sessions                     │
//!      └──── joined, ended, heard, lost ─────────── session <──┘
//! ```
//!
//! A *session* is one life of an executor, from its registration to the end of its conversation. It
//! ends in one way, whoever ends it: the stream closes, and the driver hears that the executor is lost.

mod adopt;
mod processes;
mod services;
mod session;
mod sessions;
mod settings;
mod workers;

use std::sync::Arc;

use millstream_shuffle::net::channel::{Purpose, grpc_server, listen, serve_grpc};
use tokio::runtime::{Builder, Runtime as Tokio};

use self::processes::Processes;
use self::sessions::Sessions;
use self::workers::ClusterWorkers;
use super::actor::{Driver, DriverLink};
use super::journal::Journal;
use super::publish::Publisher;
use crate::error::Error;
use crate::protocol::ControlService;
use crate::scheduler::SchedulerConfig;

pub(crate) use settings::{ClusterSettings, Spawn};

/// Threads that speak with executors. What they do for a message takes microseconds, but for the
/// decoding of large results.
const NETWORK_THREADS: usize = 2;

/// How many short tasks a slot is sent before it is free for them.
const AHEAD_MAX: u32 = 16;

/// Starts the driver of an application whose tasks run in other processes: it listens for them, and
/// starts those that are its own.
pub(crate) fn start_cluster(
    mut config: SchedulerConfig,
    settings: ClusterSettings,
    publisher: Publisher,
    journal: Option<Journal>,
) -> Result<Arc<Driver>, Error> {
    config.heartbeat_timeout_ms = Some(settings.timeout_ms);
    config.ahead_max = AHEAD_MAX;
    let tokio = Builder::new_multi_thread()
        .worker_threads(NETWORK_THREADS)
        .thread_name("control")
        .enable_all()
        .build()
        .map_err(Error::system("starting the threads of the control plane"))?;
    let link = DriverLink::default();
    let settings = Arc::new(settings);
    let sessions = Arc::new(Sessions::default());
    let addr = listen_for_executors(&tokio, &settings, &sessions, &link)?;
    let processes = settings
        .spawn
        .as_ref()
        .map(|spawn| Processes::start(spawn, &settings, &addr, &link))
        .transpose()?;
    let workers = Box::new(ClusterWorkers::new(Arc::clone(&settings), sessions, processes, tokio));
    Driver::start(config, workers, publisher, &link, true, journal)
        .map_err(Error::system("starting the driver's clock"))
}

/// Begins to take executors in; returns the address at which they find the driver.
fn listen_for_executors(
    tokio: &Tokio,
    settings: &Arc<ClusterSettings>,
    sessions: &Arc<Sessions>,
    link: &DriverLink,
) -> Result<String, Error> {
    let refusals = link.clone();
    let listener = listen(settings.listen.as_str(), &settings.access, Purpose::Control)?;
    let listener = listener.on_refused(move |peer, error| {
        if let Some(driver) = refusals.driver() {
            driver.publisher.refused(&peer.to_string(), &error.to_string());
        }
    });
    let addr = listener.local_addr().to_string();
    let (settings, sessions, link) = (Arc::clone(settings), Arc::clone(sessions), link.clone());
    let service = ControlService::new(Arc::new(move |from_executor| {
        session::converse(from_executor, &settings, &sessions, &link)
    }));
    tokio.spawn(async move {
        let router = grpc_server().add_service(service);
        // It ends with the runtime, which the driver's end shuts down; a single connection that
        // fails does not end it.
        let _ = serve_grpc(router, listener).await;
    });
    Ok(addr)
}
