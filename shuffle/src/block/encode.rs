//! Encoding: one payload into one block, appended to a buffer.

use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

use super::adaptive::AdaptiveSkip;
use super::header::{BLOCK_BYTES_MAX, BlockHeader, HEADER_BYTES};
use super::{BlockError, Codec, codec};

const ZSTD_LEVEL: i32 = 1;

/// Encodes blocks with one codec, keeping its working memory from block to block.
pub struct BlockEncoder {
    compressor: Compressor,
    skip: AdaptiveSkip,
    /// Compressed bytes of the block at hand. Never shortened: only its length is ever zeroed.
    scratch: Vec<u8>,
}

enum Compressor {
    None,
    Lz4(CompressTable),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl BlockEncoder {
    /// An encoder for `codec`.
    ///
    /// # Errors
    /// If the codec cannot get its working memory.
    pub fn new(codec: Codec) -> Result<Self, BlockError> {
        let compressor = match codec {
            Codec::None => Compressor::None,
            Codec::Lz4 => Compressor::Lz4(CompressTable::small()),
            Codec::Zstd => Compressor::Zstd(
                zstd::bulk::Compressor::new(ZSTD_LEVEL)
                    .map_err(|e| BlockError::Compress { bytes: 0, reason: e.to_string() })?,
            ),
        };
        Ok(Self { compressor, skip: AdaptiveSkip::default(), scratch: Vec::new() })
    }

    /// Appends to `out` one block with `payload`, said to hold `rows` rows, and returns its header.
    ///
    /// # Errors
    /// If the payload is over [`BLOCK_BYTES_MAX`], or the compressor fails; `out` is then as it was.
    pub fn encode(
        &mut self,
        payload: &[u8],
        rows: u32,
        out: &mut Vec<u8>,
    ) -> Result<BlockHeader, BlockError> {
        if payload.len() > BLOCK_BYTES_MAX {
            return Err(BlockError::TooLarge { bytes: payload.len() });
        }
        let (method, stored) = match self.try_compress(payload)? {
            Some((method, len)) => (method, &self.scratch[..len]),
            None => (codec::PLAIN, payload),
        };
        let (raw_len, stored_len) = (payload.len() as u32, stored.len() as u32);
        let mut header = BlockHeader { method, rows, raw_len, stored_len, crc: 0 };
        let mut bytes = [0; HEADER_BYTES];
        header.seal(&mut bytes, stored);
        out.reserve(HEADER_BYTES + stored.len());
        out.extend_from_slice(&bytes);
        out.extend_from_slice(stored);
        Ok(header)
    }

    /// Compresses into the scratch buffer; the method and length if that was worth it.
    fn try_compress(&mut self, payload: &[u8]) -> Result<Option<(u8, usize)>, BlockError> {
        if matches!(self.compressor, Compressor::None) || !self.skip.should_try(payload.len()) {
            return Ok(None);
        }
        let bound = get_maximum_output_size(payload.len())
            .max(zstd::zstd_safe::compress_bound(payload.len()));
        if self.scratch.len() < bound {
            self.scratch.resize(bound, 0);
        }
        let failed = |reason: String| BlockError::Compress { bytes: payload.len(), reason };
        let (method, len) = match &mut self.compressor {
            Compressor::None => return Ok(None),
            Compressor::Lz4(table) => {
                let len = compress_into_with_table(payload, &mut self.scratch, table);
                (codec::LZ4, len.map_err(|e| failed(e.to_string()))?)
            }
            Compressor::Zstd(context) => {
                let len = context.compress_to_buffer(payload, &mut self.scratch[..]);
                (codec::ZSTD, len.map_err(|e| failed(e.to_string()))?)
            }
        };
        Ok(self.skip.accept(payload.len(), len).then_some((method, len)))
    }
}
