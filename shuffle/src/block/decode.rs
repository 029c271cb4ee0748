//! Decoding: one block, checked and then decompressed, into a buffer that is reused.

use std::fmt;

use super::header::{BlockHeader, HEADER_BYTES};
use super::{BlockError, codec};

/// Decodes blocks of any codec, keeping its working memory from block to block.
#[derive(Default)]
pub struct BlockDecoder {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl BlockDecoder {
    /// A decoder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces `out` with the payload of the block at the start of `bytes`, which lies at offset
    /// `at`, and returns its header. What follows the block is not looked at.
    ///
    /// # Errors
    /// If the block is cut short or damaged in any way; the content of `out` is then unspecified.
    pub fn decode_into(
        &mut self,
        bytes: &[u8],
        at: u64,
        out: &mut Vec<u8>,
    ) -> Result<BlockHeader, BlockError> {
        let header = BlockHeader::parse(bytes, at)?;
        let Some(block) = bytes.get(..header.block_len()) else {
            let (needed, found) = (header.block_len() as u64, bytes.len() as u64);
            return Err(BlockError::Truncated { at, needed, found });
        };
        header.verify(block, at)?;
        self.decompress(&header, &block[HEADER_BYTES..], at, out)?;
        Ok(header)
    }

    fn decompress(
        &mut self,
        header: &BlockHeader,
        stored: &[u8],
        at: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), BlockError> {
        if header.method == codec::PLAIN {
            out.clear();
            out.extend_from_slice(stored);
            return Ok(());
        }
        // Not cleared first: a buffer in steady use is zeroed once and not once a block.
        out.resize(header.raw_len as usize, 0);
        let refused = |reason: String| BlockError::Decompress { at, reason };
        let len = match header.method {
            codec::LZ4 => {
                lz4_flex::block::decompress_into(stored, out).map_err(|e| refused(e.to_string()))?
            }
            _ => self
                .zstd_context()
                .and_then(|context| context.decompress_to_buffer(stored, &mut out[..]))
                .map_err(|e| refused(e.to_string()))?,
        };
        if len == out.len() {
            Ok(())
        } else {
            Err(refused(format!("{len} bytes came out where {} were promised", out.len())))
        }
    }

    fn zstd_context(&mut self) -> std::io::Result<&mut zstd::bulk::Decompressor<'static>> {
        match &mut self.zstd {
            Some(context) => Ok(context),
            none => Ok(none.insert(zstd::bulk::Decompressor::new()?)),
        }
    }
}

impl fmt::Debug for BlockDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockDecoder").finish_non_exhaustive()
    }
}
