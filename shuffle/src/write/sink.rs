//! A buffer before a temporary file, into which blocks are encoded in place.

use crate::store::{DiskError, SpillFile};

/// The buffer is written out when it holds this much.
pub(super) const SINK_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Sink {
    file: SpillFile,
    buffer: Vec<u8>,
}

impl Sink {
    pub(super) fn new(file: SpillFile) -> Self {
        Self { file, buffer: Vec::new() }
    }

    /// The buffer, with room for `len` bytes more without growing if that is possible at all.
    pub(super) fn room_for(&mut self, len: usize) -> Result<&mut Vec<u8>, DiskError> {
        if self.buffer.len() + len > SINK_BYTES {
            self.flush()?;
        }
        Ok(&mut self.buffer)
    }

    pub(super) fn flush(&mut self) -> Result<(), DiskError> {
        if !self.buffer.is_empty() {
            self.file.write_all(&self.buffer)?;
            self.buffer.clear();
            // One block beyond the usual must not make the buffer large for good.
            self.buffer.shrink_to(SINK_BYTES);
        }
        Ok(())
    }

    pub(super) fn file(&self) -> &SpillFile {
        &self.file
    }

    /// Writes out what is left and gives up the file.
    pub(super) fn into_file(mut self) -> Result<SpillFile, DiskError> {
        self.flush()?;
        Ok(self.file)
    }
}
