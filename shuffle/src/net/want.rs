//! What is asked for over the data plane, and what comes back.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::block::{BlockDecoder, BlockError};

/// Blocks that a reader asks a server for: one reduce partition of map outputs, in the order named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// The shuffle.
    pub shuffle: u64,
    /// The reduce partition.
    pub partition: u32,
    /// Each map task with the attempt whose output readers see.
    pub maps: Vec<(u32, u64)>,
    /// Whose outputs they are, for a server that has those of several: the name of its directory, as
    /// [`LocalDirs::owner_name`](crate::store::LocalDirs::owner_name) has it.
    pub owner: Option<String>,
}

/// Which block a frame is, and how many rows it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// The map task whose output it belongs to.
    pub map: u32,
    /// Rows in the block.
    pub rows: u32,
    /// True if it is the last of its map task.
    pub last: bool,
}

/// One encoded block, as it lies in a segment: header and stored bytes. Its checksum has not been looked
/// at. A map task without rows has one frame without bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    /// The map task whose output it belongs to.
    pub map: u32,
    /// Rows in the block.
    pub rows: u32,
    /// The block.
    pub bytes: Bytes,
    /// True if it is the last of its map task.
    pub last: bool,
}

impl Frame {
    /// Replaces `payload` with the block's, checked and decompressed, and returns its number of rows.
    ///
    /// # Errors
    /// If the block is damaged, or is not all of the frame.
    pub fn decode_into(
        &self,
        decoder: &mut BlockDecoder,
        payload: &mut Vec<u8>,
    ) -> Result<u32, BlockError> {
        let header = decoder.decode_into(&self.bytes, 0, payload)?;
        let found = self.bytes.len() as u64;
        if header.block_len() as u64 != found {
            return Err(BlockError::Header { at: 0, field: "length in its frame", found });
        }
        if header.rows != self.rows {
            let found = u64::from(self.rows);
            return Err(BlockError::Header { at: 0, field: "rows in its frame", found });
        }
        Ok(header.rows)
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { map, rows, bytes, last } = self;
        let bytes = bytes.len();
        write!(f, "Frame {{ map: {map}, rows: {rows}, bytes: {bytes} of them, last: {last} }}")
    }
}

/// Why a server does not hand out what is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// It is not here: never was, is gone, or is of another attempt.
    #[error("the output of map {map} is not there, or of another attempt")]
    Missing {
        /// The map task.
        map: u32,
    },
    /// It is here, and is not what was written.
    #[error("the output of map {map} is damaged: {why}")]
    Damaged {
        /// The map task.
        map: u32,
        /// What is wrong with it.
        why: String,
    },
    /// The server has as many readers as it takes; the reader may come again.
    #[error("the server has as many readers as it takes")]
    Busy,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}
