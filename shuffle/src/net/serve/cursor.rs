//! Where a server gets its blocks from.

use crate::net::{FrameHead, Refusal, Request, Want};

/// What has the blocks.
pub trait BlockSource: Send + Sync + 'static {
    /// Opens what is wanted. May block, as the cursor may.
    ///
    /// # Errors
    /// If it cannot be handed out.
    fn open(&self, want: &Want) -> Result<Box<dyn BlockCursor>, Refusal>;

    /// Does what is asked for other than blocks. May block.
    ///
    /// # Errors
    /// If it cannot, or is not there for that.
    fn act(&self, _request: &Request) -> Result<(), Refusal> {
        Err(Refusal::Other("this is an executor, and no shuffle service".to_owned()))
    }
}

/// Blocks in the order in which they were asked for.
pub trait BlockCursor: Send + 'static {
    /// Appends the next block, header and stored bytes, to `out`, and says which it is; `None` after the
    /// last. Every map has at least one frame, if without bytes, and its last one says so.
    /// A second cursor over the same want gives the same blocks.
    ///
    /// # Errors
    /// If it cannot be read, or is known to be damaged. What was appended is then not used.
    fn next_into(&mut self, out: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal>;
}
