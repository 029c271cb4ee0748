//! An object as a stream.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::{Error as ObjectError, ObjectStoreExt};

use super::runtime::{self, Pending};
use super::{Store, StoreError};

/// A request is for this much: large enough that its round trip counts little.
const WINDOW_BYTES: u64 = 4 << 20;

/// Reads an object, or a range of it, in order. One window is read while the next one is fetched.
pub struct ObjectReader {
    store: Store,
    name: String,
    /// Where the object ends.
    end: u64,
    /// Where the next request begins.
    next: u64,
    window: Bytes,
    /// How much of the window has been read.
    used: usize,
    ahead: Option<Pending<Result<Bytes, ObjectError>>>,
}

impl ObjectReader {
    pub(super) fn new(store: Store, name: String, range: Range<u64>) -> Self {
        let Range { start, end } = range;
        Self { store, name, end, next: start, window: Bytes::new(), used: 0, ahead: None }
    }

    /// Appends the next `len` bytes to `out`, or what is left of the object, and returns how many.
    ///
    /// # Errors
    /// An object that is gone or shorter than it was said to be, and whatever the store answers.
    pub fn read(&mut self, len: usize, out: &mut Vec<u8>) -> Result<usize, StoreError> {
        let start = out.len();
        while out.len() - start < len {
            if self.used == self.window.len() && !self.fill()? {
                break;
            }
            let left = &self.window[self.used..];
            let taken = left.len().min(len - (out.len() - start));
            out.extend_from_slice(&left[..taken]);
            self.used += taken;
        }
        Ok(out.len() - start)
    }

    /// Takes the next window; false at the end.
    fn fill(&mut self) -> Result<bool, StoreError> {
        self.release();
        let Some(pending) =
            self.ahead.take().map_or_else(|| self.fetch(), |ahead| Ok(Some(ahead)))?
        else {
            return Ok(false);
        };
        let answer = pending.wait().map_err(self.io())?;
        self.window = answer.map_err(|error| self.failure(error))?;
        if self.window.is_empty() {
            return Err(self.short());
        }
        self.ahead = self.fetch()?;
        Ok(true)
    }

    /// Requests the next window; `None` at the end.
    fn fetch(&mut self) -> Result<Option<Pending<Result<Bytes, ObjectError>>>, StoreError> {
        let range = self.next..self.end.min(self.next + WINDOW_BYTES);
        if range.is_empty() {
            return Ok(None);
        }
        self.next = range.end;
        let (objects, path) = (Arc::clone(&self.store.objects), self.store.path(&self.name));
        let request = async move {
            let wanted = range.end - range.start;
            let bytes = objects.get_range(&path, range).await?;
            // Without this a short answer would be taken for the window, and the next one would not join.
            if (bytes.len() as u64) < wanted { Ok(Bytes::new()) } else { Ok(bytes) }
        };
        runtime::start(request).map(Some).map_err(self.io())
    }

    /// A range beyond the end is answered in other words by each store: the size tells.
    fn failure(&self, error: ObjectError) -> StoreError {
        let (objects, path) = (Arc::clone(&self.store.objects), self.store.path(&self.name));
        match runtime::wait(async move { objects.head(&path).await }) {
            Ok(Ok(found)) if found.size < self.end => self.short(),
            _ => self.store.failure("read", &self.name, error),
        }
    }

    fn short(&self) -> StoreError {
        StoreError::Short { location: self.store.shown(&self.name), bytes: self.end }
    }

    fn io(&self) -> impl FnOnce(io::Error) -> StoreError + use<> {
        StoreError::io("read", self.store.shown(&self.name))
    }

    fn release(&mut self) {
        if !self.window.is_empty() {
            runtime::send_home(std::mem::take(&mut self.window));
        }
        self.used = 0;
    }
}

impl io::Read for ObjectReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.used == self.window.len() && !self.fill().map_err(io::Error::other)? {
            return Ok(0);
        }
        let left = &self.window[self.used..];
        let taken = left.len().min(out.len());
        out[..taken].copy_from_slice(&left[..taken]);
        self.used += taken;
        Ok(taken)
    }
}

impl Drop for ObjectReader {
    fn drop(&mut self) {
        self.release();
    }
}
