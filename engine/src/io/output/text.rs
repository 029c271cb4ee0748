//! Part files of text lines.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

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

enum Encoder {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
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
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let encoder = match compression {
            TextCompression::None => Encoder::Plain(file),
            TextCompression::Gzip => {
                Encoder::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            TextCompression::Zstd => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                Encoder::Zstd(
                    zstd::Encoder::new(file, level).map_err(OutputError::io("write", &path))?,
                )
            }
        };
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
            Encoder::Plain(file) => file.write_all(line).and_then(|()| file.write_all(b"\n")),
            Encoder::Gzip(file) => file.write_all(line).and_then(|()| file.write_all(b"\n")),
            Encoder::Zstd(file) => file.write_all(line).and_then(|()| file.write_all(b"\n")),
        };
        self.rows += 1;
        written.map_err(|error| OutputError::io("write", &self.path)(error))
    }

    /// Ends the file. It is published if [`Staging::commit_task`] chooses it.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn finish(self) -> Result<Part, OutputError> {
        let file = finish(self.encoder).map_err(OutputError::io("write", &self.path))?;
        let extension = match self.compression {
            TextCompression::None => ".txt",
            TextCompression::Gzip => ".txt.gz",
            TextCompression::Zstd => ".txt.zst",
        };
        self.staging.keep(file, self.partition, extension, self.rows)
    }
}

fn finish(encoder: Encoder) -> io::Result<NamedTempFile> {
    let file = match encoder {
        Encoder::Plain(file) => file,
        Encoder::Gzip(encoder) => encoder.finish()?,
        Encoder::Zstd(encoder) => encoder.finish()?,
    };
    file.into_inner().map_err(io::IntoInnerError::into_error)
}
