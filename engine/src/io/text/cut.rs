//! Cutting a piece of a text file into regions: stretches of whole lines, each in a buffer of its own. Where the
//! bytes lie, and what becomes of the lines, is the business of others.
//!
//! A line belongs to the piece in which it starts. So a piece that does not begin its file skips
//! the rest of the line it begins in, and a piece reads on past its end to finish its last line.
//! Cuts are made at `\n` only, which never occurs inside a UTF-8 sequence.

use std::ops::Range;
use std::path::PathBuf;

use super::InputError;

/// How much is read at a time.
pub(crate) const READ_BYTES: usize = 256 << 10;
/// How much is read at a time past the end of a piece, looking for the end of a line.
const TAIL_BYTES: usize = 4 << 10;
/// What may precede the first line, and is not part of it.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The decompressed bytes of a file from some offset on.
pub(crate) trait Bytes {
    type Error: From<InputError>;

    /// Appends up to `count` bytes: fewer only at the end of the file. Returns how many.
    fn read(&mut self, out: &mut Vec<u8>, count: usize) -> Result<usize, Self::Error>;
}

/// A piece of a file.
pub(crate) struct Cut {
    /// For messages.
    pub(crate) path: PathBuf,
    /// The lines that start in this range are its own.
    pub(crate) range: Range<u64>,
    /// Whether it ends with the range, and not with the file.
    pub(crate) ends: bool,
    /// The longest line.
    pub(crate) line_bytes_max: usize,
}

impl Cut {
    /// The offset from which on its bytes are read: the one before the range tells whether a line starts with the
    /// range.
    pub(crate) fn start(range: &Range<u64>) -> u64 {
        range.start.saturating_sub(1)
    }
}

/// Whole lines of a file.
pub(crate) struct Region {
    /// The lines, each with its newline; the last line of a file may lack it.
    pub(crate) bytes: Vec<u8>,
    /// Where `bytes` lie in the decompressed file.
    pub(crate) offset: u64,
}

/// The regions of a piece.
pub(crate) struct Regions<B> {
    source: B,
    path: PathBuf,
    line_bytes_max: usize,
    /// Lines that start at or after this offset belong to another piece.
    end: Option<u64>,
    /// The bytes after the last region: the start of a line.
    carry: Vec<u8>,
    /// The offset of `carry`.
    offset: u64,
    /// The rest of a line that an earlier piece owns has yet to be skipped.
    skip_line: bool,
    done: bool,
}

impl<B: Bytes> Regions<B> {
    /// Of a source that is open at [`Cut::start`].
    pub(crate) fn new(source: B, cut: Cut) -> Self {
        let Cut { path, range, ends, line_bytes_max } = cut;
        Self {
            source,
            path,
            line_bytes_max,
            end: ends.then_some(range.end),
            carry: Vec::new(),
            offset: Cut::start(&range),
            skip_line: range.start > 0,
            done: ends && range.is_empty(),
        }
    }

    /// The next lines of the piece, about [`READ_BYTES`] of them.
    pub(crate) fn next(&mut self) -> Result<Option<Region>, B::Error> {
        while self.skip_line && !self.done {
            self.skip_to_line()?;
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
            self.check_unfinished(&bytes)?;
            searched = bytes.len();
            if self.fill(&mut bytes)? == 0 {
                self.done = true;
                break bytes.len();
            }
        };
        let offset = self.offset;
        self.carry = bytes[stop..].to_vec();
        self.offset += stop as u64;
        self.done |= self.end.is_some_and(|end| self.offset >= end);
        bytes.truncate(stop);
        let bom = if offset == 0 && bytes.starts_with(BOM) { BOM.len() } else { 0 };
        bytes.drain(..bom);
        Ok((!bytes.is_empty()).then_some(Region { bytes, offset: offset + bom as u64 }))
    }

    /// Where the lines of a region end in `bytes`, of which the first `searched` hold no newline;
    /// `None` when more must be read.
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
    fn skip_to_line(&mut self) -> Result<(), B::Error> {
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

    /// Appends what comes after `bytes`, which lie at `self.offset`. A long line is read in growing
    /// steps, so that it costs linear time.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<usize, B::Error> {
        let position = self.offset + bytes.len() as u64;
        let ahead = self.end.map_or(READ_BYTES as u64, |end| end.saturating_sub(position));
        let least = TAIL_BYTES.max(bytes.len()).min(64 * READ_BYTES);
        let count = (ahead.min(READ_BYTES as u64) as usize).max(least);
        self.source.read(bytes, count)
    }

    /// Bounds the line that `bytes` end in the middle of.
    fn check_unfinished(&self, bytes: &[u8]) -> Result<(), InputError> {
        let limit = self.line_bytes_max;
        if bytes.len() <= limit {
            return Ok(());
        }
        let start = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        if bytes.len() - start <= limit {
            return Ok(());
        }
        let (path, offset) = (self.path.clone(), self.offset + start as u64);
        Err(InputError::RecordTooLong { path, offset, limit })
    }
}
