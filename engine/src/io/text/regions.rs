//! Reading one piece as regions: stretches of whole lines, each in a buffer of its own.
//!
//! A line belongs to the piece in which it starts. So a piece that does not begin its file skips
//! the rest of the line it begins in, and a piece reads on past its end to finish its last line.
//! Cuts are made at `\n` only, which never occurs inside a UTF-8 sequence.

use std::ops::Range;

use super::source::{self, Source};
use super::{InputError, InputFile};

/// How much is read at a time.
const READ_BYTES: usize = 256 << 10;
/// How much is read at a time past the end of a piece, looking for the end of a line.
const TAIL_BYTES: usize = 4 << 10;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Whole lines of a file.
pub(super) struct Region {
    /// The lines, each with its newline; the last line of a file may lack it.
    pub(super) bytes: Vec<u8>,
    /// Where `bytes` lie in the decompressed file.
    pub(super) offset: u64,
}

pub(super) struct Regions {
    source: Source,
    /// Lines that start at or after this offset belong to another piece; `None` for compressed
    /// files, which are read whole.
    end: Option<u64>,
    record_bytes_max: usize,
    /// The bytes after the last region: the start of a line.
    carry: Vec<u8>,
    /// The offset of `carry`.
    offset: u64,
    /// The rest of a line that an earlier piece owns has yet to be skipped.
    skip_line: bool,
    done: bool,
}

impl Regions {
    pub(super) fn open(
        file: &InputFile,
        range: &Range<u64>,
        record_bytes_max: usize,
    ) -> Result<Self, InputError> {
        // The byte before the range tells whether a line starts with the range.
        let offset = range.start.saturating_sub(1);
        let end = file.compression.splittable().then_some(range.end);
        Ok(Self {
            source: Source::open(file, offset)?,
            end,
            record_bytes_max,
            carry: Vec::new(),
            offset,
            skip_line: range.start > 0,
            done: end.is_some_and(|end| end <= range.start),
        })
    }

    /// The next lines of the piece.
    pub(super) fn next(&mut self, file: &InputFile) -> Result<Option<Region>, InputError> {
        while self.skip_line && !self.done {
            self.skip_to_line(file)?;
        }
        if self.done {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.carry);
        let mut searched = 0;
        let stop = loop {
            if let Some(stop) = self.region_stop(&bytes, searched) {
                break stop;
            }
            self.check_unfinished(file, &bytes)?;
            searched = bytes.len();
            if self.fill(file, &mut bytes)? == 0 {
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
    fn region_stop(&self, bytes: &[u8], searched: usize) -> Option<usize> {
        // The last line of the piece is the one that its last byte lies in.
        let last = self.end.map_or(usize::MAX, |end| (end - 1 - self.offset) as usize);
        match bytes.get(last.max(searched)..) {
            Some(tail) if last < bytes.len() => {
                memchr::memchr(b'\n', tail).map(|at| last.max(searched) + at + 1)
            }
            _ => memchr::memrchr(b'\n', &bytes[searched..]).map(|at| searched + at + 1),
        }
    }

    /// Drops bytes up to the first newline.
    fn skip_to_line(&mut self, file: &InputFile) -> Result<(), InputError> {
        let mut bytes = Vec::new();
        if self.fill(file, &mut bytes)? == 0 {
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
    fn fill(&mut self, file: &InputFile, bytes: &mut Vec<u8>) -> Result<usize, InputError> {
        let position = self.offset + bytes.len() as u64;
        let ahead = self.end.map_or(READ_BYTES as u64, |end| end.saturating_sub(position));
        let least = TAIL_BYTES.max(bytes.len());
        let count = (ahead.min(READ_BYTES as u64) as usize).max(least.min(64 * READ_BYTES));
        let read = self.source.read(bytes, count)?;
        let found = position + read as u64;
        if read < count && file.compression.splittable() && found < file.len {
            return Err(source::changed(file, found));
        }
        Ok(read)
    }

    /// Bounds the line that `bytes` end in the middle of.
    fn check_unfinished(&self, file: &InputFile, bytes: &[u8]) -> Result<(), InputError> {
        if bytes.len() <= self.record_bytes_max {
            return Ok(());
        }
        let start = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        if bytes.len() - start <= self.record_bytes_max {
            return Ok(());
        }
        Err(InputError::RecordTooLong {
            path: file.path.clone(),
            offset: self.offset + start as u64,
            limit: self.record_bytes_max,
        })
    }
}
