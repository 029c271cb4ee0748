//! Handing out blocks to other executors.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

mod parts;

pub use parts::{MapParts, OpenPart, ValueBlocks};

use super::channel::{Access, ChannelError};
use super::{FrameHead, Refusal, Want};

/// What has the blocks.
pub trait BlockSource: Send + Sync + 'static {
    /// Opens what is wanted; reading it is the cursor's. Called where blocking is allowed.
    ///
    /// # Errors
    /// If it cannot be handed out.
    fn open(&self, want: &Want) -> Result<Box<dyn BlockCursor>, Refusal>;
}

/// Blocks in the order in which they were asked for. Read where blocking is allowed.
pub trait BlockCursor: Send {
    /// Appends the next block, header and stored bytes, to `out`, and says which it is; `None` after the
    /// last. Every map task has at least one frame, if without bytes, and its last one says so.
    ///
    /// # Errors
    /// If it cannot be read, or is known to be damaged.
    fn next_into(&mut self, out: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal>;
}

/// Bounds of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeLimits {
    /// Threads that speak to the network.
    pub network_threads: usize,
    /// Threads that read and encode.
    pub read_threads: usize,
    /// Readers at a time; one more is told `Busy`.
    pub readers_max: usize,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self { network_threads: 2, read_threads: 16, readers_max: 1024 }
    }
}

/// A server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Not listening.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// No threads.
    #[error("the threads of the block server cannot be started: {0}")]
    Threads(#[from] io::Error),
}

/// Serves blocks, on threads of its own, until it is dropped.
pub struct BlockServer {
    local: SocketAddr,
}

impl BlockServer {
    /// Starts on `addr`; port 0 takes a free one. `on_refused` hears of clients that were not let in.
    ///
    /// # Errors
    /// If the address is not to be had, or no threads are.
    pub fn start(
        addr: impl ToSocketAddrs,
        access: &Access,
        source: Arc<dyn BlockSource>,
        limits: &ServeLimits,
        on_refused: impl Fn(SocketAddr, &ChannelError) + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        let _ = (addr.to_socket_addrs(), access, source, limits, on_refused);
        todo!()
    }

    /// The address, with the port that was taken.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }
}
