//! Handing out blocks to other executors: an Arrow Flight server on threads of its own.
//!
//! ```text
//!  network threads                             read threads
//!    do_get ── open, read a message's worth ──>   BlockSource, BlockCursor
//!      <──────────────── message ────────────
//!    send it ── meanwhile, read the next ─────>
//! ```
//!
//! Files are read and rows encoded by the read threads: a disk that stands still stops the readers of that
//! disk. No thread waits for a client: a slow one holds a message and the one read ahead of it.

mod cursor;
mod flight;
mod parts;

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use arrow_flight::flight_service_server::FlightServiceServer;
use tokio::runtime::{Builder, Runtime};

pub use cursor::{BlockCursor, BlockSource};
pub use parts::MapParts;

use self::flight::BlockFlight;
use super::channel::{
    Access, ChannelError, Listener, ListenerStats, Purpose, grpc_server, listen, serve_grpc,
};
use super::wire;

/// Bounds of a server.
#[derive(Clone, Debug)]
pub struct ServeLimits {
    /// Threads that speak to the network.
    pub network_threads: usize,
    /// The most threads that read and encode at a time.
    pub read_threads_max: usize,
    /// Streams being read at a time; for one more the answer is `Busy`.
    pub streams_max: usize,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self { network_threads: 2, read_threads_max: 32, streams_max: 1024 }
    }
}

/// A server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not to be had.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// There are no threads to be had.
    #[error("the block server cannot start its threads: {0}")]
    Threads(#[from] io::Error),
}

/// Serves blocks until it is dropped, which ends what is being sent.
pub struct BlockServer {
    local: SocketAddr,
    stats: Arc<ListenerStats>,
    runtime: Option<Runtime>,
}

impl BlockServer {
    /// Starts on `addr`; port 0 takes a free one. `on_refused` hears of clients that are not let in.
    ///
    /// # Errors
    /// If the address is not to be had, or no threads are.
    pub fn start(
        addr: impl ToSocketAddrs + fmt::Display,
        access: &Access,
        source: Arc<dyn BlockSource>,
        limits: &ServeLimits,
        on_refused: impl Fn(SocketAddr, &ChannelError) + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        let listener = listen(addr, access, Purpose::Data)?.on_refused(on_refused);
        let runtime = Builder::new_multi_thread()
            .worker_threads(limits.network_threads)
            .max_blocking_threads(limits.read_threads_max)
            .thread_name("block-server")
            .enable_all()
            .build()?;
        let (local, stats) = (listener.local_addr(), listener.stats());
        runtime.spawn(serve(BlockFlight::new(source, limits.streams_max), listener));
        Ok(Self { local, stats, runtime: Some(runtime) })
    }

    /// The address, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// How many connections were let in and refused.
    #[must_use]
    pub fn stats(&self) -> &ListenerStats {
        &self.stats
    }
}

async fn serve(flight: BlockFlight, listener: Listener) {
    let service = FlightServiceServer::new(flight)
        .max_decoding_message_size(wire::TICKET_BYTES_MAX + 1024)
        .max_encoding_message_size(wire::MESSAGE_BYTES_MAX);
    // Fails when a connection cannot be served at all, which is then all the same to the others.
    let _ = serve_grpc(grpc_server().add_service(service), listener).await;
}

impl fmt::Debug for BlockServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockServer").field("local", &self.local).finish_non_exhaustive()
    }
}

impl Drop for BlockServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
