//! The files of attempts, as uploads that nobody sees.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::part::{Kept, Part, PartFile, Place, Sink};
use super::super::{OutputError, TEMPORARY_NAME};
use crate::io::checkpoint::unique_token;
use crate::io::store::{Location, Upload, Uploads};

/// Where the tasks of one job upload to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct BucketStaging {
    location: Location,
    /// Of the job.
    token: String,
}

/// The folder of the notes of a job.
pub(super) fn notes(token: &str) -> String {
    format!("{TEMPORARY_NAME}/{token}")
}

/// Whether an object among those that are not published is the note of an upload.
pub(super) fn is_note(name: &str) -> bool {
    name.matches('/').count() == 2
}

impl BucketStaging {
    pub(super) fn new(location: Location, token: String) -> Self {
        Self { location, token }
    }

    pub(in super::super) fn create(&self, place: &Place) -> Result<PartFile, OutputError> {
        let uploads = Uploads::open(&self.location)?;
        let name = place.name(&format!("-{}", self.token));
        let note = format!("{}/{:05}-{}", notes(&self.token), place.partition, unique_token());
        let path = PathBuf::from(self.location.join(&name).to_string());
        let upload = uploads.begin(&name, note)?;
        Ok(PartFile::new(name, path, AttemptUpload(upload)))
    }

    pub(in super::super) fn discard(&self, part: &Part) -> Result<(), OutputError> {
        let uploads = Uploads::open(&self.location)?;
        uploads.abort(part.upload.iter().map(|upload| upload.id.clone()).collect())?;
        Ok(uploads.store().delete(&part.attempt_name)?)
    }
}

/// An upload that is aborted when it is dropped. The note of one that is kept stays until the job ends.
struct AttemptUpload(Upload);

impl Sink for AttemptUpload {
    fn keep(self: Box<Self>) -> Result<Kept, OutputError> {
        let Self(upload) = *self;
        let attempt_name = upload.note().to_owned();
        let upload = upload.finish()?;
        Ok(Kept { attempt_name, bytes: upload.bytes, upload: Some(upload) })
    }

    fn held(&self) -> usize {
        self.0.held()
    }
}

impl Write for AttemptUpload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // A part of any size but the last would be refused.
        Ok(())
    }
}
