//! The part of the protocol that the driver takes: claiming the folder, and ending the job.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::publish::{self, Manifest};
use super::staging::{Part, Staging};
use super::table::{self, WriteSpec};
use super::{MANIFEST_NAME, OutputError, TEMPORARY_NAME};

/// What to do with what is in an output folder already.
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

/// One job's claim on an output folder, from its creation to [`OutputJob::commit`] or
/// [`OutputJob::abort`]. Dropping it aborts.
#[derive(Debug)]
pub struct OutputJob {
    dir: PathBuf,
    staging: Staging,
    mode: WriteMode,
    /// The folder did not exist before, so an abort removes it.
    created: bool,
    over: bool,
    /// Held for as long as the job lives; the system releases it when the process dies.
    _lock: File,
}

impl OutputJob {
    /// Claims `dir`, creating it if need be, and clears what a job that died left there.
    ///
    /// With `overwrite`, an output that is there stays until this job is committed.
    ///
    /// # Errors
    /// A folder that is not empty (without `overwrite`), that holds files which are not part of an
    /// output, or that another live job writes to.
    pub fn create(dir: impl Into<PathBuf>, overwrite: bool) -> Result<Self, OutputError> {
        let mode = if overwrite { WriteMode::Overwrite } else { WriteMode::Error };
        Self::claim(dir.into(), mode)
    }

    /// [`Self::create`] in any mode: `None` if there is content, and it is to stay as it is.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub(crate) fn open(
        dir: impl Into<PathBuf>,
        mode: WriteMode,
    ) -> Result<Option<Self>, OutputError> {
        let dir = dir.into();
        match Self::claim(dir, mode) {
            Err(OutputError::NotEmpty { .. }) if mode == WriteMode::Ignore => Ok(None),
            job => job.map(Some),
        }
    }

    fn claim(dir: PathBuf, mode: WriteMode) -> Result<Self, OutputError> {
        let created = !dir.exists();
        let temporary = dir.join(TEMPORARY_NAME);
        if !created && !temporary.exists() {
            // Refuse before anything is written there.
            check_content(&dir, mode)?;
        }
        let lock = claim(&dir, &temporary)?;
        clear_dead_jobs(&dir, &temporary)?;
        if let Err(error) = check_content(&dir, mode) {
            // The refusal stands whether or not our own traces can be removed.
            let _ = fs::remove_dir_all(&temporary);
            return Err(error);
        }
        let root = tempfile::Builder::new()
            .prefix("job-")
            .tempdir_in(&temporary)
            .map_err(OutputError::io("create a folder in", &temporary))?
            .keep();
        let staging = Staging::create(root, mode == WriteMode::Append)?;
        Ok(Self { staging, dir, mode, created, over: false, _lock: lock })
    }

    /// Removes what a job that has published its files did not live to remove. Left alone if another
    /// job is at work there.
    pub(crate) fn tidy(dir: &Path) {
        let temporary = dir.join(TEMPORARY_NAME);
        if temporary.exists()
            && let Ok(_lock) = claim(dir, &temporary)
        {
            // It is hidden from readers; the next job tries again.
            let _ = fs::remove_dir_all(&temporary);
        }
    }

    /// Where the tasks of the job write.
    pub fn staging(&self) -> &Staging {
        &self.staging
    }

    /// Publishes the parts of the attempts that count, one attempt a partition, and ends the job. Whoever has
    /// accepted their results knows which these are: an attempt that ended well may have been given up since.
    ///
    /// # Errors
    /// A part whose file is gone, or a failing file system; nothing is published then, and an output that
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
        let mut old = publish::published_names(&self.dir)?;
        let mut manifest = manifest;
        if self.mode == WriteMode::Append {
            old.retain(|name| name == MANIFEST_NAME);
            if !old.is_empty() {
                manifest = manifest.after(Manifest::read(&self.dir)?);
            }
        }
        publish::publish(&self.dir, &self.staging, parts, &manifest, old)?;
        self.over = true;
        // The output is complete. What is left is hidden from readers, and the next job clears it.
        let _ = self.remove_temporary();
        Ok(manifest)
    }

    /// Ends the job without output.
    ///
    /// # Errors
    /// When its files cannot be removed; they are hidden from readers in any case.
    pub fn abort(mut self) -> Result<(), OutputError> {
        self.clean_up()
    }

    fn clean_up(&mut self) -> Result<(), OutputError> {
        self.over = true;
        publish::roll_back(&self.dir, self.staging.root())?;
        self.remove_temporary()?;
        if self.created {
            // Fails, rightly, where someone has put something there meanwhile.
            let _ = fs::remove_dir(&self.dir);
        }
        Ok(())
    }

    fn remove_temporary(&self) -> Result<(), OutputError> {
        let temporary = self.dir.join(TEMPORARY_NAME);
        fs::remove_dir_all(&temporary).map_err(OutputError::io("remove", &temporary))
    }
}

impl Drop for OutputJob {
    fn drop(&mut self) {
        if !self.over {
            // `abort` is the way to learn of errors.
            let _ = self.clean_up();
        }
    }
}

/// Takes the lock of the folder, which only one live process can hold.
fn claim(dir: &Path, temporary: &Path) -> Result<File, OutputError> {
    let path = temporary.join("lock");
    loop {
        fs::create_dir_all(temporary).map_err(OutputError::io("create", temporary))?;
        let lock = File::create(&path).map_err(OutputError::io("create", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OutputError::Busy { path: dir.to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(OutputError::io("lock", &path)(error)),
        }
        // A job that ended between the two steps took the file with it: what we hold is then not
        // what the next job will find.
        let held = lock.metadata().map_err(OutputError::io("inspect", &path))?;
        if fs::metadata(&path).is_ok_and(|found| found.ino() == held.ino()) {
            return Ok(lock);
        }
    }
}

/// Undoes and removes what jobs left that did not live to clean up.
fn clear_dead_jobs(dir: &Path, temporary: &Path) -> Result<(), OutputError> {
    for entry in fs::read_dir(temporary).map_err(OutputError::io("list", temporary))? {
        let root = entry.map_err(OutputError::io("list", temporary))?.path();
        if root.is_dir() {
            publish::roll_back(dir, &root)?;
            fs::remove_dir_all(&root).map_err(OutputError::io("remove", &root))?;
        }
    }
    Ok(())
}

/// Refuses content that the job may not replace.
fn check_content(dir: &Path, mode: WriteMode) -> Result<(), OutputError> {
    let names = publish::published_names(dir)?;
    match mode {
        WriteMode::Append => Ok(()),
        WriteMode::Error | WriteMode::Ignore if !names.is_empty() => {
            Err(OutputError::NotEmpty { path: dir.to_owned() })
        }
        _ => match publish::foreign(dir, names)? {
            Some(found) => Err(OutputError::Foreign { path: dir.to_owned(), found }),
            None => Ok(()),
        },
    }
}
