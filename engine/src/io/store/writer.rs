//! An object that is written bit by bit.

use std::io;
use std::sync::Arc;

use object_store::{Error as ObjectError, MultipartUpload, ObjectStoreExt};

use super::parts::Parts;
use super::{Store, StoreError, runtime};

/// Writes an object. It is not there before [`ObjectWriter::complete`]; dropped without that, it never
/// is, and its parts are removed. One part is filled while the one before is sent.
pub struct ObjectWriter {
    store: Store,
    name: String,
    parts: Parts<()>,
    /// Begun with the first part that does not complete the object.
    upload: Option<Box<dyn MultipartUpload>>,
    bytes: u64,
}

impl ObjectWriter {
    pub(super) fn new(store: Store, name: String) -> Self {
        Self { store, name, parts: Parts::default(), upload: None, bytes: 0 }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Whatever the store answers to this part or the one before.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.parts.is_full() {
                self.send_part()?;
            }
            bytes = self.parts.fill(bytes).map_err(self.io())?;
        }
        Ok(())
    }

    /// Ends the object, which is then there as a whole, and returns its size in bytes.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub fn complete(mut self) -> Result<u64, StoreError> {
        if self.upload.is_none() {
            self.store.put(&self.name, self.parts.take())?;
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
        let sent = match &mut self.upload {
            Some(upload) => self.parts.send(|part| upload.put_part(part)),
            None => Ok(()),
        };
        sent.map_err(self.io())
    }

    fn wait_for_part(&mut self) -> Result<(), StoreError> {
        match self.parts.wait().map_err(self.io())? {
            Some(answer) => answer.map_err(|error| self.failure(error)),
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
        if let Some(mut upload) = self.upload.take() {
            // A part that arrives after this would be kept, unseen and paid for.
            let _ = self.wait_for_part();
            let _ = runtime::wait(async move { upload.abort().await });
        }
    }
}
