//! The event log: one JSON object a line, written by a thread of its own.
//!
//! The queue to the writer is bounded, and a full queue makes the emitter wait: a slow disk slows the
//! application down and loses nothing. A *failing* disk is another matter: the log then ends where it
//! failed, says so once on stderr, and the job goes on.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{self, Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;

use super::{Event, Listener, Record};

/// Records that may wait for the writer: some milliseconds of the busiest job, about 1 MiB.
const QUEUE_RECORDS: usize = 4096;
const BUFFER_BYTES: usize = 256 << 10;
/// How old a record may get before somebody who follows the file sees it.
const FLUSH_AFTER_IDLE: Duration = Duration::from_millis(500);

/// An event log could not be started.
#[derive(Debug, thiserror::Error)]
pub enum JsonLogError {
    /// The file could not be created.
    #[error(
        "cannot create the event log {}: {source}. Name a file in a directory that exists and can \
         be written, or leave the event log out",
        path.display()
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system gave no thread to write it.
    #[error("cannot start the thread that writes the event log {}: {source}", path.display())]
    Thread {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A record, or `None` for the end mark.
type Message = Option<Record>;

/// A [`Listener`] that writes every record to a file. Flushed at the end of each stage and job, after half a
/// second without records, and when it is closed.
#[derive(Debug)]
pub struct JsonLog {
    queue: Sender<Message>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl JsonLog {
    /// Creates the file, or empties it, and starts the writer.
    ///
    /// # Errors
    /// The file cannot be created, or no thread can be started.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, JsonLogError> {
        let path = path.as_ref().to_path_buf();
        let file = File::create(&path)
            .map_err(|source| JsonLogError::Create { path: path.clone(), source })?;
        Self::start(path, file, warn_on_stderr)
    }

    fn start(
        path: PathBuf,
        out: impl Write + Send + 'static,
        warn: impl FnOnce(&Path, &io::Error) + Send + 'static,
    ) -> Result<Self, JsonLogError> {
        let (queue, records) = channel::bounded(QUEUE_RECORDS);
        let name = path.clone();
        let write = move || {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
            if let Err(error) = write_all(records, &mut out) {
                // Throws the buffer away: writing it again on drop would fail again.
                let _ = out.into_parts();
                warn(&name, &error);
            }
        };
        let writer = thread::Builder::new()
            .name("event-log".to_owned())
            .spawn(write)
            .map_err(|source| JsonLogError::Thread { path, source })?;
        Ok(Self { queue, writer: Mutex::new(Some(writer)) })
    }
}

impl Listener for JsonLog {
    fn on_event(&self, record: &Record) {
        // Refused only when the writer has ended: the disk failed, which has been said, or the log
        // is closed.
        let _ = self.queue.send(Some(record.clone()));
    }

    fn close(&self) {
        let Some(writer) = self.writer.lock().take() else { return };
        let _ = self.queue.send(None);
        let _ = writer.join();
    }
}

/// Writes records until the end mark. Takes the receiver, so that it is gone as soon as writing fails
/// and an emitter never waits for a writer that has ended.
fn write_all(records: Receiver<Message>, out: &mut impl Write) -> io::Result<()> {
    let mut unflushed = false;
    loop {
        match next(&records, unflushed) {
            Ok(Some(record)) => {
                serde_json::to_writer(&mut *out, &record)?;
                out.write_all(b"\n")?;
                let stage_ends = matches!(record.event, Event::StageFinished { .. });
                unflushed = !stage_ends && !record.event.ends_work();
                if !unflushed {
                    out.flush()?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                out.flush()?;
                unflushed = false;
            }
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return out.flush(),
        }
    }
}

/// The next message. An idle log does not wake up unless it has something to flush.
fn next(records: &Receiver<Message>, unflushed: bool) -> Result<Message, RecvTimeoutError> {
    if unflushed {
        records.recv_timeout(FLUSH_AFTER_IDLE)
    } else {
        records.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }
}

fn warn_on_stderr(path: &Path, error: &io::Error) {
    let _ = writeln!(
        io::stderr(),
        "warning: the event log {} ends here, because it could not be written: {error}. The \
         application goes on",
        path.display()
    );
}

#[cfg(test)]
mod tests;
