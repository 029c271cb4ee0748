//! The files of a journal: the entries, and the lock that one live driver holds.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::records::{Entry, decode, encode};
use crate::error::Error;

/// The files of a journal, locked.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    lock_path: PathBuf,
    /// `None` once it could not be written: what an earlier run is told then has an end.
    file: Option<File>,
    buffer: Vec<u8>,
    _lock: File,
}

impl JournalFile {
    /// Locks the journal `stem` of a directory, and reads what is in it.
    ///
    /// # Errors
    /// If another live driver has it, or the file system refuses.
    pub(super) fn open(dir: &Path, stem: &str) -> Result<(Self, Vec<Entry>), Error> {
        let (path, lock_path) =
            (dir.join(format!("{stem}.journal")), dir.join(format!("{stem}.lock")));
        let lock = lock(&lock_path)?;
        let entries = match fs::read(&path) {
            Ok(bytes) => decode(&bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(&path)(error)),
        };
        Ok((Self { path, lock_path, file: None, buffer: Vec::new(), _lock: lock }, entries))
    }

    /// Replaces what is in it.
    ///
    /// # Errors
    /// If the file system refuses; what was there before is there still.
    pub(super) fn rewrite(&mut self, entries: impl Iterator<Item = Entry>) -> Result<(), Error> {
        let draft = self.path.with_extension("draft");
        let write = || {
            let mut bytes = Vec::new();
            for entry in entries {
                encode(&entry, &mut bytes).map_err(io::Error::other)?;
            }
            let mut file =
                File::options().create(true).write(true).truncate(true).mode(0o600).open(&draft)?;
            file.write_all(&bytes)?;
            fs::rename(&draft, &self.path)?;
            Ok(file)
        };
        self.file = Some(write().map_err(failed(&self.path))?);
        Ok(())
    }

    /// Adds an entry. A journal that cannot be written ends here, with a warning, and the job goes on.
    pub(super) fn append(&mut self, entry: &Entry) {
        let Some(file) = &mut self.file else { return };
        self.buffer.clear();
        let encoded = encode(entry, &mut self.buffer).map_err(io::Error::other);
        // In one call, so that a reader finds whole frames but for the last.
        if let Err(error) = encoded.and_then(|()| file.write_all(&self.buffer)) {
            self.file = None;
            let _ = writeln!(
                io::stderr(),
                "warning: the journal {} ends here, because it could not be written: {error}. A run that takes over \
                 from this one will not know of what follows",
                self.path.display()
            );
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal: there is nothing to take over.
    pub(super) fn remove(&mut self) {
        self.file = None;
        // While the lock is held; who waits for it looks whether it is still in its place.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.lock_path);
    }
}

fn lock(path: &Path) -> Result<File, Error> {
    loop {
        let open =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
        let lock = open.map_err(failed(path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::JournalInUse { path: path.to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(failed(path)(error)),
        }
        let held = lock.metadata().map_err(failed(path))?;
        // Its last owner may have removed it between the two steps.
        if fs::metadata(path).is_ok_and(|found| found.ino() == held.ino()) {
            return Ok(lock);
        }
    }
}

pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Journal { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::super::records::JOURNAL_VERSION;
    use super::*;

    const BEGUN: Entry = Entry::Begun { version: JOURNAL_VERSION, build: 1 };

    #[test]
    fn what_is_appended_is_read_by_the_next_and_nobody_else_may_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let (mut first, entries) = JournalFile::open(dir.path(), "app").unwrap();
        assert!(entries.is_empty());
        first.rewrite([BEGUN].into_iter()).unwrap();
        first.append(&Entry::Files { print: 5 });
        let refused = JournalFile::open(dir.path(), "app").unwrap_err().to_string();
        assert!(refused.contains("app.lock") && refused.contains("another"), "{refused}");
        JournalFile::open(dir.path(), "other").unwrap();
        drop(first);

        let (mut second, entries) = JournalFile::open(dir.path(), "app").unwrap();
        assert_eq!(entries, [BEGUN, Entry::Files { print: 5 }]);
        second.remove();
        drop(second);
        assert!(JournalFile::open(dir.path(), "app").unwrap().1.is_empty());
    }
}
