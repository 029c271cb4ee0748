//! The bytes of a large object, cut into parts: one is filled while the one before is sent. What a part is sent
//! as, and what becomes of the object, is the business of [`super::ObjectWriter`] and [`super::Upload`].

use std::io;

use object_store::{Error as ObjectError, PutPayload};

use super::runtime::{self, Pending};

/// Parts of a large object; S3 takes at most 10,000 of them, so that an object may have 78 GiB.
const PART_BYTES: usize = 8 << 20;

/// The part that is filled, and the one that is sent. The answer to a part is a `T`.
pub(super) struct Parts<T> {
    part: Vec<u8>,
    sent: Option<Pending<Result<T, ObjectError>>>,
    sent_bytes: usize,
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self { part: Vec::new(), sent: None, sent_bytes: 0 }
    }
}

impl<T: Send + 'static> Parts<T> {
    /// Whether the part has to be sent before it can take more.
    pub(super) fn is_full(&self) -> bool {
        self.part.len() == PART_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.part.is_empty()
    }

    /// Bytes in memory, filled and under way.
    pub(super) fn held(&self) -> usize {
        self.part.len() + self.sent_bytes
    }

    /// Puts as many bytes as fit into the part, and returns the others.
    pub(super) fn fill<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], io::Error> {
        if self.part.capacity() == 0 {
            // Allocated where it will be freed.
            self.part = runtime::wait(async { Vec::with_capacity(PART_BYTES) })?;
        }
        let (now, later) = bytes.split_at(bytes.len().min(PART_BYTES - self.part.len()));
        self.part.extend_from_slice(now);
        Ok(later)
    }

    /// Takes what has been filled.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.part)
    }

    /// Starts to send the part. The one before has been [waited for](Self::wait).
    pub(super) fn send<F>(&mut self, request: impl FnOnce(PutPayload) -> F) -> Result<(), io::Error>
    where
        F: Future<Output = Result<T, ObjectError>> + Send + 'static,
    {
        let part = self.take();
        self.sent_bytes = part.len();
        self.sent = Some(runtime::start(request(PutPayload::from(part)))?);
        Ok(())
    }

    /// Waits for the answer to the part that was sent, if there is one.
    pub(super) fn wait(&mut self) -> Result<Option<Result<T, ObjectError>>, io::Error> {
        self.sent_bytes = 0;
        self.sent.take().map(Pending::wait).transpose()
    }
}

impl<T> Drop for Parts<T> {
    fn drop(&mut self) {
        if self.part.capacity() > 0 {
            runtime::send_home(std::mem::take(&mut self.part));
        }
    }
}
