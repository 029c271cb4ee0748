//! The bytes of one file, wherever it lies: at any offset, or as a stream that is decompressed.

use std::fs;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::FileError;
use crate::io::store::{Location, Store};
use crate::io::text::{Bytes, Compression, InputError};

/// A file that is open for reading. It is the one that was listed: another size is an error.
#[derive(Debug)]
pub(crate) struct Input {
    path: String,
    bytes: u64,
    source: Source,
}

#[derive(Debug)]
enum Source {
    File(fs::File),
    Object(Store),
}

impl Input {
    /// Opens a file that had so many bytes when it was listed.
    pub(crate) fn open(path: &str, bytes: u64) -> Result<Self, FileError> {
        let source = match Location::parse(path)? {
            Location::Local(local) => Source::File(open_local(&local, bytes)?),
            object => Source::Object(Store::open(&object)?),
        };
        Ok(Self { path: path.to_owned(), bytes, source })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether each read is a request over a network, so that few large ones are better.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.source, Source::Object(_))
    }

    /// Fills `out` with the bytes from `offset` on, all of which lie within the file.
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), FileError> {
        match &self.source {
            Source::File(file) => Ok(file.read_exact_at(out, offset).map_err(|source| {
                InputError::Io { action: "read", path: PathBuf::from(&self.path), source }
            })?),
            Source::Object(store) => Ok(store.read_at("", offset, out)?),
        }
    }
}

fn open_local(path: &Path, bytes: u64) -> Result<fs::File, InputError> {
    let failed = |source: io::Error| match source.kind() {
        ErrorKind::NotFound => InputError::Vanished { path: path.to_owned() },
        _ => InputError::Io { action: "open", path: path.to_owned(), source },
    };
    let file = fs::File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?.len();
    match found == bytes {
        true => Ok(file),
        false => Err(InputError::Changed { path: path.to_owned(), planned: bytes, found }),
    }
}

/// How much is requested at a time of an object.
const REMOTE_WINDOW_BYTES: usize = 4 << 20;
const LOCAL_WINDOW_BYTES: usize = 256 << 10;

/// The content of a file from some offset on, which is zero unless the file is not compressed.
pub(crate) struct Content {
    path: String,
    compression: Compression,
    reader: Box<dyn Read>,
}

impl Content {
    pub(crate) fn open(input: Arc<Input>, offset: u64) -> Result<Self, FileError> {
        let (path, compression) = (input.path().to_owned(), Compression::of(input.path()));
        let window = if input.is_remote() { REMOTE_WINDOW_BYTES } else { LOCAL_WINDOW_BYTES };
        let buffered = input.is_remote() || compression != Compression::None;
        let raw = Cursor { input, offset };
        if !buffered {
            return Ok(Self { path, compression, reader: Box::new(raw) });
        }
        let raw = BufReader::with_capacity(window, raw);
        let reader: Box<dyn Read> = match compression {
            Compression::None => Box::new(raw),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            Compression::Zstd => Box::new(
                zstd::Decoder::with_buffer(raw)
                    .map_err(|source| failure(&path, compression, source))?,
            ),
        };
        Ok(Self { path, compression, reader })
    }
}

impl Bytes for Content {
    type Error = FileError;

    fn read(&mut self, out: &mut Vec<u8>, count: usize) -> Result<usize, FileError> {
        out.reserve(count);
        let read = self.reader.by_ref().take(count as u64).read_to_end(out);
        read.map_err(|source| failure(&self.path, self.compression, source))
    }
}

/// An error of a reader: ours if it came through it, the decompressor's or the system's otherwise.
fn failure(path: &str, compression: Compression, source: io::Error) -> FileError {
    let source = match source.downcast::<FileError>() {
        Ok(own) => return own,
        Err(source) => source,
    };
    let path = PathBuf::from(path);
    FileError::Input(match compression {
        Compression::None => InputError::Io { action: "read", path, source },
        Compression::Gzip => InputError::Damaged { path, format: "gzip", source },
        Compression::Zstd => InputError::Damaged { path, format: "zstd", source },
    })
}

/// Reads an input on from an offset.
pub(crate) struct Cursor {
    pub(crate) input: Arc<Input>,
    pub(crate) offset: u64,
}

impl Read for Cursor {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left =
            usize::try_from(self.input.bytes().saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let count = out.len().min(left);
        if count > 0 {
            self.input.read_at(self.offset, &mut out[..count]).map_err(io::Error::other)?;
            self.offset += count as u64;
        }
        Ok(count)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(by) => self.input.bytes().checked_add_signed(by),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
        };
        self.offset = target.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.offset)
    }
}
