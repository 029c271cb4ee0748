//! The files of attempts: while an encoder writes to one, and when it is finished. Where its bytes go is the business
//! of a [`Sink`].

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::OutputError;
use crate::io::store::{StoreError, Uploaded};

/// A finished file of one task attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name in the published output, with folders, the same for every attempt.
    pub name: String,
    /// Its name among the attempts.
    pub attempt_name: String,
    /// The rows in it.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// By what it becomes visible, in a bucket.
    pub(super) upload: Option<Uploaded>,
}

/// Which of the files of a partition one is.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) partition: u32,
    /// The folder in the output, which ends with a slash; empty for the output folder itself.
    pub(super) folder: String,
    /// Counted from 0 over all files of the partition.
    pub(super) index: u32,
    /// With its dot.
    pub(super) extension: &'static str,
}

impl Place {
    /// The name in the output, with what the names of a job's files have that no others do.
    pub(super) fn name(&self, mark: &str) -> String {
        let Self { partition, folder, index, extension } = self;
        let index = if *index == 0 { String::new() } else { format!("-{index}") };
        format!("{folder}part-{partition:05}{index}{mark}{extension}")
    }
}

/// Where the bytes of an attempt's file go. Dropped, it leaves nothing.
pub(super) trait Sink: Write + Send {
    /// Ends the file, which is then there until its job ends.
    fn keep(self: Box<Self>) -> Result<Kept, OutputError>;

    /// Bytes in memory that are not counted as the task's allocations.
    fn held(&self) -> usize {
        0
    }
}

/// What is to be known of a file that has been kept; see [`Part`].
pub(super) struct Kept {
    pub(super) attempt_name: String,
    pub(super) bytes: u64,
    pub(super) upload: Option<Uploaded>,
}

/// A file of an attempt that is being written. Dropped without [`PartFile::keep`], it leaves nothing.
pub(super) struct PartFile {
    name: String,
    path: PathBuf,
    gauge: Arc<Gauge>,
    sink: Box<dyn Sink>,
}

impl PartFile {
    /// A file that messages call `path`.
    pub(super) fn new(name: String, path: PathBuf, sink: impl Sink + 'static) -> Self {
        Self { name, path, gauge: Arc::default(), sink: Box::new(sink) }
    }

    /// What messages call it.
    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    pub(super) fn gauge(&self) -> Arc<Gauge> {
        Arc::clone(&self.gauge)
    }

    /// Ends the file with all its content written.
    pub(super) fn keep(self, rows: u64) -> Result<Part, OutputError> {
        let Kept { attempt_name, bytes, upload } = self.sink.keep()?;
        Ok(Part { name: self.name, attempt_name, rows, bytes, upload })
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes).map_err(|error| self.gauge.note(error))?;
        self.gauge.bytes.fetch_add(written as u64, Ordering::Relaxed);
        self.gauge.held.store(self.sink.held(), Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// What can be told of a file while an encoder has it.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    bytes: AtomicU64,
    held: AtomicUsize,
    failure: Mutex<Option<StoreError>>,
}

impl Gauge {
    /// Bytes that the encoder has given out.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes in memory that are not counted as the task's allocations.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// The error of the store, if it was the cause of what the encoder says: encoders pass on its text at best.
    pub(super) fn cause(&self, said: impl FnOnce() -> OutputError) -> OutputError {
        self.failure.lock().take().map_or_else(said, OutputError::Store)
    }

    /// Keeps an error of the store, and makes one with its text for the encoder.
    fn note(&self, error: io::Error) -> io::Error {
        match error.downcast::<StoreError>() {
            Ok(error) => {
                let text = io::Error::other(error.to_string());
                *self.failure.lock() = Some(error);
                text
            }
            Err(other) => other,
        }
    }
}
