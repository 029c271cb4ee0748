//! Reading a split as chunks of lines.

use std::path::PathBuf;
use std::sync::Arc;

use super::cut::{Cut, Region, Regions};
use super::source::Source;
use super::{InputError, InputFile, InvalidUtf8, Piece, Split, TextOptions};
use crate::text::{Buffer, Text};

/// A chunk ends after this many lines, or
const CHUNK_LINES: usize = 4096;
/// after this many bytes.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads the lines of a split, in file order, as chunks of about 4,096 lines or 256 KiB.
///
/// Lines end at `\n` or `\r\n`, which are not part of them; the last line of a file need not end.
/// A byte order mark at the start of a file is dropped. Over all splits of a plan, each line of
/// each file is read exactly once, by the split in whose range it starts. Lines of more than 14
/// bytes are slices of the buffer they were read into.
pub struct LineReader {
    files: Arc<[InputFile]>,
    split: Split,
    options: TextOptions,
    /// The piece being read, as an index into the split.
    piece: usize,
    regions: Option<Regions<Source>>,
    /// The lines read and not yet given: `lines.bytes[next..]`.
    lines: Arc<Buffer>,
    next: usize,
    lines_skipped: u64,
}

impl LineReader {
    /// A reader of `split`, which was planned over `files`. Opens nothing yet.
    pub fn new(files: Arc<[InputFile]>, split: Split, options: TextOptions) -> Self {
        Self {
            files,
            split,
            options,
            piece: 0,
            regions: None,
            lines: Buffer::from_string(String::new()),
            next: 0,
            lines_skipped: 0,
        }
    }

    /// The number of lines left out so far because they were not UTF-8.
    pub fn lines_skipped(&self) -> u64 {
        self.lines_skipped
    }

    /// The next lines; never an empty chunk.
    ///
    /// # Errors
    /// Files that are gone, changed, damaged, unreadable, or not UTF-8 where the options say so.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<Text>>, InputError> {
        let mut chunk = Vec::new();
        let mut bytes = 0;
        while chunk.len() < CHUNK_LINES && bytes < CHUNK_BYTES {
            if self.next == self.lines.as_bytes().len() && !self.next_region()? {
                break;
            }
            bytes += self.take_lines(&mut chunk);
        }
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    /// Moves lines of the current region into `chunk`, as many as fit. Returns their bytes.
    fn take_lines(&mut self, chunk: &mut Vec<Text>) -> usize {
        let content = self.lines.as_bytes();
        let begin = self.next;
        let room = CHUNK_LINES - chunk.len();
        for newline in memchr::memchr_iter(b'\n', &content[begin..]).take(room) {
            let newline = begin + newline;
            let carriage_return = newline > self.next && content[newline - 1] == b'\r';
            let end = newline - usize::from(carriage_return);
            chunk.push(Text::share(&self.lines, self.next, end));
            self.next = newline + 1;
        }
        if chunk.len() < CHUNK_LINES && self.next < content.len() {
            chunk.push(Text::share(&self.lines, self.next, content.len()));
            self.next = content.len();
        }
        self.next - begin
    }

    /// Makes the next region with lines in it the current one; false at the end of the split.
    fn next_region(&mut self) -> Result<bool, InputError> {
        while let Some(piece) = self.split.pieces.get(self.piece) {
            let file = &self.files[piece.file];
            let regions = match &mut self.regions {
                Some(regions) => regions,
                none => none.insert(regions_of(file, piece, &self.options)?),
            };
            if let Some(region) = regions.next()? {
                let path = file.path.clone();
                let text = self.validate(path, region)?;
                self.lines = Buffer::from_string(text);
                self.next = 0;
                return Ok(true);
            }
            self.regions = None;
            self.piece += 1;
        }
        Ok(false)
    }

    /// The region as text, by the policy for what is not.
    fn validate(&mut self, path: PathBuf, region: Region) -> Result<String, InputError> {
        let offset = region.offset;
        Buffer::validated(region.bytes).or_else(|(bytes, error)| match self.options.invalid_utf8 {
            InvalidUtf8::Fail => {
                Err(InputError::InvalidUtf8 { path, offset: offset + error.valid_up_to() as u64 })
            }
            InvalidUtf8::Lossy => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            InvalidUtf8::Skip => Ok(self.keep_valid_lines(&bytes)),
        })
    }

    fn keep_valid_lines(&mut self, bytes: &[u8]) -> String {
        let mut kept = String::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match simdutf8::basic::from_utf8(line) {
                Ok(line) => kept.push_str(line),
                Err(_) => self.lines_skipped += 1,
            }
        }
        kept
    }
}

/// Compressed files are read whole.
fn regions_of(
    file: &InputFile,
    piece: &Piece,
    options: &TextOptions,
) -> Result<Regions<Source>, InputError> {
    let cut = Cut {
        path: file.path.clone(),
        range: piece.range.clone(),
        ends: file.compression.splittable(),
        line_bytes_max: options.record_bytes_max,
    };
    Ok(Regions::new(Source::open(file, Cut::start(&piece.range))?, cut))
}

impl Iterator for LineReader {
    type Item = Result<Vec<Text>, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_chunk().transpose()
    }
}
