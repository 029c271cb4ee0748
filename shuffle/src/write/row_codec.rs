//! How a typed row becomes bytes: the one thing the generic writer asks of the rows' owner.

use std::error::Error;

/// Encodes rows of type `T`.
pub trait RowCodec<T>: Send {
    /// Appends the row's bytes to `out`. Equal rows must give equal bytes, or digests will call
    /// a correct second run a different one.
    ///
    /// # Errors
    /// If the row has no encoding. What was appended until then is not used.
    fn encode(&self, row: &T, out: &mut Vec<u8>) -> Result<(), CodecError>;
}

/// A row could not be encoded, for the reason within.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct CodecError(Box<dyn Error + Send + Sync>);

impl CodecError {
    /// Wraps the reason: an error, or a message.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}
