//! The map side: rows kept by partition, spilled in runs when the caller's budget says so, and
//! committed as one segment file.
//!
//! ```text
//! rows ─> PartitionedWriter ──(finish, kept)──────────────> rows by partition, in memory
//!              │ spill: a run in partition order
//!              v
//!         SegmentWriter ─> Sink ─> temporary file ──commit──> Segment
//! ```
//!
//! Which partition a row goes to is for [`crate::partition`]; how much memory there is, and
//! therefore when to spill, is the caller's.

mod chunks;
mod compact;
mod encode_rows;
mod partitioned;
mod row_codec;
mod segment;
mod sink;

pub use compact::should_merge;
pub use encode_rows::{EncodeRows, EncodedRows, RowPosition, encode_chunks};
pub use partitioned::{PartitionedOutput, PartitionedWriter, WriterConfig};
pub use row_codec::{CodecError, RowCodec};
pub use segment::SegmentWriter;

#[cfg(test)]
mod tests;
