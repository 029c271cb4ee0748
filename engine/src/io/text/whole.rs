//! Reading a split as whole files.

use std::sync::Arc;

use super::source::Source;
use super::{InputError, InputFile, InvalidUtf8, Split, TextOptions};
use crate::text::{Buffer, Text};

/// A chunk ends after this many bytes of content.
const CHUNK_BYTES: usize = 256 << 10;
const BOM: char = '\u{FEFF}';

/// Reads the files of a split as (path, content), in chunks of about 256 KiB of content.
///
/// The split comes from [`plan_whole_files`](super::plan_whole_files). Compressed files are
/// decompressed; a byte order mark is dropped.
#[derive(Debug)]
pub struct WholeFileReader {
    files: Arc<[InputFile]>,
    split: Split,
    options: TextOptions,
    piece: usize,
    files_skipped: u64,
}

impl WholeFileReader {
    /// A reader of `split`, which was planned over `files`. Opens nothing yet.
    pub fn new(files: Arc<[InputFile]>, split: Split, options: TextOptions) -> Self {
        Self { files, split, options, piece: 0, files_skipped: 0 }
    }

    /// The number of files left out so far because they were not UTF-8.
    pub fn files_skipped(&self) -> u64 {
        self.files_skipped
    }

    /// The next files; never an empty chunk.
    ///
    /// # Errors
    /// As [`LineReader::next_chunk`](super::LineReader::next_chunk).
    pub fn next_chunk(&mut self) -> Result<Option<Vec<(Text, Text)>>, InputError> {
        let mut chunk = Vec::new();
        let mut bytes = 0;
        while bytes < CHUNK_BYTES
            && let Some(piece) = self.split.pieces.get(self.piece)
        {
            let file = &self.files[piece.file];
            self.piece += 1;
            match self.read(file)? {
                Some(content) => {
                    bytes += content.len();
                    chunk.push((Text::from(file.path.to_string_lossy().into_owned()), content));
                }
                None => self.files_skipped += 1,
            }
        }
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    /// The content of a file, or `None` where the policy is to leave it out.
    fn read(&self, file: &InputFile) -> Result<Option<Text>, InputError> {
        let limit = self.options.record_bytes_max;
        let mut bytes = Vec::new();
        // One byte more than allowed tells a file of the longest size from a longer one.
        Source::open(file, 0)?.read_up_to(&mut bytes, limit.saturating_add(1))?;
        if bytes.len() > limit {
            return Err(InputError::RecordTooLong { path: file.path.clone(), offset: 0, limit });
        }
        let content = match Buffer::validated(bytes) {
            Ok(content) => content,
            Err((bytes, error)) => match self.options.invalid_utf8 {
                InvalidUtf8::Fail => {
                    let offset = error.valid_up_to() as u64;
                    return Err(InputError::InvalidUtf8 { path: file.path.clone(), offset });
                }
                InvalidUtf8::Lossy => String::from_utf8_lossy(&bytes).into_owned(),
                InvalidUtf8::Skip => return Ok(None),
            },
        };
        let text = Text::from(content);
        Ok(Some(if text.starts_with("\u{FEFF}") {
            text.slice(BOM.len_utf8()..).unwrap_or_default()
        } else {
            text
        }))
    }
}

impl Iterator for WholeFileReader {
    type Item = Result<Vec<(Text, Text)>, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_chunk().transpose()
    }
}
