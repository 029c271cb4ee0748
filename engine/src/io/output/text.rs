//! Part files of text lines.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::part::{Gauge, PartFile, Place};
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

impl TextCompression {
    /// What it adds to the names of files.
    fn extension(self) -> &'static str {
        match self {
            Self::None => ".txt",
            Self::Gzip => ".txt.gz",
            Self::Zstd => ".txt.zst",
        }
    }
}

type File = BufWriter<PartFile>;

/// A file that is compressed as it is written.
pub(super) enum Encoder {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl Encoder {
    pub(super) fn new(file: PartFile, compression: TextCompression) -> io::Result<Self> {
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
    pub(super) fn finish(self) -> io::Result<PartFile> {
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
    path: PathBuf,
    gauge: Arc<Gauge>,
    encoder: Encoder,
    rows: u64,
}

impl TextWriter {
    /// Opens a file for an attempt of `partition`.
    ///
    /// # Errors
    /// When the job is over or the file system or store refuses.
    pub fn create(
        staging: &Staging,
        partition: u32,
        compression: TextCompression,
    ) -> Result<Self, OutputError> {
        let extension = compression.extension();
        let file = staging.create(&Place { partition, extension, ..Place::default() })?;
        let (path, gauge) = (file.path().to_owned(), file.gauge());
        let encoder = Encoder::new(file, compression).map_err(OutputError::io("write", &path))?;
        Ok(Self { path, gauge, encoder, rows: 0 })
    }

    /// Writes a line and its `\n`. Counts as one row even where it contains newlines.
    ///
    /// # Errors
    /// When the file system or store refuses.
    #[inline]
    pub fn write_line(&mut self, line: impl AsRef<[u8]>) -> Result<(), OutputError> {
        let line = line.as_ref();
        let written = match &mut self.encoder {
            // The usual case, without a choice for each of both.
            Encoder::Plain(file) => file.write_all(line).and_then(|()| file.write_all(b"\n")),
            encoder => encoder.write_all(line).and_then(|()| encoder.write_all(b"\n")),
        };
        self.rows += 1;
        written.map_err(|error| refused(&self.gauge, &self.path, error))
    }

    /// Bytes in memory that are not counted as the task's allocations.
    pub(crate) fn held(&self) -> usize {
        self.gauge.held()
    }

    /// Ends the file. It is published if the job is committed with this part.
    ///
    /// # Errors
    /// When the file system or store refuses.
    pub fn finish(self) -> Result<Part, OutputError> {
        let Self { path, gauge, encoder, rows } = self;
        encoder.finish().map_err(|error| refused(&gauge, &path, error))?.keep(rows)
    }
}

fn refused(gauge: &Gauge, path: &Path, error: io::Error) -> OutputError {
    gauge.cause(|| OutputError::io("write", path)(error))
}
