//! The part of the protocol that the driver takes: claiming the location, and ending the job.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::table::{self, WriteSpec};
use super::target::{self, Target};
use super::{Manifest, OutputError, Part, Staging};
use crate::io::store::Location;

/// What to do with what is in an output location already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteMode {
    /// It is an error.
    #[default]
    Error,
    /// It is replaced, all at once, when the job is committed.
    Overwrite,
    /// The new files are added to it.
    Append,
    /// It stays, and nothing is written.
    Ignore,
}

/// One job's claim on an output location, a directory or a prefix of a bucket, from its creation to
/// [`OutputJob::commit`] or [`OutputJob::abort`]. Dropping it aborts.
#[derive(Debug)]
pub struct OutputJob {
    target: Box<dyn Target>,
    staging: Staging,
    mode: WriteMode,
    over: bool,
}

impl OutputJob {
    /// Claims a location, such as `/dir` or `s3://bucket/prefix`, and clears what a job that died left there.
    ///
    /// With `overwrite`, an output that is there stays until this job is committed.
    ///
    /// # Errors
    /// A location that is not empty (without `overwrite`), that holds files which are not part of an output, or that
    /// another live job writes to.
    pub fn create(location: impl AsRef<Path>, overwrite: bool) -> Result<Self, OutputError> {
        let mode = if overwrite { WriteMode::Overwrite } else { WriteMode::Error };
        Self::claim(location.as_ref(), mode)
    }

    /// [`Self::create`] in any mode: `None` if there is content, and it is to stay as it is.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub(crate) fn open(location: &Path, mode: WriteMode) -> Result<Option<Self>, OutputError> {
        match Self::claim(location, mode) {
            Err(OutputError::NotEmpty { .. }) if mode == WriteMode::Ignore => Ok(None),
            job => job.map(Some),
        }
    }

    fn claim(location: &Path, mode: WriteMode) -> Result<Self, OutputError> {
        let target = target::claim(&Location::parse(location)?, mode)?;
        Ok(Self { staging: target.staging(), target, mode, over: false })
    }

    /// The manifest of the output that `job` has published at a location, if it is there. What the job did not live
    /// to do is done.
    ///
    /// # Errors
    /// There is none, or another one.
    pub(crate) fn published(location: &Path, job: &str) -> Result<Option<Manifest>, OutputError> {
        target::settle(&Location::parse(location)?)?;
        let manifest = Manifest::read(location)?;
        Ok((manifest.job.as_deref() == Some(job)).then_some(manifest))
    }

    /// Where the tasks of the job write.
    pub fn staging(&self) -> &Staging {
        &self.staging
    }

    /// Publishes the parts of the attempts that count, one attempt a partition, and ends the job. Whoever has
    /// accepted their results knows which these are: an attempt that ended well may have been given up since.
    ///
    /// # Errors
    /// A part whose file is gone, or a failing file system or store; nothing is published then, and an output that
    /// was to be overwritten is back in place.
    pub fn commit(self, parts: &[Part]) -> Result<Manifest, OutputError> {
        self.commit_as(parts, None)
    }

    /// [`Self::commit`], with a name of the job for the manifest.
    pub(crate) fn commit_as(
        self,
        parts: &[Part],
        job: Option<String>,
    ) -> Result<Manifest, OutputError> {
        let manifest = Manifest { job, ..Manifest::of(parts) };
        self.publish(parts, manifest)
    }

    /// [`Self::commit_as`] for tables: one without rows gets a file that has its columns, if the format can tell them,
    /// and its manifest has them.
    pub(crate) fn commit_table(
        self,
        spec: &WriteSpec,
        mut parts: Vec<Part>,
        job: Option<String>,
    ) -> Result<Manifest, OutputError> {
        let empty = parts.is_empty() && self.mode != WriteMode::Append;
        if empty {
            parts.push(table::write_empty(spec, &self.staging)?);
        }
        let schema = empty.then(|| Arc::clone(&spec.schema));
        let manifest = Manifest { job, schema, ..Manifest::of(&parts) };
        self.publish(&parts, manifest)
    }

    fn publish(mut self, parts: &[Part], manifest: Manifest) -> Result<Manifest, OutputError> {
        let manifest = self.target.publish(parts, manifest)?;
        self.over = true;
        Ok(manifest)
    }

    /// Ends the job without output.
    ///
    /// # Errors
    /// When its files cannot be removed; they are hidden from readers in any case.
    pub fn abort(mut self) -> Result<(), OutputError> {
        self.over = true;
        self.target.abort()
    }
}

impl Drop for OutputJob {
    fn drop(&mut self) {
        if !self.over {
            // `abort` is the way to learn of errors.
            let _ = self.target.abort();
        }
    }
}
