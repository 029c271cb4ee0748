//! Streams of chunks: how rows pass from one narrow operation to the next inside a task.
//!
//! A chunk is a `Vec<T>` of about [`CHUNK_ROWS`] rows, so that a closure runs in a tight loop and a
//! virtual call is paid once a chunk. Streams are pulled, and live on one slot thread.

use crate::executor::TaskError;

/// The rows an operation aims to put in one chunk: a few dozen KiB of ordinary rows, which stay in
/// the first two cache levels from one operation to the next.
pub(crate) const CHUNK_ROWS: usize = 1024;

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

/// The rows of an iterator, in chunks.
pub(crate) fn from_iter<T: 'static>(rows: impl Iterator<Item = T> + 'static) -> BoxStream<T> {
    let mut rows = rows;
    from_fn(move || {
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
pub(crate) fn drain<T>(mut stream: BoxStream<T>) -> Result<Vec<T>, TaskError> {
    let mut all = Vec::new();
    while let Some(mut chunk) = stream.next_chunk()? {
        match all.is_empty() {
            true => all = chunk,
            false => all.append(&mut chunk),
        }
    }
    Ok(all)
}
