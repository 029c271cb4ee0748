//! Objects of encoded rows: blocks one after the other. What the rows are is the writer's and the
//! reader's business; that they are the same, the digest's.

use millstream_shuffle::block::{
    BLOCK_BYTES_MAX, BlockDecoder, BlockEncoder, BlockHeader, Codec, HEADER_BYTES,
};
use millstream_shuffle::digest::RowDigest;

use super::{CheckpointError, SavedPart};
use crate::io::store::{ObjectReader, ObjectWriter, Store, StoreError};

/// Writes the object of one attempt. Dropped without [`BlockWriter::finish`], it leaves none.
pub struct BlockWriter {
    object: String,
    writer: ObjectWriter,
    encoder: BlockEncoder,
    block: Vec<u8>,
}

impl BlockWriter {
    pub(super) fn new(
        store: &Store,
        object: String,
        codec: Codec,
    ) -> Result<Self, CheckpointError> {
        let encoder = BlockEncoder::new(codec).map_err(|error| CheckpointError::Block {
            object: store.location().join(&object).to_string(),
            why: error.to_string(),
        })?;
        let writer = store.writer(&object);
        Ok(Self { object, writer, encoder, block: Vec::new() })
    }

    /// Writes `payload`, the encoding of `rows` rows, as one block.
    ///
    /// # Errors
    /// When the store refuses, or the payload is too large for a block.
    pub fn write_block(&mut self, payload: &[u8], rows: u32) -> Result<(), CheckpointError> {
        if rows == 0 {
            return Ok(());
        }
        self.block.clear();
        self.encoder.encode(payload, rows, &mut self.block).map_err(|error| {
            CheckpointError::Block { object: self.object.clone(), why: error.to_string() }
        })?;
        Ok(self.writer.write(&self.block)?)
    }

    /// Ends the object. It belongs to the checkpoint if the job commits this part.
    ///
    /// # Errors
    /// When the store refuses.
    pub fn finish(self, digest: RowDigest) -> Result<SavedPart, CheckpointError> {
        let bytes = self.writer.complete()?;
        Ok(SavedPart { object: self.object, bytes, digest })
    }
}

/// Reads the blocks of one partition, each verified by its checksum.
pub struct BlockReader {
    /// What errors call the object.
    name: String,
    reader: ObjectReader,
    decoder: BlockDecoder,
    /// Where the next block begins.
    at: u64,
    block: Vec<u8>,
}

impl BlockReader {
    /// A reader of a part of the checkpoint in `store`.
    #[must_use]
    pub fn new(store: &Store, part: &SavedPart) -> Self {
        Self {
            name: store.location().join(&part.object).to_string(),
            reader: store.reader(&part.object, part.bytes),
            decoder: BlockDecoder::new(),
            at: 0,
            block: Vec::new(),
        }
    }

    /// Reads the next block into `payload` and returns its header; `None` at the end.
    ///
    /// # Errors
    /// A damaged block, an object that is gone, and a failing store.
    pub fn next_into(
        &mut self,
        payload: &mut Vec<u8>,
    ) -> Result<Option<BlockHeader>, CheckpointError> {
        self.block.clear();
        if self.read(HEADER_BYTES)? == 0 {
            return Ok(None);
        }
        let header =
            BlockHeader::parse(&self.block, self.at).map_err(|error| self.damaged(error))?;
        let len = header.block_len();
        if len > BLOCK_BYTES_MAX + HEADER_BYTES {
            let why = format!("a block of {len} bytes at byte {} is larger than any", self.at);
            return Err(self.damaged(why));
        }
        self.read(len - HEADER_BYTES)?;
        self.decoder
            .decode_into(&self.block, self.at, payload)
            .map_err(|error| self.damaged(error))?;
        self.at += len as u64;
        Ok(Some(header))
    }

    fn read(&mut self, len: usize) -> Result<usize, CheckpointError> {
        match self.reader.read(len, &mut self.block) {
            Err(StoreError::NotFound { .. }) => Err(self.damaged("it does not exist")),
            Err(StoreError::Short { bytes, .. }) => {
                Err(self.damaged(format!("it is shorter than the {bytes} bytes that were written")))
            }
            read => Ok(read?),
        }
    }

    /// The error that the object does not hold what was written.
    pub fn damaged(&self, why: impl ToString) -> CheckpointError {
        CheckpointError::Damaged { object: self.name.clone(), why: why.to_string() }
    }
}
