//! Part files of encoded rows: blocks one after the other, for checkpoints. What the rows are is the
//! writer's and the reader's business.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use millstream_shuffle::block::{BlockEncoder, Codec};
use tempfile::NamedTempFile;

use super::{OutputError, Part, Staging};

const BUFFER_BYTES: usize = 1 << 20;

/// Writes one attempt's blocks. Dropped without [`BlockWriter::finish`], it leaves no file.
pub struct BlockWriter {
    staging: Staging,
    partition: u32,
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    encoder: BlockEncoder,
    block: Vec<u8>,
    rows: u64,
}

impl BlockWriter {
    /// Opens the attempt's file.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(staging: &Staging, partition: u32, codec: Codec) -> Result<Self, OutputError> {
        let file = staging.attempt_file(partition)?;
        let path = file.path().to_owned();
        let invalid = |error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error);
        let encoder = BlockEncoder::new(codec)
            .map_err(|error| OutputError::io("write", &path)(invalid(error)))?;
        Ok(Self {
            staging: staging.clone(),
            partition,
            path,
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            encoder,
            block: Vec::new(),
            rows: 0,
        })
    }

    /// Writes `payload`, the encoding of `rows` rows, as one block.
    ///
    /// # Errors
    /// When the file cannot be written, or the payload is too large for a block.
    pub fn write_block(&mut self, payload: &[u8], rows: u32) -> Result<(), OutputError> {
        if rows == 0 {
            return Ok(());
        }
        self.block.clear();
        let invalid = |error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error);
        let encoded = self.encoder.encode(payload, rows, &mut self.block).map_err(invalid);
        encoded
            .and_then(|_| self.file.write_all(&self.block))
            .map_err(|error| OutputError::io("write", &self.path)(error))?;
        self.rows += u64::from(rows);
        Ok(())
    }

    /// Ends the file. It is published if [`Staging::commit_task`] chooses it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<Part, OutputError> {
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error);
        let file = file.map_err(|error| OutputError::io("write", &self.path)(error))?;
        self.staging.keep(file, self.partition, ".blocks", self.rows)
    }
}
