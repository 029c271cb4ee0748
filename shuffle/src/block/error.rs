//! What can be wrong with a block or with a segment's footer.

use super::BLOCK_BYTES_MAX;

/// A block that cannot be encoded or, being damaged, cannot be decoded.
///
/// Offsets are those the caller gave for the block's first byte: in a segment, the file's.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockError {
    /// Fewer bytes than the block needs.
    #[error("block at byte {at} is cut short: it needs {needed} bytes and {found} are left")]
    Truncated {
        /// Offset of the block.
        at: u64,
        /// Bytes the header or the whole block takes.
        needed: u64,
        /// Bytes there were.
        found: u64,
    },
    /// The bytes are not the start of a block.
    #[error("no block starts at byte {at}: its first byte is {found:#04x}")]
    Magic {
        /// Offset of the block.
        at: u64,
        /// The byte found.
        found: u8,
    },
    /// Written by another version of the format.
    #[error("block at byte {at} has format version {found}, and this build reads version 1")]
    Version {
        /// Offset of the block.
        at: u64,
        /// The version found.
        found: u8,
    },
    /// A header field that no writer writes.
    #[error("block at byte {at} has a corrupt header: {field} is {found}")]
    Header {
        /// Offset of the block.
        at: u64,
        /// Which field.
        field: &'static str,
        /// Its value.
        found: u64,
    },
    /// The bytes are not those that were written.
    #[error("block at byte {at} is corrupt: checksum {found:#010x}, expected {expected:#010x}")]
    Checksum {
        /// Offset of the block.
        at: u64,
        /// The checksum in the header.
        expected: u32,
        /// The checksum of the bytes.
        found: u32,
    },
    /// The codec refused the bytes, although their checksum holds.
    #[error("block at byte {at} does not decompress: {reason}")]
    Decompress {
        /// Offset of the block.
        at: u64,
        /// The codec's own words.
        reason: String,
    },
    /// The compressor failed.
    #[error("a block of {bytes} bytes could not be compressed: {reason}")]
    Compress {
        /// Size of the payload.
        bytes: usize,
        /// The codec's own words.
        reason: String,
    },
    /// More bytes in one block than the format allows.
    #[error(
        "a block of {bytes} bytes is over the limit of {BLOCK_BYTES_MAX}; if it holds one row, \
         split that row"
    )]
    TooLarge {
        /// Size of the payload.
        bytes: usize,
    },
}

/// A segment's footer that says no segment, or not a whole one.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FooterError {
    /// The file is shorter than what its end, or the least footer, calls for. Bytes.
    #[error("it is cut short: {found} bytes where at least {needed} are needed")]
    Truncated {
        /// The least size of the file.
        needed: u64,
        /// Its size.
        found: u64,
    },
    /// The file does not end as a segment does.
    #[error("it does not end with a segment's mark: it is no segment, or its end is lost")]
    Magic,
    /// Written by another version of the format.
    #[error("it has format version {found}, and this build reads version 1")]
    Version {
        /// The version found.
        found: u32,
    },
    /// The footer's bytes are not those that were written.
    #[error("its footer is corrupt: checksum {found:#010x}, expected {expected:#010x}")]
    Checksum {
        /// The checksum in the trailer.
        expected: u32,
        /// The checksum of the bytes.
        found: u32,
    },
    /// The footer contradicts itself or the size of the file.
    #[error("its footer is inconsistent: {what}")]
    Inconsistent {
        /// What does not hold.
        what: &'static str,
    },
}
