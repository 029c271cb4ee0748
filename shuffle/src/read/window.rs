//! A bounded window that slides over one range of a file.
//!
//! The window is filled by positioned reads into memory that is reused, and not by mapping the
//! file. A mapping turns a file cut short, or a disk that fails, into SIGBUS, which ends the
//! process; no check of the length beforehand can rule that out. Here each is an error of one
//! read. Memory is bounded by the window, where the pages of a mapping would count as
//! resident, and no `unsafe` is needed. The price is one copy: about a quarter on top of
//! checksumming the bytes where they lie, a few percent of reading lz4 blocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How many bytes are read at a time, unless one block needs more.
const WINDOW_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Window {
    buffer: Vec<u8>,
    /// What is read and not yet consumed lies at `start..end` of the buffer.
    start: usize,
    end: usize,
    /// The file offset of the buffer's `start`.
    offset: u64,
    /// Where the range ends in the file.
    range_end: u64,
}

/// The file ended inside the range, at this offset, or could not be read.
#[derive(Debug)]
pub(super) enum FillError {
    Ended(u64),
    Io(io::Error),
}

impl Window {
    /// Moves to the start of another range.
    pub(super) fn set_range(&mut self, offset: u64, end: u64) {
        (self.start, self.end) = (0, 0);
        (self.offset, self.range_end) = (offset, end);
    }

    /// The file offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// True if the whole range is consumed.
    pub(super) fn is_done(&self) -> bool {
        self.offset >= self.range_end
    }

    /// The next bytes, at least `needed` of them unless the range has fewer left.
    pub(super) fn peek(&mut self, file: &File, needed: usize) -> Result<&[u8], FillError> {
        if self.end - self.start < needed {
            self.fill(file, needed)?;
        }
        Ok(self.loaded())
    }

    /// What was last peeked at.
    pub(super) fn loaded(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Moves past `len` bytes that were peeked at.
    pub(super) fn consume(&mut self, len: usize) {
        self.start += len;
        self.offset += len as u64;
        debug_assert!(self.start <= self.end, "only bytes peeked at can be consumed");
    }

    fn fill(&mut self, file: &File, needed: usize) -> Result<(), FillError> {
        let left = self.range_end - self.offset;
        let wanted = left.min(needed.max(WINDOW_BYTES) as u64) as usize;
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted {
            let at = self.offset + self.end as u64;
            match file.read_at(&mut self.buffer[self.end..wanted], at) {
                Ok(0) => return Err(FillError::Ended(at)),
                Ok(len) => self.end += len,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(FillError::Io(e)),
            }
        }
        Ok(())
    }
}
