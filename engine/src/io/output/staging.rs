//! The part of the protocol that tasks take: the files of their attempts.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::OutputError;
use crate::executor::{Metrics, Task, TaskError};

/// Where the tasks of one output job write. A plain value: it travels with the tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    root: PathBuf,
    /// What the names of this job's files have that no others do. Empty where there are no others.
    mark: String,
}

/// A finished file of one task attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name in the published output, with folders, the same for every attempt.
    pub name: String,
    /// Its name among the attempts.
    pub attempt_name: String,
    /// The rows in it.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Which of the files of a partition one is.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) partition: u32,
    /// The folder in the output, which ends with a slash; empty for the output folder itself.
    pub(super) folder: String,
    /// Counted from 0 over all files of the partition.
    pub(super) index: u32,
    /// With its dot.
    pub(super) extension: &'static str,
}

impl Staging {
    /// Lays out the folders under `root`, which exists. Names are marked where the output has other files.
    pub(super) fn create(root: PathBuf, marked: bool) -> Result<Self, OutputError> {
        // The name of the folder is unlike all others.
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mark = if marked { name.replacen("job", "", 1) } else { String::new() };
        let staging = Self { root, mark };
        let folder = staging.attempts();
        fs::create_dir(&folder).map_err(OutputError::io("create", &folder))?;
        Ok(staging)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn attempts(&self) -> PathBuf {
        self.root.join("attempts")
    }

    pub(super) fn attempt_path(&self, part: &Part) -> PathBuf {
        self.attempts().join(&part.attempt_name)
    }

    /// Opens a file for one attempt. It is removed when dropped, unless kept by [`Staging::keep`].
    pub(super) fn attempt_file(&self, partition: u32) -> Result<NamedTempFile, OutputError> {
        let attempts = self.attempts();
        tempfile::Builder::new()
            .prefix(&format!("{partition:05}-"))
            // What the umask leaves of it; a temporary file would be private otherwise.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&attempts)
            .map_err(|error| self.failure("create a file in", &attempts)(error))
    }

    /// Ends an attempt file with all its content written.
    pub(super) fn keep(
        &self,
        file: NamedTempFile,
        place: &Place,
        rows: u64,
    ) -> Result<Part, OutputError> {
        let (file, path) =
            file.keep().map_err(|error| self.failure("keep", error.file.path())(error.error))?;
        let bytes = file.metadata().map_err(OutputError::io("inspect", &path))?.len();
        let attempt_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Place { partition, folder, index, extension } = place;
        let index = if *index == 0 { String::new() } else { format!("-{index}") };
        let name = format!("{folder}part-{partition:05}{index}{}{extension}", self.mark);
        Ok(Part { name, attempt_name, rows, bytes })
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
        let path = self.attempt_path(part);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(OutputError::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Tells a job that is over from other failures.
    fn failure(
        &self,
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> OutputError {
        let path = path.to_owned();
        let staging = self.root.clone();
        move |error| match error.kind() {
            ErrorKind::NotFound if !staging.exists() => OutputError::JobOver { staging },
            _ => OutputError::io(action, &path)(error),
        }
    }
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    fs::write(path, serde_json::to_vec_pretty(value)?)
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> std::io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}
