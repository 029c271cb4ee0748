//! What can go wrong with a checkpoint. Each error names the location and says what to do.

use thiserror::Error;

use crate::io::store::StoreError;

/// A failure to write or read a checkpoint.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// There is one already, and checkpoints are not replaced.
    #[error(
        "there is a checkpoint at {location} already; open it, remove it or choose another location"
    )]
    Exists {
        /// The location.
        location: String,
    },

    /// There is none, or it was never finished.
    #[error("there is no finished checkpoint at {location}; make it again")]
    Missing {
        /// The location.
        location: String,
    },

    /// The manifest is not what was written, or another version wrote it.
    #[error(
        "the manifest of checkpoint {location} cannot be read: {why}; make the checkpoint again"
    )]
    Manifest {
        /// The location.
        location: String,
        /// What is wrong with it.
        why: String,
    },

    /// It holds rows of another type.
    #[error("checkpoint {location} holds rows of type {saved}, not {wanted}")]
    RowType {
        /// The location.
        location: String,
        /// The type of its rows.
        saved: String,
        /// The type asked for.
        wanted: String,
    },

    /// An object of it does not hold what was written.
    #[error("checkpoint object {object} cannot be read: {why}; make the checkpoint again")]
    Damaged {
        /// The object.
        object: String,
        /// What is wrong with it.
        why: String,
    },

    /// The encoder refused a block.
    #[error("cannot write checkpoint object {object}: {why}")]
    Block {
        /// The object.
        object: String,
        /// Why.
        why: String,
    },

    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}
