//! How the decoder of Parquet reads the bytes of a file.
//!
//! Local files are read page by page. Of objects, windows are fetched and kept, one for about each column
//! that is read at a time, so that pages do not cost a request each.

use std::io::{BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::io::files::{Cursor, Input};

/// Headers of pages are short, and content follows that is read by itself.
const HEADER_BYTES: usize = 512;
const WINDOW_BYTES: u64 = 2 << 20;
const WINDOWS_MAX: usize = 16;

/// A file for the decoder. Clones share it.
#[derive(Clone)]
pub(super) struct Chunks {
    input: Arc<Input>,
    /// The offset and the content of windows, the last used at the end.
    windows: Arc<Mutex<Vec<(u64, Bytes)>>>,
}

impl Chunks {
    pub(super) fn new(input: Arc<Input>) -> Self {
        Self { input, windows: Arc::default() }
    }

    fn read(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.saturating_add(length as u64) > self.input.bytes() {
            let (path, bytes) = (self.input.path(), self.input.bytes());
            return Err(ParquetError::EOF(format!(
                "{path} ends at {bytes}, before {start} + {length}"
            )));
        }
        let mut bytes = vec![0; length];
        let read = self.input.read_at(start, &mut bytes);
        read.map_err(|error| ParquetError::External(Box::new(error)))?;
        Ok(bytes.into())
    }

    /// Bytes of a window that holds them, fetched if need be.
    fn window(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.saturating_add(length as u64);
        let mut windows = self.windows.lock();
        let within = |(at, bytes): &(u64, Bytes)| *at <= start && end <= at + bytes.len() as u64;
        let (at, bytes) = match windows.iter().position(within) {
            Some(found) => windows.remove(found),
            None => {
                let wanted = WINDOW_BYTES.max(length as u64);
                let wanted =
                    wanted.min(self.input.bytes().saturating_sub(start)).max(length as u64);
                if windows.len() == WINDOWS_MAX {
                    windows.remove(0);
                }
                (start, self.read(start, usize::try_from(wanted).unwrap_or(length))?)
            }
        };
        let from = (start - at) as usize;
        let found = bytes.slice(from..from + length);
        windows.push((at, bytes));
        Ok(found)
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.input.bytes()
    }
}

/// Reads on from an offset.
pub(super) enum Forward {
    File(BufReader<Cursor>),
    Window { chunks: Chunks, offset: u64 },
}

impl Read for Forward {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::File(reader) => reader.read(out),
            Self::Window { chunks, offset } => {
                let left = chunks.len().saturating_sub(*offset);
                let count = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                out[..count].copy_from_slice(&chunks.window(*offset, count)?);
                *offset += count as u64;
                Ok(count)
            }
        }
    }
}

impl ChunkReader for Chunks {
    type T = Forward;

    fn get_read(&self, start: u64) -> Result<Forward> {
        if self.input.is_remote() {
            return Ok(Forward::Window { chunks: self.clone(), offset: start });
        }
        let cursor = Cursor { input: Arc::clone(&self.input), offset: start };
        Ok(Forward::File(BufReader::with_capacity(HEADER_BYTES, cursor)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match self.input.is_remote() {
            true => self.window(start, length),
            false => self.read(start, length),
        }
    }
}
