//! The threads that do the requests of all stores of this process, started when the first is used.
//!
//! Whoever asks waits on a channel, so that any thread may ask: a slot, or a thread of somebody else's
//! runtime. What a request holds in memory is allocated and freed on these threads, so that it is not
//! taken for what a task's closures hold; it is bounded by the windows of [`super::ObjectReader`] and
//! [`super::ObjectWriter`].

use std::future::Future;
use std::io;
use std::sync::OnceLock;

use crossbeam::channel::{Receiver, bounded};
use tokio::runtime::{Builder, Runtime};

/// Requests wait much more than they compute.
const WORKERS: usize = 2;
/// Threads for the blocking calls of local file systems.
const BLOCKING_MAX: usize = 8;

fn runtime() -> Result<&'static Runtime, io::Error> {
    static RUNTIME: OnceLock<Result<Runtime, io::Error>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(BLOCKING_MAX)
            .thread_name("store")
            .enable_all()
            .build()
    });
    started.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

/// A value that is being computed there. It is computed to its end even if nobody waits.
pub(super) struct Pending<T>(Receiver<T>);

/// Starts computing a value.
pub(super) fn start<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<Pending<T>, io::Error> {
    let (done, value) = bounded(1);
    runtime()?.spawn(async move {
        // Nobody may wait for it any more.
        let _ = done.send(future.await);
    });
    Ok(Pending(value))
}

impl<T> Pending<T> {
    /// Waits for the value.
    pub(super) fn wait(self) -> Result<T, io::Error> {
        self.0.recv().map_err(|_| io::Error::other("the request ended without an answer"))
    }
}

/// Computes a value and waits for it.
pub(super) fn wait<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, io::Error> {
    start(future)?.wait()
}

/// Drops a value where it was allocated.
pub(super) fn send_home<T: Send + 'static>(value: T) {
    let _ = start(async move { drop(value) });
}
