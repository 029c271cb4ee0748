//! Why blocks could not be fetched.

use std::time::Duration;

use crate::net::channel::ChannelError;

/// Blocks could not be fetched.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what} could not be fetched from {peer}: {why}")]
pub struct FetchError {
    /// Where from.
    pub peer: String,
    /// What was wanted, in words.
    pub what: String,
    /// The shuffle, if map outputs were wanted.
    pub shuffle: Option<u64>,
    /// The map task and attempt at which it failed, if one is to blame or was next.
    pub map: Option<(u32, u64)>,
    /// Why.
    pub why: FetchFailure,
}

/// Why blocks could not be fetched.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchFailure {
    /// No connection, or one that was lost again and again.
    #[error("unreachable after {attempts} attempts: {last}")]
    Unreachable {
        /// Connections tried without progress.
        attempts: u32,
        /// What the last one failed with.
        last: String,
    },
    /// The peer refused us, or we refused it.
    #[error("{0}")]
    Refused(std::sync::Arc<ChannelError>),
    /// The peer does not have it.
    #[error("it is not there")]
    Missing,
    /// It is not what was written.
    #[error("{0}")]
    Damaged(String),
    /// Nothing came for so long.
    #[error("nothing came for {0:?}")]
    TimedOut(Duration),
    /// The stream ended before its last frame, or with frames that were not asked for.
    #[error("the answer is not what was asked for: {0}")]
    Truncated(String),
    /// The peer could not read it, for another reason.
    #[error("{0}")]
    Failed(String),
}
