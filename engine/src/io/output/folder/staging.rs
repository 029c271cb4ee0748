//! The files of attempts, beside the output.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::super::OutputError;
use super::super::part::{Kept, Part, PartFile, Place, Sink};

/// The folder that the tasks of one job write to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct FolderStaging {
    root: PathBuf,
    /// What the names of this job's files have that no others do. Empty where there are no others.
    mark: String,
}

impl FolderStaging {
    /// Lays out the folders under `root`, which exists. Names are marked where the output has other files.
    pub(super) fn lay_out(root: PathBuf, marked: bool) -> Result<Self, OutputError> {
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

    pub(in super::super) fn attempt_path(&self, part: &Part) -> PathBuf {
        self.attempts().join(&part.attempt_name)
    }

    pub(in super::super) fn create(&self, place: &Place) -> Result<PartFile, OutputError> {
        let attempts = self.attempts();
        let file = tempfile::Builder::new()
            .prefix(&format!("{:05}-", place.partition))
            // What the umask leaves of it; a temporary file would be private otherwise.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&attempts)
            .map_err(|error| self.failure("create a file in", &attempts)(error))?;
        let path = file.path().to_owned();
        let sink = AttemptFile { staging: self.clone(), file };
        Ok(PartFile::new(place.name(&self.mark), path, sink))
    }

    pub(in super::super) fn discard(&self, part: &Part) -> Result<(), OutputError> {
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
    ) -> impl FnOnce(io::Error) -> OutputError + use<> {
        let path = path.to_owned();
        let staging = self.root.clone();
        move |error| match error.kind() {
            ErrorKind::NotFound if !staging.exists() => OutputError::JobOver { staging },
            _ => OutputError::io(action, &path)(error),
        }
    }
}

/// A file that is removed when it is dropped.
struct AttemptFile {
    staging: FolderStaging,
    file: NamedTempFile,
}

impl Sink for AttemptFile {
    fn keep(self: Box<Self>) -> Result<Kept, OutputError> {
        let Self { staging, file } = *self;
        let (file, path) =
            file.keep().map_err(|error| staging.failure("keep", error.file.path())(error.error))?;
        let bytes = file.metadata().map_err(OutputError::io("inspect", &path))?.len();
        let attempt_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Kept { attempt_name, bytes, upload: None })
    }
}

impl Write for AttemptFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
