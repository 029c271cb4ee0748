//! What a checkpoint consists of.

use millstream_shuffle::digest::RowDigest;
use serde::{Deserialize, Serialize};

use super::CheckpointError;
use crate::io::store::{Location, Store, StoreError};

/// The name of the manifest.
pub const MANIFEST_NAME: &str = "_CHECKPOINT";
/// Raised when an older reader could not read a newer checkpoint.
const FORMAT_VERSION: u32 = 1;

/// The content of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format_version: u32,
    /// The folder of the job that wrote it.
    pub(super) folder: String,
    /// The Rust type of the rows.
    pub row_type: String,
    /// The partitions, in order.
    pub parts: Vec<SavedPart>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedPart {
    /// The object, relative to the location.
    pub object: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The rows in it, as they were encoded.
    pub digest: RowDigest,
}

impl Manifest {
    pub(super) fn new(folder: String, row_type: String, parts: Vec<SavedPart>) -> Self {
        Self { format_version: FORMAT_VERSION, folder, row_type, parts }
    }

    /// Reads the manifest of a location.
    ///
    /// # Errors
    /// [`CheckpointError::Missing`] where there is none, and one that cannot be read.
    pub fn read(location: &Location) -> Result<Self, CheckpointError> {
        let store = Store::open(location).map_err(|error| absent(error, location))?;
        Self::read_from(&store)
    }

    pub(super) fn read_from(store: &Store) -> Result<Self, CheckpointError> {
        let location = store.location();
        let bytes = store.get(MANIFEST_NAME).map_err(|error| absent(error, location))?;
        let unreadable =
            |why: String| CheckpointError::Manifest { location: location.to_string(), why };
        let manifest: Self =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
        match manifest.format_version {
            FORMAT_VERSION => Ok(manifest),
            other => Err(unreadable(format!("format {other} is not known"))),
        }
    }

    /// Fails unless the rows are of this type: their encoding does not tell.
    pub(crate) fn check_row_type(
        &self,
        location: &Location,
        wanted: &str,
    ) -> Result<(), CheckpointError> {
        match self.row_type == wanted {
            true => Ok(()),
            false => Err(CheckpointError::RowType {
                location: location.to_string(),
                saved: self.row_type.clone(),
                wanted: wanted.to_owned(),
            }),
        }
    }

    /// Bytes of all partitions.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

fn absent(error: StoreError, location: &Location) -> CheckpointError {
    match error {
        StoreError::NotFound { .. } => CheckpointError::Missing { location: location.to_string() },
        error => error.into(),
    }
}
