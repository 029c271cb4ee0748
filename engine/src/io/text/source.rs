//! Opening the bytes of one piece: checks that the file is the planned one, positions, decompresses.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::{Bytes, Compression, InputError, InputFile};
use crate::io::store::{Location, ObjectReader, Store, StoreError};

/// The decompressed bytes of a file from some offset on.
pub(super) struct Source {
    path: PathBuf,
    compression: Compression,
    /// The planned size of the file.
    len: u64,
    /// Where in the decompressed file the next byte lies.
    offset: u64,
    reader: Box<dyn Read + Send>,
}

impl Source {
    /// Opens `file` at `offset`, which is zero unless the file is splittable.
    pub(super) fn open(file: &InputFile, offset: u64) -> Result<Self, InputError> {
        let path = &file.path;
        let raw: Box<dyn Read + Send> = match Location::parse(path)? {
            Location::Local(_) => Box::new(open_file(file, offset)?),
            object => Box::new(open_object(file, &object, offset)?),
        };
        let reader: Box<dyn Read + Send> = match file.compression {
            Compression::None => raw,
            Compression::Gzip => {
                Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(raw)))
            }
            Compression::Zstd => {
                let decoder = zstd::Decoder::new(raw).map_err(InputError::io("read", path))?;
                Box::new(decoder)
            }
        };
        let (path, compression, len) = (path.clone(), file.compression, file.len);
        Ok(Self { path, compression, len, offset, reader })
    }

    /// As [`Bytes::read`], for a `count` that is a bound rather than an expectation: memory grows
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
        let source = match source.downcast::<StoreError>() {
            Ok(error) => return error.into(),
            Err(source) => source,
        };
        let path = self.path.clone();
        match self.compression {
            Compression::None => InputError::Io { action: "read", path, source },
            Compression::Gzip => InputError::Damaged { path, format: "gzip", source },
            Compression::Zstd => InputError::Damaged { path, format: "zstd", source },
        }
    }
}

impl Bytes for Source {
    type Error = InputError;

    /// A file that is read as it lies must not end before its planned size.
    fn read(&mut self, out: &mut Vec<u8>, count: usize) -> Result<usize, InputError> {
        out.reserve(count);
        let read = self.read_up_to(out, count)?;
        self.offset += read as u64;
        let (planned, found) = (self.len, self.offset);
        if read < count && self.compression.splittable() && found < planned {
            return Err(InputError::Changed { path: self.path.clone(), planned, found });
        }
        Ok(read)
    }
}

fn open_file(file: &InputFile, offset: u64) -> Result<File, InputError> {
    let path = &file.path;
    let mut raw = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => InputError::Vanished { path: path.clone() },
        _ => InputError::io("open", path)(error),
    })?;
    let found = raw.metadata().map_err(InputError::io("open", path))?.len();
    check_size(file, found)?;
    if offset > 0 {
        raw.seek(SeekFrom::Start(offset)).map_err(InputError::io("seek in", path))?;
    }
    Ok(raw)
}

fn open_object(
    file: &InputFile,
    object: &Location,
    offset: u64,
) -> Result<ObjectReader, InputError> {
    let store = Store::open(object)?;
    match store.size("") {
        Ok(found) => check_size(file, found)?,
        Err(StoreError::NotFound { .. }) => {
            return Err(InputError::Vanished { path: file.path.clone() });
        }
        Err(error) => return Err(error.into()),
    }
    Ok(store.reader_of("", offset..file.len))
}

fn check_size(file: &InputFile, found: u64) -> Result<(), InputError> {
    let (path, planned) = (file.path.clone(), file.len);
    match found == planned {
        true => Ok(()),
        false => Err(InputError::Changed { path, planned, found }),
    }
}
