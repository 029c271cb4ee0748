//! The lines of a piece of a text file of a table, and of its beginning.

use std::ops::Range;
use std::sync::Arc;

use super::input::{Content, Input};
use super::{FileError, TableFile};
use crate::io::text::{BOM, Bytes, Compression, Cut, READ_BYTES, Regions};

/// The longest line: what is longer is hardly text.
const LINE_BYTES_MAX: usize = 1 << 30;

/// The lines of a piece.
pub(crate) struct Lines(Regions<Content>);

impl Lines {
    /// Opens a range of a file: all of it, if it is compressed.
    pub(crate) fn open(file: &TableFile, range: &Range<u64>) -> Result<Self, FileError> {
        let cut = Cut {
            path: (&file.path).into(),
            range: range.clone(),
            ends: Compression::of(&file.path).splittable() && range.end < file.bytes,
            line_bytes_max: LINE_BYTES_MAX,
        };
        let input = Arc::new(Input::open(&file.path, file.bytes)?);
        Ok(Self(Regions::new(Content::open(input, Cut::start(range))?, cut)))
    }

    /// Appends the next lines to `out`, about [`READ_BYTES`] of them. Returns the offset of what was
    /// appended, `None` at the end.
    pub(crate) fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<u64>, FileError> {
        let Some(region) = self.0.next()? else { return Ok(None) };
        out.extend_from_slice(&region.bytes);
        Ok(Some(region.offset))
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
