//! Why blocks could not be fetched.

use std::time::Duration;

use crate::net::channel::ChannelError;

/// Blocks could not be fetched.
#[derive(Clone, Debug, thiserror::Error)]
#[error("partition {partition} of shuffle {shuffle}{} could not be fetched from {peer}: {why}", at(*.map))]
pub struct FetchError {
    /// Where from: `host:port`.
    pub peer: String,
    /// The shuffle.
    pub shuffle: u64,
    /// The reduce partition.
    pub partition: u32,
    /// The map task and its attempt at which it failed, if it was at one.
    pub map: Option<(u32, u64)>,
    /// Why.
    pub why: FetchFailure,
}

fn at(map: Option<(u32, u64)>) -> String {
    map.map_or(String::new(), |(map, attempt)| format!(" (at map {map}, attempt {attempt})"))
}

/// Why blocks could not be fetched.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchFailure {
    /// No connection, or none that lasted.
    #[error("it cannot be reached, {attempts} times in a row: {last}")]
    Unreachable {
        /// How many times it was tried without getting anything.
        attempts: u32,
        /// What came of the last one.
        last: String,
    },
    /// One side refused the other, and would again.
    #[error(transparent)]
    Refused(Box<ChannelError>),
    /// It is not there, or of another attempt.
    #[error("it is not there any more, or of another attempt; compute it again")]
    Missing,
    /// It is not what was written.
    #[error("it is damaged: {0}; compute it again")]
    Damaged(String),
    /// Nothing came.
    #[error("nothing came for {0:?}")]
    TimedOut(Duration),
    /// The answer is not of a piece, or not an answer to what was asked.
    #[error("the answer is not what was asked for: {0}")]
    Truncated(String),
    /// Anything else that the peer, or this fetcher, failed with.
    #[error("{0}")]
    Failed(String),
}
