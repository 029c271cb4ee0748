//! The part of the protocol that tasks take: the files of their attempts.

use serde::{Deserialize, Serialize};

use super::OutputError;
use super::bucket::BucketStaging;
use super::folder::FolderStaging;
use super::part::{Part, PartFile, Place};
use crate::executor::{Metrics, Task, TaskError};

/// Where the tasks of one output job write. A plain value: it travels with the tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging(pub(super) Kind);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Folder(FolderStaging),
    Bucket(BucketStaging),
}

impl Staging {
    /// Opens a file for one attempt.
    pub(super) fn create(&self, place: &Place) -> Result<PartFile, OutputError> {
        match &self.0 {
            Kind::Folder(folder) => folder.create(place),
            Kind::Bucket(bucket) => bucket.create(place),
        }
    }

    /// Asks the driver whether the files that a task has finished may count, and removes them if not. The driver
    /// publishes them when it has accepted them as the result of the task.
    pub(crate) fn permit(&self, parts: Vec<Part>, task: &Task) -> Result<Vec<Part>, TaskError> {
        for part in &parts {
            Metrics::add(&task.metrics.rows_out, part.rows);
            Metrics::add(&task.metrics.bytes_out, part.bytes);
        }
        if (task.runtime.commit_gate)(task.id) {
            return Ok(parts);
        }
        for part in &parts {
            self.discard(part)?;
        }
        Err(TaskError::Cancelled)
    }

    /// Removes the file of an attempt that will not be committed.
    ///
    /// # Errors
    /// When the file exists and cannot be removed.
    pub fn discard(&self, part: &Part) -> Result<(), OutputError> {
        match &self.0 {
            Kind::Folder(folder) => folder.discard(part),
            Kind::Bucket(bucket) => bucket.discard(part),
        }
    }
}
