//! Blocks: the unit in which encoded rows are compressed, checked, written and sent.
//!
//! A block is a 20-byte header and its stored bytes; integers are little-endian:
//!
//! ```text
//!  0  u8   magic 0xB7           8  u32  raw length: bytes once decoded
//!  1  u8   version 1           12  u32  stored length: bytes that follow the header
//!  2  u8   codec               16  u32  CRC32C of header bytes 0..16, then the stored bytes
//!  3  u8   zero                20       stored bytes
//!  4  u32  rows
//! ```
//!
//! The checksum is verified before anything is decompressed, and each length is bounded before
//! it is believed. What the rows mean is the caller's. The module also has the format of the
//! segment file that blocks lie in; writing and reading one is for [`crate::write`] and
//! [`crate::read`].

mod adaptive;
mod codec;
mod decode;
mod encode;
mod error;
mod footer;
mod header;

pub use codec::Codec;
pub use decode::BlockDecoder;
pub use encode::BlockEncoder;
pub use error::{BlockError, FooterError};
pub(crate) use footer::{Extent, Footer, TRAILER_BYTES, Trailer};
pub use header::{BLOCK_BYTES_MAX, BlockHeader, HEADER_BYTES};

#[cfg(test)]
mod tests;
