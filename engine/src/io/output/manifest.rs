//! What an output consists of; the content of its `_SUCCESS`.

use std::path::{Path, PathBuf};

use arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

use super::{MANIFEST_NAME, OutputError, Part};
use crate::io::store::{Location, Store};

/// What an output consists of; the content of its `_SUCCESS`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The files, in partition order.
    pub files: Vec<ManifestFile>,
    /// Rows in all files.
    pub rows: u64,
    /// Bytes in all files.
    pub bytes: u64,
    /// What stands for the job that wrote them, where a next run may have to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The columns, where there are no rows to find them from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaRef>,
}

/// One file of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// The name in the output folder.
    pub name: String,
    /// The rows in it.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Manifest {
    pub(super) fn of(parts: &[Part]) -> Self {
        let file = |part: &Part| ManifestFile {
            name: part.name.clone(),
            rows: part.rows,
            bytes: part.bytes,
        };
        Self {
            files: parts.iter().map(file).collect(),
            rows: parts.iter().map(|part| part.rows).sum(),
            bytes: parts.iter().map(|part| part.bytes).sum(),
            job: None,
            schema: None,
        }
    }

    /// With the files of an output that was there before and stays.
    pub(super) fn after(mut self, before: Self) -> Self {
        self.rows += before.rows;
        self.bytes += before.bytes;
        self.files = [before.files, self.files].concat();
        if self.rows > 0 {
            self.schema = None;
        }
        self
    }

    /// Reads the manifest of the output in a directory or under a prefix of a bucket.
    ///
    /// # Errors
    /// When there is none, or it was not written by an [`OutputJob`](super::OutputJob).
    pub fn read(location: impl AsRef<Path>) -> Result<Self, OutputError> {
        let store = Store::open(&Location::parse(location)?)?;
        Self::parse(&store.get(MANIFEST_NAME)?, store.location())
    }

    /// Reads the content of the `_SUCCESS` of a location.
    pub(super) fn parse(content: &[u8], location: &Location) -> Result<Self, OutputError> {
        let path = PathBuf::from(location.join(MANIFEST_NAME).to_string());
        serde_json::from_slice(content)
            .map_err(|error| OutputError::io("read", &path)(error.into()))
    }
}

/// Whether an entry of an output is one that jobs write.
pub(super) fn is_output_name(name: &str) -> bool {
    name == MANIFEST_NAME
        || name.starts_with("part-")
        || (name.starts_with('.') && name.ends_with(".crc"))
}
