//! Reading a piece of a text file as regions: stretches of whole lines.
//!
//! A line belongs to the piece in which it starts. So a piece that does not begin its file skips the rest
//! of the line it begins in, and reads on past its end to finish its last line.

use std::ops::Range;
use std::sync::Arc;

use super::input::{Content, Input, compression};
use super::{FileError, TableFile};
use crate::io::text::InputError;

/// How much is read at a time.
const READ_BYTES: usize = 256 << 10;
/// How much is read at a time past the end of a piece.
const TAIL_BYTES: usize = 4 << 10;
/// The longest line: what is longer is hardly text.
const LINE_BYTES_MAX: usize = 1 << 30;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The lines of a piece.
pub(crate) struct Lines {
    path: String,
    content: Content,
    /// Lines that start at or after this offset belong to another piece.
    end: Option<u64>,
    /// Bytes that were read and not given: the start of a line.
    carry: Vec<u8>,
    /// The offset of `carry`.
    offset: u64,
    skip_line: bool,
    done: bool,
}

impl Lines {
    /// Opens a range of a file: all of it, if it is compressed.
    pub(crate) fn open(file: &TableFile, range: &Range<u64>) -> Result<Self, FileError> {
        let input = Arc::new(Input::open(&file.path, file.bytes)?);
        let cut = compression(&file.path).splittable() && range.end < file.bytes;
        // The byte before the range tells whether a line starts with the range.
        let offset = range.start.saturating_sub(1);
        Ok(Self {
            path: file.path.clone(),
            content: Content::open(input, offset)?,
            end: cut.then_some(range.end),
            carry: Vec::new(),
            offset,
            skip_line: range.start > 0,
            done: false,
        })
    }

    /// Appends the next lines to `out`, about [`READ_BYTES`] of them. Returns the offset of what was
    /// appended, `None` at the end.
    pub(crate) fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<u64>, FileError> {
        while self.skip_line && !self.done {
            self.skip()?;
        }
        if self.done {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.carry);
        let mut searched = 0;
        let stop = loop {
            if let Some(stop) = self.stop(&bytes, searched) {
                break stop;
            }
            if bytes.len() > LINE_BYTES_MAX {
                let (path, limit) = ((&self.path).into(), LINE_BYTES_MAX);
                return Err(InputError::RecordTooLong { path, offset: self.offset, limit }.into());
            }
            searched = bytes.len();
            if self.fill(&mut bytes)? == 0 {
                self.done = true;
                break bytes.len();
            }
        };
        let bom = if self.offset == 0 && bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let offset = self.offset + bom as u64;
        out.extend_from_slice(&bytes[bom.min(stop)..stop]);
        self.carry = bytes.split_off(stop);
        self.offset += stop as u64;
        self.done |= self.end.is_some_and(|end| self.offset >= end);
        Ok(Some(offset))
    }

    /// Where the lines of a region end; `None` when more must be read.
    fn stop(&self, bytes: &[u8], searched: usize) -> Option<usize> {
        // The last line of the piece is the one that its last byte lies in.
        let last = self.end.map_or(usize::MAX, |end| (end - 1 - self.offset) as usize);
        let from = last.max(searched);
        match bytes.get(from..) {
            Some(tail) if last < bytes.len() => memchr::memchr(b'\n', tail).map(|at| from + at + 1),
            _ => memchr::memrchr(b'\n', &bytes[searched..]).map(|at| searched + at + 1),
        }
    }

    /// Drops bytes up to the first newline.
    fn skip(&mut self) -> Result<(), FileError> {
        let mut bytes = Vec::new();
        if self.fill(&mut bytes)? == 0 {
            self.done = true;
            return Ok(());
        }
        let newline = memchr::memchr(b'\n', &bytes);
        let skipped = newline.map_or(bytes.len(), |at| at + 1);
        self.skip_line = newline.is_none();
        self.carry = bytes.split_off(skipped);
        self.offset += skipped as u64;
        self.done = self.end.is_some_and(|end| self.offset >= end);
        Ok(())
    }

    /// Reads on. A long line is read in growing steps, so that it costs linear time.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<usize, FileError> {
        let position = self.offset + bytes.len() as u64;
        let ahead = self.end.map_or(READ_BYTES as u64, |end| end.saturating_sub(position));
        let least = TAIL_BYTES.max(bytes.len()).min(64 * READ_BYTES);
        let count = (ahead.min(READ_BYTES as u64) as usize).max(least);
        self.content.read(bytes, count)
    }
}

/// The number of the line, from 1, that an offset of the decompressed file lies in.
pub(crate) fn line_of(file: &TableFile, offset: u64) -> Result<u64, FileError> {
    let mut content = Content::open(Arc::new(Input::open(&file.path, file.bytes)?), 0)?;
    let (mut bytes, mut left, mut line) = (Vec::new(), offset, 1);
    while left > 0 {
        bytes.clear();
        let count = usize::try_from(left).unwrap_or(READ_BYTES).min(READ_BYTES);
        let read = content.read(&mut bytes, count)?;
        if read == 0 {
            break;
        }
        line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        left -= read as u64;
    }
    Ok(line)
}

/// The first bytes of a file: whole lines if there is a newline among them.
pub(crate) fn head(file: &TableFile, bytes: u64) -> Result<Vec<u8>, FileError> {
    let mut content = Content::open(Arc::new(Input::open(&file.path, file.bytes)?), 0)?;
    let mut head = Vec::new();
    let wanted = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
    let whole = content.read(&mut head, wanted)? < wanted;
    while !whole && memchr::memchr(b'\n', &head).is_none() {
        if content.read(&mut head, READ_BYTES)? == 0 {
            break;
        }
    }
    if !whole && let Some(at) = memchr::memrchr(b'\n', &head) {
        head.truncate(at + 1);
    }
    if head.starts_with(BOM) {
        head.drain(..BOM.len());
    }
    Ok(head)
}
