//! Why blocks could not be fetched.

use std::fmt;
use std::time::Duration;

use crate::net::Want;
use crate::net::channel::ChannelError;

/// Blocks could not be fetched.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} could not be fetched from {peer}: {why}", Subject(self))]
pub struct FetchError {
    /// Where from: `host:port`.
    pub peer: String,
    /// What was wanted: the shuffle and the reduce partition, or the value.
    pub subject: FetchSubject,
    /// The map task and its attempt at which it failed; `None` for a value.
    pub map: Option<(u32, u64)>,
    /// Why.
    pub why: FetchFailure,
}

/// What was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchSubject {
    /// A reduce partition of map outputs.
    Map {
        /// The shuffle.
        shuffle: u64,
        /// The reduce partition.
        partition: u32,
    },
    /// A value.
    Value {
        /// Its name.
        key: String,
    },
}

impl From<&Want> for FetchSubject {
    fn from(want: &Want) -> Self {
        match want {
            Want::Map { shuffle, partition, .. } => {
                Self::Map { shuffle: *shuffle, partition: *partition }
            }
            Want::Value { key } => Self::Value { key: key.clone() },
        }
    }
}

struct Subject<'a>(&'a FetchError);

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.subject {
            FetchSubject::Value { key } => write!(f, "{key}"),
            FetchSubject::Map { shuffle, partition } => {
                write!(f, "partition {partition} of shuffle {shuffle}")?;
                match self.0.map {
                    Some((map, attempt)) => write!(f, " (at map {map}, attempt {attempt})"),
                    None => Ok(()),
                }
            }
        }
    }
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
