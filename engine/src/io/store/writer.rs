//! An object that is written bit by bit.

use std::io;
use std::sync::Arc;

use object_store::{Error as ObjectError, MultipartUpload, ObjectStoreExt, PutPayload};

use super::runtime::{self, Pending};
use super::{Store, StoreError};

/// Parts of a large object; S3 takes at most 10,000 of them, so that an object may have 78 GiB.
const PART_BYTES: usize = 8 << 20;

/// Writes an object. It is not there before [`ObjectWriter::complete`]; dropped without that, it never
/// is, and its parts are removed. One part is filled while the one before is sent.
pub struct ObjectWriter {
    store: Store,
    name: String,
    part: Vec<u8>,
    /// Begun with the first part that does not complete the object.
    upload: Option<Box<dyn MultipartUpload>>,
    sent: Option<Pending<Result<(), ObjectError>>>,
    bytes: u64,
}

impl ObjectWriter {
    pub(super) fn new(store: Store, name: String) -> Self {
        Self { store, name, part: Vec::new(), upload: None, sent: None, bytes: 0 }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Whatever the store answers to this part or the one before.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.part.len() == PART_BYTES {
                self.send_part()?;
            }
            if self.part.capacity() == 0 {
                // Allocated where it will be freed.
                let part = runtime::wait(async { Vec::with_capacity(PART_BYTES) });
                self.part = part.map_err(self.io())?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(PART_BYTES - self.part.len()));
            self.part.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    /// Ends the object, which is then there as a whole, and returns its size in bytes.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub fn complete(mut self) -> Result<u64, StoreError> {
        if self.upload.is_none() {
            self.store.put(&self.name, std::mem::take(&mut self.part))?;
            return Ok(self.bytes);
        }
        self.send_part()?;
        self.wait_for_part()?;
        if let Some(mut upload) = self.upload.take() {
            let end = runtime::wait(async move {
                let end = upload.complete().await;
                if end.is_err() {
                    let _ = upload.abort().await;
                }
                end
            });
            end.map_err(self.io())?.map_err(|error| self.failure(error))?;
        }
        Ok(self.bytes)
    }

    /// Starts to send the part that has been filled, when the one before has arrived.
    fn send_part(&mut self) -> Result<(), StoreError> {
        self.wait_for_part()?;
        if self.upload.is_none() {
            let (objects, path) = (Arc::clone(&self.store.objects), self.store.path(&self.name));
            let begun = runtime::wait(async move { objects.put_multipart(&path).await });
            let begun = begun.map_err(self.io())?;
            self.upload = Some(begun.map_err(|error| self.failure(error))?);
        }
        if let Some(upload) = &mut self.upload {
            let part = upload.put_part(PutPayload::from(std::mem::take(&mut self.part)));
            self.sent = Some(runtime::start(part).map_err(self.io())?);
        }
        Ok(())
    }

    fn wait_for_part(&mut self) -> Result<(), StoreError> {
        match self.sent.take() {
            Some(sent) => sent.wait().map_err(self.io())?.map_err(|error| self.failure(error)),
            None => Ok(()),
        }
    }

    fn failure(&self, error: ObjectError) -> StoreError {
        self.store.failure("write", &self.name, error)
    }

    fn io(&self) -> impl FnOnce(io::Error) -> StoreError + use<> {
        StoreError::io("write", self.store.shown(&self.name))
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        if self.part.capacity() > 0 {
            runtime::send_home(std::mem::take(&mut self.part));
        }
        if let Some(mut upload) = self.upload.take() {
            // A part that arrives after this would be kept, unseen and paid for.
            let _ = self.wait_for_part();
            let _ = runtime::wait(async move { upload.abort().await });
        }
    }
}
