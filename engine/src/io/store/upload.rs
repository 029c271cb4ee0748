//! An object that one process uploads and another makes visible: a multipart upload that is completed, or aborted,
//! by whoever has its identity. Until then no reader sees anything of it.
//!
//! A store does not list what has been begun among its objects, and keeps it. So each upload is noted in an object of
//! its own before anything is sent, by which it is found when the process that began it is no more.

use std::io;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use object_store::multipart::PartId;
use object_store::{Error as ObjectError, ObjectStoreExt, PutPayload};
use serde::{Deserialize, Serialize};

use super::parts::Parts;
use super::s3::{self, Bucket};
use super::{Location, Store, StoreError, runtime};

/// Requests under way at a time where many uploads are ended.
const REQUESTS_MAX: usize = 32;

/// The uploads to the objects below a location of a bucket. Cloning clones the handle.
#[derive(Clone, Debug)]
pub(crate) struct Uploads {
    store: Store,
    bucket: Arc<dyn Bucket>,
}

/// An upload that has been begun. A plain value, by which any process can end it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct UploadId {
    /// The object, relative to the location.
    pub(crate) name: String,
    id: String,
}

/// An upload of which all parts have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Uploaded {
    pub(crate) id: UploadId,
    parts: Vec<String>,
    pub(crate) bytes: u64,
}

impl Uploads {
    /// The uploads to a prefix of a bucket.
    ///
    /// # Errors
    /// A location that is no bucket, and those of [`Store::open`].
    pub(crate) fn open(location: &Location) -> Result<Self, StoreError> {
        let Location::S3 { bucket, .. } = location else {
            let location = location.to_string();
            return Err(StoreError::Location { location, why: "is not in a bucket".to_owned() });
        };
        Ok(Self { store: Store::open(location)?, bucket: s3::bucket(bucket, location)? })
    }

    /// The objects there.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Begins to upload an object, and notes that in another.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub(crate) fn begin(&self, name: &str, note: String) -> Result<Upload, StoreError> {
        let (bucket, path) = (Arc::clone(&self.bucket), self.store.path(name));
        let begun = async move { bucket.create_multipart(&path).await };
        let id = UploadId { name: name.to_owned(), id: self.store.ask("write", name, begun)? };
        let content = serde_json::to_vec(&id);
        let upload = Upload {
            uploads: self.clone(),
            id,
            note,
            parts: Parts::default(),
            arrived: Vec::new(),
            bytes: 0,
            over: false,
        };
        let content = content.map_err(|error| upload.io()(error.into()))?;
        self.store.put(&upload.note, content)?;
        Ok(upload)
    }

    /// Makes objects visible. One that is visible already stays as it is.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for an upload that was aborted, and whatever the store answers; some of the objects
    /// may be visible then.
    pub(crate) fn complete(&self, uploaded: Vec<Uploaded>) -> Result<(), StoreError> {
        self.each(uploaded, |uploads, uploaded| async move {
            let path = uploads.store.path(&uploaded.id.name);
            let part = |content_id: &String| PartId { content_id: content_id.clone() };
            let parts = uploaded.parts.iter().map(part).collect();
            let answer = uploads.bucket.complete_multipart(&path, &uploaded.id.id, parts).await;
            match answer {
                // The answer to a first request may have been lost.
                Err(error)
                    if uploads.bucket.is_gone(&error) && uploads.is_there(&uploaded).await =>
                {
                    Ok(())
                }
                Err(error) if uploads.bucket.is_gone(&error) => {
                    Err(StoreError::NotFound { location: uploads.store.shown(&uploaded.id.name) })
                }
                Err(error) => Err(uploads.store.told("complete", &uploaded.id.name, error)),
                Ok(_) => Ok(()),
            }
        })
    }

    /// Gives uploads up. Those that have ended stay as they are.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub(crate) fn abort(&self, uploads: Vec<UploadId>) -> Result<(), StoreError> {
        self.each(uploads, |uploads, id| async move { uploads.abort_one(&id).await })
    }

    /// [`Self::abort`], of the uploads that are noted in these objects.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub(crate) fn abort_noted(&self, notes: Vec<String>) -> Result<(), StoreError> {
        self.each(notes, |uploads, note| async move {
            let path = uploads.store.path(&note);
            let content = match uploads.bucket.get(&path).await {
                Ok(found) => found.bytes().await,
                Err(error) => Err(error),
            };
            match content.map(|content| serde_json::from_slice::<UploadId>(&content)) {
                Ok(Ok(id)) => uploads.abort_one(&id).await,
                Ok(Err(error)) => {
                    Err(StoreError::io("read", uploads.store.shown(&note))(error.into()))
                }
                Err(ObjectError::NotFound { .. }) => Ok(()),
                Err(error) => Err(uploads.store.told("read", &note, error)),
            }
        })
    }

    async fn abort_one(&self, id: &UploadId) -> Result<(), StoreError> {
        match self.bucket.abort_multipart(&self.store.path(&id.name), &id.id).await {
            Ok(()) => Ok(()),
            Err(error) if self.bucket.is_gone(&error) => Ok(()),
            Err(error) => Err(self.store.told("abort the upload of", &id.name, error)),
        }
    }

    async fn is_there(&self, uploaded: &Uploaded) -> bool {
        let found = self.bucket.head(&self.store.path(&uploaded.id.name)).await;
        found.is_ok_and(|found| found.size == uploaded.bytes)
    }

    /// Does a request for each of many, some at a time.
    fn each<T, F>(
        &self,
        all: Vec<T>,
        request: impl Fn(Self, T) -> F + Send + 'static,
    ) -> Result<(), StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        let uploads = self.clone();
        let done = runtime::wait(async move {
            let requests = all.into_iter().map(|one| request(uploads.clone(), one));
            let requests: Vec<F> = requests.collect();
            futures::stream::iter(requests).buffer_unordered(REQUESTS_MAX).try_collect().await
        });
        done.map_err(StoreError::io("end uploads to", self.store.shown("")))?
    }
}

/// Uploads an object bit by bit. Dropped before [`Upload::finish`], it is aborted, and its note goes.
pub(crate) struct Upload {
    uploads: Uploads,
    id: UploadId,
    /// The object in which it is noted.
    note: String,
    parts: Parts<PartId>,
    arrived: Vec<String>,
    bytes: u64,
    over: bool,
}

impl Upload {
    /// The object in which it is noted.
    pub(crate) fn note(&self) -> &str {
        &self.note
    }

    /// Bytes in memory that have not arrived. They are not counted as the task's allocations.
    pub(crate) fn held(&self) -> usize {
        self.parts.held()
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Whatever the store answers to this part or the one before.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.parts.is_full() {
                self.send_part()?;
            }
            bytes = self.parts.fill(bytes).map_err(self.io())?;
        }
        Ok(())
    }

    /// Sends what is left. The object stays invisible until [`Uploads::complete`].
    ///
    /// # Errors
    /// Whatever the store answers.
    pub(crate) fn finish(mut self) -> Result<Uploaded, StoreError> {
        if !self.parts.is_empty() {
            self.send_part()?;
        }
        self.wait_for_part()?;
        self.over = true;
        let parts = std::mem::take(&mut self.arrived);
        Ok(Uploaded { id: self.id.clone(), parts, bytes: self.bytes })
    }

    /// Starts to send the part that has been filled, when the one before has arrived.
    fn send_part(&mut self) -> Result<(), StoreError> {
        self.wait_for_part()?;
        let (bucket, path) =
            (Arc::clone(&self.uploads.bucket), self.uploads.store.path(&self.id.name));
        let (id, index) = (self.id.id.clone(), self.arrived.len());
        let send = |part: PutPayload| async move { bucket.put_part(&path, &id, index, part).await };
        self.parts.send(send).map_err(self.io())
    }

    fn wait_for_part(&mut self) -> Result<(), StoreError> {
        match self.parts.wait().map_err(self.io())? {
            Some(Ok(part)) => self.arrived.push(part.content_id),
            Some(Err(error)) => {
                return Err(self.uploads.store.failure("write", &self.id.name, error));
            }
            None => {}
        }
        Ok(())
    }

    fn io(&self) -> impl FnOnce(io::Error) -> StoreError + use<> {
        StoreError::io("write", self.uploads.store.shown(&self.id.name))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if !self.over {
            // A part that arrives after this would be kept, unseen and paid for.
            let _ = self.wait_for_part();
            // Its job may be over, so that nobody else looks for it. What cannot be aborted is to be found by its note.
            let aborted = self.uploads.abort(vec![self.id.clone()]);
            let _ = aborted.and_then(|()| self.uploads.store.delete(&self.note));
        }
    }
}
