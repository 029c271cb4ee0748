//! Streams of chunks: how rows pass from one narrow operation to the next inside a task.
//!
//! A chunk is a `Vec<T>` of about [`CHUNK_ROWS`] rows, so that a closure runs in a tight loop and a
//! virtual call is paid once a chunk. Streams are pulled, and live on one slot thread.

use millstream_shuffle::budget::alloc::{is_counting, thread_live_bytes};

use crate::executor::{Task, TaskError};

/// The rows an operation aims to put in one chunk: a few dozen KiB of ordinary rows, which stay in
/// the first two cache levels from one operation to the next.
pub(crate) const CHUNK_ROWS: usize = 1024;

/// How many rows to make at once where rows may be large, or few and made from little: a chunk of
/// [`CHUNK_ROWS`] wide rows could be larger than all memory. Begins with few rows and learns from
/// what they take. Where allocations are not counted, all rows are taken to be ordinary.
pub(crate) struct Pace {
    rows: usize,
}

impl Pace {
    /// A chunk that takes more makes the next one smaller.
    const BYTES_MAX: i64 = 1 << 20;
    const ROWS_FIRST: usize = 64;

    /// Makes a chunk of about the number of rows that `make` is told; [`CHUNK_ROWS`] at most.
    #[inline]
    pub(crate) fn make<R>(&mut self, make: impl FnOnce(usize) -> R) -> R {
        let before = thread_live_bytes();
        let chunk = make(self.rows);
        let grown = thread_live_bytes() - before;
        if grown > Self::BYTES_MAX {
            self.rows = (self.rows / 4).max(1);
        } else if grown < Self::BYTES_MAX / 4 {
            self.rows = (self.rows * 2).min(CHUNK_ROWS);
        }
        chunk
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self { rows: if is_counting() { Self::ROWS_FIRST } else { CHUNK_ROWS } }
    }
}

/// Rows in chunks; `None` is the end. Chunks may be empty.
pub(crate) trait ChunkStream<T> {
    fn next_chunk(&mut self) -> Result<Option<Vec<T>>, TaskError>;
}

/// A stream of any origin.
pub(crate) type BoxStream<T> = Box<dyn ChunkStream<T>>;

impl<T, F: FnMut() -> Result<Option<Vec<T>>, TaskError>> ChunkStream<T> for F {
    fn next_chunk(&mut self) -> Result<Option<Vec<T>>, TaskError> {
        self()
    }
}

/// A stream that calls `next` for each chunk.
pub(crate) fn from_fn<T, F>(next: F) -> BoxStream<T>
where
    F: FnMut() -> Result<Option<Vec<T>>, TaskError> + 'static,
{
    Box::new(next)
}

/// The rows of an iterator, which may be endless, in chunks.
pub(crate) fn from_iter<T: 'static>(
    task: &Task,
    rows: impl Iterator<Item = T> + 'static,
) -> BoxStream<T> {
    let task = Task::clone(task);
    let mut rows = rows;
    from_fn(move || {
        task.check()?;
        let chunk: Vec<T> = rows.by_ref().take(CHUNK_ROWS).collect();
        Ok((!chunk.is_empty()).then_some(chunk))
    })
}

/// All rows of a stream, one by one.
pub(crate) struct Rows<T> {
    stream: BoxStream<T>,
    chunk: std::vec::IntoIter<T>,
}

impl<T> Rows<T> {
    pub(crate) fn new(stream: BoxStream<T>) -> Self {
        Self { stream, chunk: Vec::new().into_iter() }
    }
}

impl<T> Iterator for Rows<T> {
    type Item = Result<T, TaskError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.chunk.next() {
                return Some(Ok(row));
            }
            match self.stream.next_chunk() {
                Ok(Some(chunk)) => self.chunk = chunk.into_iter(),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// All rows of a stream at once.
pub(crate) fn drain<T>(task: &Task, mut stream: BoxStream<T>) -> Result<Vec<T>, TaskError> {
    let mut all = Vec::new();
    while let Some(mut chunk) = stream.next_chunk()? {
        task.check()?;
        match all.is_empty() {
            true => all = chunk,
            false => all.append(&mut chunk),
        }
    }
    Ok(all)
}
