//! The block header: its layout, and the bounds on what it may claim.

use super::{BlockError, codec};

/// Bytes of a block's header.
pub const HEADER_BYTES: usize = 20;
/// The most bytes one block may hold, decoded: 64 MiB.
pub const BLOCK_BYTES_MAX: usize = 64 << 20;

const MAGIC: u8 = 0xB7;
const VERSION: u8 = 1;
/// Bytes of the header that the checksum covers; the checksum itself follows them.
const CHECKED_BYTES: usize = 16;

/// What a block says of itself before its bytes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    pub(super) method: u8,
    /// Rows in the block.
    pub rows: u32,
    /// Bytes of the payload once decoded; at most [`BLOCK_BYTES_MAX`].
    pub raw_len: u32,
    /// Bytes that follow the header; at most `raw_len`.
    pub stored_len: u32,
    /// CRC32C of the header's other bytes and the stored bytes.
    pub crc: u32,
}

impl BlockHeader {
    /// Bytes of the whole block, header included.
    #[must_use]
    pub fn block_len(&self) -> usize {
        HEADER_BYTES + self.stored_len as usize
    }

    /// Writes the header, computing its checksum over `stored`, into `out`.
    pub(super) fn seal(&mut self, out: &mut [u8; HEADER_BYTES], stored: &[u8]) {
        out[..4].copy_from_slice(&[MAGIC, VERSION, self.method, 0]);
        out[4..8].copy_from_slice(&self.rows.to_le_bytes());
        out[8..12].copy_from_slice(&self.raw_len.to_le_bytes());
        out[12..16].copy_from_slice(&self.stored_len.to_le_bytes());
        self.crc = checksum(out, stored);
        out[16..].copy_from_slice(&self.crc.to_le_bytes());
    }

    /// Reads the header at the start of `bytes`, which lies at offset `at`.
    ///
    /// # Errors
    /// If it is cut short, or claims what no writer writes. The checksum is not looked at.
    pub fn parse(bytes: &[u8], at: u64) -> Result<Self, BlockError> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            let (needed, found) = (HEADER_BYTES as u64, bytes.len() as u64);
            return Err(BlockError::Truncated { at, needed, found });
        };
        if header[0] != MAGIC {
            return Err(BlockError::Magic { at, found: header[0] });
        }
        if header[1] != VERSION {
            return Err(BlockError::Version { at, found: header[1] });
        }
        let word =
            |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let parsed = Self {
            method: header[2],
            rows: word(4),
            raw_len: word(8),
            stored_len: word(12),
            crc: word(CHECKED_BYTES),
        };
        match parsed.implausible(header[3]) {
            Some((field, found)) => Err(BlockError::Header { at, field, found }),
            None => Ok(parsed),
        }
    }

    /// The first field that no writer writes, with its value.
    fn implausible(&self, reserved: u8) -> Option<(&'static str, u64)> {
        let plain = self.method == codec::PLAIN;
        if !codec::is_known(self.method) {
            Some(("codec", u64::from(self.method)))
        } else if reserved != 0 {
            Some(("reserved byte", u64::from(reserved)))
        } else if self.raw_len as usize > BLOCK_BYTES_MAX {
            Some(("raw length", u64::from(self.raw_len)))
        } else if self.stored_len > self.raw_len || plain && self.stored_len != self.raw_len {
            Some(("stored length", u64::from(self.stored_len)))
        } else {
            None
        }
    }

    /// Checks `block` (header and stored bytes, exactly) against the checksum.
    pub(super) fn verify(&self, block: &[u8], at: u64) -> Result<(), BlockError> {
        let found = match block.split_first_chunk::<HEADER_BYTES>() {
            Some((header, stored)) => checksum(header, stored),
            None => !self.crc,
        };
        if found == self.crc {
            Ok(())
        } else {
            Err(BlockError::Checksum { at, expected: self.crc, found })
        }
    }
}

fn checksum(header: &[u8; HEADER_BYTES], stored: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..CHECKED_BYTES]), stored)
}
