//! Fetching blocks from other executors.

use std::io;
use std::time::Duration;

mod error;

pub use error::{FetchError, FetchFailure};

use super::channel::Access;
use super::{Frame, Want};
use crate::block::BlockError;

/// Bounds of a fetcher.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FetchLimits {
    /// Threads that speak to the network.
    pub threads: usize,
    /// Bytes received and not yet taken, over all streams. Each stream may have one frame beyond it.
    pub in_flight_bytes: u64,
    /// The same, of one peer.
    pub in_flight_bytes_per_peer: u64,
    /// The same, of one stream.
    pub in_flight_bytes_per_stream: u64,
    /// A stream that gets nothing for so long has failed.
    pub progress_timeout: Duration,
    /// How often in a row, without progress, a lost connection is made again.
    pub retries_max: u32,
    /// How long to wait before the first time; it doubles.
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

/// Fetches blocks, on threads of its own. Cheap to clone.
#[derive(Clone)]
pub struct Fetcher {}

impl Fetcher {
    /// A fetcher.
    ///
    /// # Errors
    /// If there are no threads to be had.
    pub fn new(access: Access, limits: FetchLimits) -> io::Result<Self> {
        let _ = (access, limits);
        todo!()
    }

    /// Begins to fetch from `peer`, `host:port`.
    pub fn fetch(&self, peer: &str, want: Want) -> FetchStream {
        let _ = (peer, want);
        todo!()
    }
}

/// Frames as they come, map by map in the order asked. Dropped, it is cancelled.
pub struct FetchStream {}

impl FetchStream {
    /// The next frame, waiting for it; `None` after the last. Its checksum has not been looked at.
    ///
    /// # Errors
    /// If what is wanted cannot be had. After an error, the same error comes again.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Frame>, FetchError> {
        todo!()
    }

    /// Replaces `payload` with the next block's, checked and decompressed, and returns its map task and
    /// number of rows; `None` after the last. Frames without bytes are passed over.
    ///
    /// # Errors
    /// As [`next`](Self::next), and if the block is damaged.
    pub fn next_into(&mut self, payload: &mut Vec<u8>) -> Result<Option<(u32, u32)>, FetchError> {
        let _ = payload;
        todo!()
    }

    /// The error for a frame of this stream that turned out to be damaged.
    pub fn damaged(&self, map: u32, error: &BlockError) -> FetchError {
        let _ = (map, error);
        todo!()
    }
}
