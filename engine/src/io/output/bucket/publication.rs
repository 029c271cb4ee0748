//! Making uploads visible all together or not at all, though each is completed by a request of its own, and though
//! whoever does it may die at any moment.
//!
//! ```text
//!  record ──> show ──> decide: published ──> finish ──> forget      the job itself
//!    └───────────┴──── decide: undone ─────> undo ────> forget      the job, on an error; the next one, at any time
//! ```

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::{MANIFEST_NAME, Manifest, OutputError, TEMPORARY_NAME};
use super::content_of;
use crate::io::store::{StoreError, Uploaded, Uploads};

/// What is being published. Its record is an object that only one job can create at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Publication {
    /// Of the job.
    pub(super) token: String,
    /// What becomes visible.
    pub(super) uploaded: Vec<Uploaded>,
    /// The objects that go for it.
    pub(super) replaced: Vec<String>,
    /// The manifest that was there.
    pub(super) before: Option<String>,
    /// The one that comes.
    pub(super) manifest: Manifest,
}

/// What becomes of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    Published,
    Undone,
}

impl Publication {
    /// Ends the publication that is recorded, if there is one.
    pub(super) fn settle_any(uploads: &Uploads) -> Result<(), OutputError> {
        match Self::recorded(uploads)? {
            Some(publication) => publication.settle(uploads),
            None => Ok(()),
        }
    }

    fn recorded(uploads: &Uploads) -> Result<Option<Self>, OutputError> {
        let name = record_name();
        let content = content_of(uploads, &name)?;
        content.map(|content| parse(uploads, &name, &content)).transpose()
    }

    pub(super) fn is_recorded(&self, uploads: &Uploads) -> Result<bool, OutputError> {
        Ok(Self::recorded(uploads)?.is_some_and(|found| found.token == self.token))
    }

    /// Creates the record; false if there is another's.
    pub(super) fn record(&self, uploads: &Uploads) -> Result<bool, OutputError> {
        let name = record_name();
        let created = uploads.store().create_object(&name, content(uploads, &name, self)?)?;
        // The answer to a first request may have been lost.
        Ok(created || self.is_recorded(uploads)?)
    }

    /// Makes the parts visible. There is no manifest meanwhile.
    pub(super) fn show(&self, uploads: &Uploads) -> Result<(), OutputError> {
        uploads.store().delete(MANIFEST_NAME)?;
        uploads.complete(self.uploaded.clone()).map_err(|error| match error {
            StoreError::NotFound { location } => OutputError::UploadGone { path: location.into() },
            error => error.into(),
        })
    }

    /// Decides on the outcome, unless that has been done; `None` if it has been carried out too.
    pub(super) fn decide(
        &self,
        uploads: &Uploads,
        wanted: Outcome,
    ) -> Result<Option<Outcome>, OutputError> {
        let name = self.outcome_name();
        if uploads.store().create_object(&name, content(uploads, &name, &wanted)?)? {
            return Ok(Some(wanted));
        }
        let content = content_of(uploads, &name)?;
        content.map(|content| parse(uploads, &name, &content)).transpose()
    }

    /// Ends the publication as has been decided, or undoes it where nothing has been.
    pub(super) fn settle(&self, uploads: &Uploads) -> Result<(), OutputError> {
        match self.decide(uploads, Outcome::Undone)? {
            Some(Outcome::Published) => self.finish(uploads)?,
            Some(Outcome::Undone) => self.undo(uploads)?,
            None => {}
        }
        self.forget(uploads)
    }

    /// Removes what is replaced, and creates the manifest.
    pub(super) fn finish(&self, uploads: &Uploads) -> Result<(), OutputError> {
        uploads.store().delete_all(&self.replaced)?;
        let content = content(uploads, MANIFEST_NAME, &self.manifest)?;
        // Where one is there, somebody else has finished this for us.
        uploads.store().create_object(MANIFEST_NAME, content)?;
        Ok(())
    }

    /// Removes what has become visible, and creates the manifest of before.
    fn undo(&self, uploads: &Uploads) -> Result<(), OutputError> {
        // Aborted first, so that nothing becomes visible any more.
        uploads.abort(self.uploaded.iter().map(|uploaded| uploaded.id.clone()).collect())?;
        let shown: Vec<String> =
            self.uploaded.iter().map(|uploaded| uploaded.id.name.clone()).collect();
        uploads.store().delete_all(&shown)?;
        if let Some(before) = &self.before {
            uploads.store().create_object(MANIFEST_NAME, before.clone().into_bytes())?;
        }
        Ok(())
    }

    /// Removes the record, and then the outcome: who decides again finds that there is no record.
    pub(super) fn forget(&self, uploads: &Uploads) -> Result<(), OutputError> {
        if self.is_recorded(uploads)? {
            uploads.store().delete(&record_name())?;
        }
        Ok(uploads.store().delete(&self.outcome_name())?)
    }

    fn outcome_name(&self) -> String {
        format!("{TEMPORARY_NAME}/{}.outcome", self.token)
    }
}

fn record_name() -> String {
    format!("{TEMPORARY_NAME}/publication")
}

fn content(uploads: &Uploads, name: &str, value: &impl Serialize) -> Result<Vec<u8>, OutputError> {
    serde_json::to_vec_pretty(value)
        .map_err(|error| OutputError::io("write", &path_of(uploads, name))(error.into()))
}

fn parse<T: DeserializeOwned>(
    uploads: &Uploads,
    name: &str,
    content: &str,
) -> Result<T, OutputError> {
    serde_json::from_str(content)
        .map_err(|error| OutputError::io("read", &path_of(uploads, name))(error.into()))
}

fn path_of(uploads: &Uploads, name: &str) -> PathBuf {
    Path::new(&uploads.store().location().join(name).to_string()).to_owned()
}
