//! Checkpoints in a store: encoded rows of a number of partitions, that exist all together or not at all.
//!
//! ```text
//!  LOCATION/attempt-TOKEN/00007-0   rows of partition 7, as its attempt 0 wrote them: blocks, one
//!                                   after the other
//!  LOCATION/_CHECKPOINT             the manifest, created if absent: which objects the checkpoint
//!                                   consists of, and the rows, size and digest of each
//! ```
//!
//! The manifest makes a checkpoint exist. It is written once, when all objects that it names are whole,
//! and of several jobs that write to one location the first to create it wins. No lock is needed, and
//! none is held: a job writes under a token of its own and removes nothing of others until the manifest
//! is there, when whatever it does not name can never become visible.
//!
//! What a process that was killed leaves behind is not seen by readers, and removed by the next job that
//! succeeds there.

mod blocks;
mod error;
mod job;
mod manifest;

pub use blocks::{BlockReader, BlockWriter};
pub use error::CheckpointError;
pub(crate) use job::unique_token;
pub use job::{CheckpointJob, Staging};
pub use manifest::{MANIFEST_NAME, Manifest, SavedPart};

#[cfg(test)]
mod tests;
