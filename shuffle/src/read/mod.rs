//! The reduce side: committed segments, their partitions block by block, and the merge of sorted
//! sources. Fetching from other machines, and what the bytes of a row mean, are elsewhere.

mod blocks;
mod error;
mod merge;
mod segment;
mod window;

pub use blocks::{BlockReader, StoredBlock};
pub use error::SegmentError;
pub use merge::MergeIter;
pub use segment::Segment;
