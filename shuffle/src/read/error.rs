//! What can go wrong with a segment, being written or read.

use std::io;
use std::path::PathBuf;

use crate::block::{BlockError, FooterError};
use crate::store::DiskError;
use crate::write::CodecError;

/// A segment could not be written, or what is read is not what was written.
///
/// A damaged or missing segment is never read as fewer or other rows; the remedy is to run
/// the task that wrote it again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The local directories failed, or the file is gone.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The operating system failed to open or read the file.
    #[error("segment {} cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file's footer is missing or damaged.
    #[error("segment {} is unusable: {source}; compute it again", path.display())]
    Footer {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: FooterError,
    },
    /// The file became shorter after it was committed. Bytes.
    #[error(
        "segment {} is cut short: it ends at byte {found} and should hold at least {needed}; \
         compute it again",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where the data being read ends.
        needed: u64,
        /// Where the file ends.
        found: u64,
    },
    /// A block is damaged.
    #[error("partition {partition} of segment {}: {source}; compute it again", path.display())]
    Block {
        /// The file.
        path: PathBuf,
        /// The partition being read.
        partition: u32,
        /// What is wrong, and at which byte.
        source: BlockError,
    },
    /// The blocks are sound but are not all of those, or only those, that were written.
    #[error(
        "partition {partition} of segment {} has other blocks at byte {at} than its footer says; \
         compute it again",
        path.display()
    )]
    Extent {
        /// The file.
        path: PathBuf,
        /// The partition being read.
        partition: u32,
        /// Where the partition's blocks begin.
        at: u64,
    },
    /// A payload could not be made into a block.
    #[error("a block of partition {partition} could not be encoded: {source}")]
    Encode {
        /// The partition being written.
        partition: u32,
        /// What is wrong.
        source: BlockError,
    },
    /// A row could not be encoded.
    #[error("a row of partition {partition} could not be encoded: {source}")]
    Row {
        /// The partition being written.
        partition: u32,
        /// What the codec said.
        source: CodecError,
    },
    /// The caller named a partition that there is not.
    #[error("there is no partition {partition}: there are {partitions}, counted from 0")]
    NoSuchPartition {
        /// The partition named.
        partition: u32,
        /// How many there are.
        partitions: u32,
    },
    /// The caller wrote partitions out of order within a run.
    #[error("partition {partition} was written after {last} in one run; begin a run for it")]
    OutOfOrder {
        /// The partition written.
        partition: u32,
        /// The one before it.
        last: u32,
    },
}
