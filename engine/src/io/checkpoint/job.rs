//! Writing a checkpoint: what the driver does, and where tasks write.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

use millstream_shuffle::block::Codec;
use serde::{Deserialize, Serialize};

use super::manifest::{MANIFEST_NAME, Manifest, SavedPart};
use super::{BlockWriter, CheckpointError};
use crate::io::store::{Location, Store};

/// What the folders of jobs are called, before their token.
const FOLDER_PREFIX: &str = "attempt-";

/// Where the tasks of one job write. A plain value: it travels with the tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    location: Location,
    folder: String,
}

impl Staging {
    /// Opens the object of one attempt at a partition. Attempts at a partition have different numbers.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn writer(
        &self,
        partition: u32,
        attempt: u32,
        codec: Codec,
    ) -> Result<BlockWriter, CheckpointError> {
        let object = format!("{}/{partition:05}-{attempt}", self.folder);
        BlockWriter::new(&Store::open(&self.location)?, object, codec)
    }

    /// Removes the object of an attempt whose job is over, and so no longer looks for it.
    ///
    /// # Errors
    /// When the object may be there still.
    pub fn discard(&self, part: &SavedPart) -> Result<(), CheckpointError> {
        let store = Store::open(&self.location)?;
        Ok(store.delete_all(std::slice::from_ref(&part.object))?)
    }
}

/// One job's attempt to make a checkpoint. Dropped before [`CheckpointJob::commit`] it removes what its
/// tasks have written.
#[derive(Debug)]
pub struct CheckpointJob {
    store: Store,
    staging: Staging,
    over: bool,
}

impl CheckpointJob {
    /// Begins a checkpoint at a location that has none.
    ///
    /// # Errors
    /// [`CheckpointError::Exists`] where there is one, and a store that cannot be used.
    pub fn begin(location: &Location) -> Result<Self, CheckpointError> {
        let store = Store::create(location)?;
        match Manifest::read_from(&store) {
            Err(CheckpointError::Missing { .. }) => {}
            Err(error @ CheckpointError::Store(_)) => return Err(error),
            Ok(_) | Err(_) => {
                return Err(CheckpointError::Exists { location: location.to_string() });
            }
        }
        let folder = format!("{FOLDER_PREFIX}{}", unique_token());
        let staging = Staging { location: location.clone(), folder };
        Ok(Self { store, staging, over: false })
    }

    /// Where the tasks write.
    #[must_use]
    pub fn staging(&self) -> &Staging {
        &self.staging
    }

    /// Makes the checkpoint exist, of these parts in the order of their partitions.
    ///
    /// # Errors
    /// [`CheckpointError::Exists`] if another job was first, and a failing store. Nothing is visible then.
    pub fn commit(
        mut self,
        row_type: &str,
        parts: Vec<SavedPart>,
    ) -> Result<Manifest, CheckpointError> {
        let manifest = Manifest::new(self.staging.folder.clone(), row_type.to_owned(), parts);
        let content = serde_json::to_vec_pretty(&manifest).map_err(|error| {
            let location = self.store.location().to_string();
            CheckpointError::Manifest { location, why: error.to_string() }
        })?;
        let created = self.store.create_object(MANIFEST_NAME, content);
        if !matches!(created, Ok(true)) {
            // The answer to a first attempt may have been lost: what is there tells who was first.
            match Manifest::read_from(&self.store) {
                Ok(there) if there.folder == self.staging.folder => {}
                Ok(_) => {
                    let location = self.store.location().to_string();
                    return Err(CheckpointError::Exists { location });
                }
                Err(error) => {
                    // A request to a remote store may still be under way, so that the objects stay.
                    self.over = matches!(self.store.location(), Location::S3 { .. });
                    return Err(created.err().map_or(error, CheckpointError::from));
                }
            }
        }
        self.over = true;
        self.clear_others(&manifest);
        Ok(manifest)
    }

    /// Removes what the manifest, which is there, does not name: attempts that lost, and what other jobs
    /// have left or are about to lose. That something stays is no reason to fail.
    fn clear_others(&self, manifest: &Manifest) {
        let keep: HashSet<&str> = manifest.parts.iter().map(|part| part.object.as_str()).collect();
        let Ok(folders) = self.store.folders() else { return };
        for folder in folders.iter().filter(|folder| folder.starts_with(FOLDER_PREFIX)) {
            let _ = self.store.clear(folder, &keep);
        }
    }
}

impl Drop for CheckpointJob {
    fn drop(&mut self) {
        if !self.over {
            // What stays is not visible, and removed by the next job that succeeds here.
            let _ = self.store.clear(&self.staging.folder, &HashSet::new());
        }
    }
}

/// A word that no other job or application has.
pub(crate) fn unique_token() -> String {
    // Hashed with keys that are random in each process.
    let token = RandomState::new().hash_one((std::process::id(), SystemTime::now()));
    format!("{token:016x}")
}
