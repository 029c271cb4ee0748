//! Fetching blocks from other executors, for threads that may block.
//!
//! ```text
//!  slot thread                    network threads
//!    Fetcher::fetch ────────────>  connection of its own, from the pool or new
//!                                   ask for what is not there yet
//!    FetchStream::next <── queue ── frames, in map order
//!         takes one ── credit ──>   room for another message
//!                                   lost? connect again, or to another server that has the same, and
//!                                   go on where it stopped
//! ```
//!
//! A connection carries one stream at a time: one that nobody reads holds up no other. What has been received
//! and not taken is bounded, but for one message of each stream, so that whoever waits for a stream gets
//! something. This is the only place where a fetch is tried again.

mod credit;
mod error;
mod gone;
mod pool;
mod progress;
mod run;
mod stream;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

pub use error::{FetchError, FetchFailure};
pub use stream::FetchStream;

use self::credit::Ledger;
use self::gone::Gone;
use self::pool::Pool;
use super::Want;
use super::channel::Access;

/// Bounds of a fetcher.
#[derive(Clone, Debug)]
pub struct FetchLimits {
    /// Threads that speak to the network.
    pub threads: usize,
    /// Bytes received and not yet taken, over all streams. Each stream may have one message beyond it, and
    /// what the windows of HTTP/2 hold.
    pub in_flight_bytes: u64,
    /// The same, of one peer.
    pub in_flight_bytes_per_peer: u64,
    /// The same, of one stream.
    pub in_flight_bytes_per_stream: u64,
    /// A stream to which nothing comes for so long, although there is room, has failed.
    pub progress_timeout: Duration,
    /// How many times in a row, with nothing got in between, a lost connection is made again.
    pub retries_max: u32,
    /// How long to wait before the first of these; twice as long before each next one.
    pub backoff: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            threads: 2,
            in_flight_bytes: 64 << 20,
            in_flight_bytes_per_peer: 16 << 20,
            in_flight_bytes_per_stream: 4 << 20,
            progress_timeout: Duration::from_secs(30),
            retries_max: 3,
            backoff: Duration::from_millis(100),
        }
    }
}

/// Fetches blocks, on threads of its own, which live as long as it and its streams. Cheap to clone.
#[derive(Clone)]
pub struct Fetcher {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    pool: Pool,
    ledger: Arc<Ledger>,
    gone: Arc<Gone>,
    limits: FetchLimits,
    runtime: Option<Runtime>,
}

impl Fetcher {
    /// A fetcher; it has no connection yet.
    ///
    /// # Errors
    /// If there are no threads to be had.
    pub fn new(access: Access, limits: FetchLimits) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(limits.threads)
            .thread_name("block-fetcher")
            .enable_all()
            .build()?;
        let ledger = Ledger::new(limits.in_flight_bytes, limits.in_flight_bytes_per_peer);
        let (pool, ledger, gone) = (Pool::new(access), Arc::new(ledger), Arc::default());
        Ok(Self { inner: Arc::new(Inner { pool, ledger, gone, limits, runtime: Some(runtime) }) })
    }

    /// Begins to fetch from `peer`, which is `host:port`. What goes wrong is for the stream to say.
    #[must_use]
    pub fn fetch(&self, peer: &str, want: Want) -> FetchStream {
        self.fetch_from(vec![peer.to_owned()], want)
    }

    /// As [`Self::fetch`], from servers that have the same blocks: from the first, and from the others in
    /// their order once it does not do.
    #[must_use]
    pub fn fetch_from(&self, peers: Vec<String>, want: Want) -> FetchStream {
        FetchStream::begin(&self.inner, peers, want)
    }

    /// Hears that `peer` is no more: streams whose connection with it is lost do not try again.
    pub fn note_gone(&self, peer: &str) {
        self.inner.gone.add(peer);
        self.inner.pool.forget(peer);
    }

    /// Hears that there is a server at `peer`, where another may have been before.
    pub fn note_there(&self, peer: &str) {
        self.inner.gone.remove(peer);
    }

    /// Bytes received and not yet taken.
    #[must_use]
    pub fn in_flight_bytes(&self) -> u64 {
        self.inner.ledger.held()
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("limits", &self.inner.limits).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Not waited for: it may be a thread of the runtime that drops it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
