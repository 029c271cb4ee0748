//! Part files of text lines.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::staging::Place;
use super::{OutputError, Part, Staging};

const BUFFER_BYTES: usize = 128 << 10;

/// How text part files are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextCompression {
    /// `part-00000.txt`
    #[default]
    None,
    /// `part-00000.txt.gz`
    Gzip,
    /// `part-00000.txt.zst`
    Zstd,
}

type File = BufWriter<NamedTempFile>;

/// A file that is compressed as it is written.
pub(super) enum Encoder {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl Encoder {
    pub(super) fn new(file: NamedTempFile, compression: TextCompression) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(match compression {
            TextCompression::None => Self::Plain(file),
            TextCompression::Gzip => {
                Self::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            TextCompression::Zstd => {
                Self::Zstd(zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?)
            }
        })
    }

    /// Ends the file.
    pub(super) fn finish(self) -> io::Result<NamedTempFile> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl Write for Encoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(file) => file.write(bytes),
            Self::Zstd(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(file) => file.flush(),
            Self::Zstd(file) => file.flush(),
        }
    }
}

/// Writes one attempt's lines. Dropped without [`TextWriter::finish`], it leaves no file.
pub struct TextWriter {
    staging: Staging,
    partition: u32,
    compression: TextCompression,
    path: PathBuf,
    encoder: Encoder,
    rows: u64,
}

impl TextWriter {
    /// Opens a file for an attempt of `partition`.
    ///
    /// # Errors
    /// When the job is over or the file system refuses.
    pub fn create(
        staging: &Staging,
        partition: u32,
        compression: TextCompression,
    ) -> Result<Self, OutputError> {
        let file = staging.attempt_file(partition)?;
        let path = file.path().to_owned();
        let encoder = Encoder::new(file, compression).map_err(OutputError::io("write", &path))?;
        let staging = staging.clone();
        Ok(Self { staging, partition, compression, path, encoder, rows: 0 })
    }

    /// Writes a line and its `\n`. Counts as one row even where it contains newlines.
    ///
    /// # Errors
    /// When the file system refuses.
    #[inline]
    pub fn write_line(&mut self, line: impl AsRef<[u8]>) -> Result<(), OutputError> {
        let line = line.as_ref();
        let written = match &mut self.encoder {
            // The usual case, without a choice for each of both.
            Encoder::Plain(file) => file.write_all(line).and_then(|()| file.write_all(b"\n")),
            encoder => encoder.write_all(line).and_then(|()| encoder.write_all(b"\n")),
        };
        self.rows += 1;
        written.map_err(|error| OutputError::io("write", &self.path)(error))
    }

    /// Ends the file. It is published if the job is committed with this part.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn finish(self) -> Result<Part, OutputError> {
        let file = self.encoder.finish().map_err(OutputError::io("write", &self.path))?;
        let extension = match self.compression {
            TextCompression::None => ".txt",
            TextCompression::Gzip => ".txt.gz",
            TextCompression::Zstd => ".txt.zst",
        };
        let place = Place { partition: self.partition, extension, ..Place::default() };
        self.staging.keep(file, &place, self.rows)
    }
}
