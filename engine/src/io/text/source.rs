//! Opening the bytes of one piece: checks that the file is the planned one, positions, decompresses.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::{Compression, InputError, InputFile};

/// The decompressed bytes of a file from some offset on.
pub(super) struct Source {
    path: PathBuf,
    compression: Compression,
    reader: Box<dyn Read + Send>,
}

impl Source {
    /// Opens `file` at `offset`, which is zero unless the file is splittable.
    pub(super) fn open(file: &InputFile, offset: u64) -> Result<Self, InputError> {
        let path = &file.path;
        let mut raw = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => InputError::Vanished { path: path.clone() },
            _ => InputError::io("open", path)(error),
        })?;
        let found = raw.metadata().map_err(InputError::io("open", path))?.len();
        if found != file.len {
            return Err(changed(file, found));
        }
        if offset > 0 {
            raw.seek(SeekFrom::Start(offset)).map_err(InputError::io("seek in", path))?;
        }
        let reader: Box<dyn Read + Send> = match file.compression {
            Compression::None => Box::new(raw),
            Compression::Gzip => {
                Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(raw)))
            }
            Compression::Zstd => {
                let decoder = zstd::Decoder::new(raw).map_err(InputError::io("read", path))?;
                Box::new(decoder)
            }
        };
        Ok(Self { path: path.clone(), compression: file.compression, reader })
    }

    /// Appends up to `count` bytes to `buffer`: fewer only at the end of the file. Returns how many.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>, count: usize) -> Result<usize, InputError> {
        buffer.reserve(count);
        self.read_up_to(buffer, count)
    }

    /// As [`Source::read`], for a `count` that is a bound rather than an expectation: memory grows
    /// with what is read.
    pub(super) fn read_up_to(
        &mut self,
        buffer: &mut Vec<u8>,
        count: usize,
    ) -> Result<usize, InputError> {
        let read = self.reader.by_ref().take(count as u64).read_to_end(buffer);
        read.map_err(|error| self.failure(error))
    }

    fn failure(&self, source: io::Error) -> InputError {
        let path = self.path.clone();
        match self.compression {
            Compression::None => InputError::Io { action: "read", path, source },
            Compression::Gzip => InputError::Damaged { path, format: "gzip", source },
            Compression::Zstd => InputError::Damaged { path, format: "zstd", source },
        }
    }
}

/// The error of a file that does not have its planned size.
pub(super) fn changed(file: &InputFile, found: u64) -> InputError {
    InputError::Changed { path: file.path.clone(), planned: file.len, found }
}
