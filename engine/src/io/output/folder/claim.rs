//! One job's claim on a folder: its lock, and its end.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::super::staging::Kind;
use super::super::target::Target;
use super::super::{
    MANIFEST_NAME, Manifest, OutputError, Part, Staging, TEMPORARY_NAME, WriteMode,
};
use super::publish::{foreign, publish, published_names, roll_back};
use super::staging::FolderStaging;

/// One job's claim on an output folder.
#[derive(Debug)]
pub(in super::super) struct FolderTarget {
    dir: PathBuf,
    staging: FolderStaging,
    mode: WriteMode,
    /// The folder did not exist before, so an abort removes it.
    created: bool,
    /// Held for as long as the job lives; the system releases it when the process dies.
    _lock: File,
}

impl FolderTarget {
    /// Claims `dir`, creating it if need be, and clears what a job that died left there.
    pub(in super::super) fn claim(dir: &Path, mode: WriteMode) -> Result<Self, OutputError> {
        let created = !dir.exists();
        let temporary = dir.join(TEMPORARY_NAME);
        if !created && !temporary.exists() {
            // Refuse before anything is written there.
            check_content(dir, mode)?;
        }
        let lock = lock(dir, &temporary)?;
        clear_dead_jobs(dir, &temporary)?;
        if let Err(error) = check_content(dir, mode) {
            // The refusal stands whether or not our own traces can be removed.
            let _ = fs::remove_dir_all(&temporary);
            return Err(error);
        }
        let root = tempfile::Builder::new()
            .prefix("job-")
            .tempdir_in(&temporary)
            .map_err(OutputError::io("create a folder in", &temporary))?
            .keep();
        let staging = FolderStaging::lay_out(root, mode == WriteMode::Append)?;
        Ok(Self { staging, dir: dir.to_owned(), mode, created, _lock: lock })
    }

    /// Undoes and removes what jobs left that did not live to clean up, unless another job is at work there.
    pub(in super::super) fn settle(dir: &Path) -> Result<(), OutputError> {
        let temporary = dir.join(TEMPORARY_NAME);
        if temporary.exists()
            && let Ok(_lock) = lock(dir, &temporary)
        {
            clear_dead_jobs(dir, &temporary)?;
            // It is hidden from readers; the next job tries again.
            let _ = fs::remove_dir_all(&temporary);
        }
        Ok(())
    }

    fn remove_temporary(&self) -> Result<(), OutputError> {
        let temporary = self.dir.join(TEMPORARY_NAME);
        fs::remove_dir_all(&temporary).map_err(OutputError::io("remove", &temporary))
    }
}

impl Target for FolderTarget {
    fn staging(&self) -> Staging {
        Staging(Kind::Folder(self.staging.clone()))
    }

    fn publish(&mut self, parts: &[Part], mut manifest: Manifest) -> Result<Manifest, OutputError> {
        let mut old = published_names(&self.dir)?;
        if self.mode == WriteMode::Append {
            old.retain(|name| name == MANIFEST_NAME);
            if !old.is_empty() {
                manifest = manifest.after(Manifest::read(&self.dir)?);
            }
        }
        publish(&self.dir, &self.staging, parts, &manifest, old)?;
        // The output is complete. What is left is hidden from readers, and the next job clears it.
        let _ = self.remove_temporary();
        Ok(manifest)
    }

    fn abort(&mut self) -> Result<(), OutputError> {
        roll_back(&self.dir, self.staging.root())?;
        self.remove_temporary()?;
        if self.created {
            // Fails, rightly, where someone has put something there meanwhile.
            let _ = fs::remove_dir(&self.dir);
        }
        Ok(())
    }
}

/// Takes the lock of the folder, which only one live process can hold.
fn lock(dir: &Path, temporary: &Path) -> Result<File, OutputError> {
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
            roll_back(dir, &root)?;
            fs::remove_dir_all(&root).map_err(OutputError::io("remove", &root))?;
        }
    }
    Ok(())
}

/// Refuses content that the job may not replace.
fn check_content(dir: &Path, mode: WriteMode) -> Result<(), OutputError> {
    let names = published_names(dir)?;
    match mode {
        WriteMode::Append => Ok(()),
        WriteMode::Error | WriteMode::Ignore if !names.is_empty() => {
            Err(OutputError::NotEmpty { path: dir.to_owned() })
        }
        _ => match foreign(dir, names)? {
            Some(found) => Err(OutputError::Foreign { path: dir.to_owned(), found }),
            None => Ok(()),
        },
    }
}
