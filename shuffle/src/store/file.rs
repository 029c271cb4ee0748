//! The files of the local directories: one being written, and one committed. A file exists under its
//! final name only when it is whole, and goes when its handle goes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::dir::{Dir, DirId, Returned};
use super::dirs::{LocalDirs, check_name};
use super::error::DiskError;

/// A file being written, under a temporary name. Holds one open file; dropped before it is
/// committed, it is removed and its space given back.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    /// A refused or failed write leaves the file unusable.
    broken: bool,
    entry: Entry,
}

/// A whole file under its final name, never rewritten, removed on drop. Holds no open file.
#[derive(Debug)]
pub struct CommittedFile {
    entry: Entry,
}

/// A file in a directory and its share of that directory's quota, both given up on drop.
#[derive(Debug)]
struct Entry {
    dirs: Arc<LocalDirs>,
    dir: DirId,
    path: PathBuf,
    /// The name under which an earlier run has left it, if one has.
    left_at: Option<PathBuf>,
    len: u64,
    /// What was taken from the quota: `len`, and more after a write that failed half way.
    charged: u64,
    returned: Returned,
}

impl SpillFile {
    pub(super) fn new(dirs: Arc<LocalDirs>, dir: DirId, file: File, path: PathBuf) -> Self {
        let returned = Returned::ByHealthyFile;
        let entry = Entry { dirs, dir, path, left_at: None, len: 0, charged: 0, returned };
        Self { file, broken: false, entry }
    }

    /// Appends `bytes`. There is no buffer here: write blocks, not rows. After an error the file
    /// cannot be used; see [`DiskError::is_retryable`] for what to do.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        self.check_whole()?;
        let size = bytes.len() as u64;
        let result = self.entry.append(&mut self.file, bytes, size);
        if let Err(error) = &result {
            self.broken = true;
            if matches!(error, DiskError::Full { .. }) {
                self.entry.returned = Returned::ByRefusedFile;
            }
        }
        result
    }

    /// Bytes written so far.
    pub fn len(&self) -> u64 {
        self.entry.len
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.entry.len == 0
    }

    /// The temporary file.
    pub fn path(&self) -> &Path {
        &self.entry.path
    }

    /// The directory it is in.
    pub fn dir(&self) -> DirId {
        self.entry.dir
    }

    /// Gives the file its final name. It then outlives this process's crash only by chance; see
    /// [`Self::commit_durable`].
    pub fn commit(self, final_name: &str) -> Result<CommittedFile, DiskError> {
        self.finish(final_name, false)
    }

    /// As [`Self::commit`], with the data and the name forced to the disk first.
    pub fn commit_durable(self, final_name: &str) -> Result<CommittedFile, DiskError> {
        self.finish(final_name, true)
    }

    fn finish(self, final_name: &str, durable: bool) -> Result<CommittedFile, DiskError> {
        check_name(final_name)?;
        self.check_whole()?;
        let Self { file, mut entry, .. } = self;
        entry.publish(&file, final_name, durable)?;
        Ok(CommittedFile { entry })
    }

    fn check_whole(&self) -> Result<(), DiskError> {
        if self.broken {
            return Err(DiskError::Incomplete { path: self.entry.path.clone() });
        }
        Ok(())
    }
}

impl CommittedFile {
    /// A file of `len` bytes that an earlier run has left at `left_at`; its share of the quota has been taken.
    pub(super) fn adopted(
        dirs: Arc<LocalDirs>,
        dir: DirId,
        path: PathBuf,
        left_at: PathBuf,
        len: u64,
    ) -> Self {
        let (left_at, returned) = (Some(left_at), Returned::ByHealthyFile);
        Self { entry: Entry { dirs, dir, path, left_at, len, charged: len, returned } }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.entry.path
    }

    /// Its size in bytes.
    pub fn len(&self) -> u64 {
        self.entry.len
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entry.len == 0
    }

    /// The directory it is in.
    pub fn dir(&self) -> DirId {
        self.entry.dir
    }

    /// Opens it for reading. An open file stays readable after this handle is gone.
    pub fn open(&self) -> Result<File, DiskError> {
        File::open(&self.entry.path).map_err(|source| self.read_failed(source))
    }

    /// Counts an extent of `bytes` that a reader begins.
    pub(crate) fn count_extent_read(&self, bytes: u64) {
        self.entry.dirs.count_extent_read(bytes);
    }

    /// Judges an error met in reading this file, so that a broken disk found by a reader takes its
    /// directory out as one found by a writer does.
    pub fn read_failed(&self, source: io::Error) -> DiskError {
        self.entry.error("read", 0, source)
    }
}

impl Entry {
    fn home(&self) -> &Dir {
        self.dirs.dir(self.dir)
    }

    fn append(&mut self, file: &mut File, bytes: &[u8], size: u64) -> Result<(), DiskError> {
        if !self.home().charge(size) {
            return Err(self.dirs.full_error(self.home(), size));
        }
        self.charged += size;
        file.write_all(bytes).map_err(|source| self.error("write", size, source))?;
        self.len += size;
        self.dirs.count_written(size);
        Ok(())
    }

    fn publish(&mut self, file: &File, name: &str, durable: bool) -> Result<(), DiskError> {
        let target = self.home().path().join(name);
        if durable {
            file.sync_all().map_err(|source| self.error("sync", 0, source))?;
        }
        match rename_to_new(&self.path, &target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(DiskError::Exists { path: target });
            }
            Err(source) => return Err(self.error("rename", 0, source)),
            Ok(()) => self.path = target,
        }
        if durable {
            sync_dir(self.home().path()).map_err(|source| self.error("sync", 0, source))?;
        }
        Ok(())
    }

    fn error(&self, operation: &'static str, asked: u64, source: io::Error) -> DiskError {
        self.dirs.disk_error(self.home(), operation, &self.path, asked, source)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.dirs.have_ended() {
            for path in self.left_at.iter().chain([&self.path]) {
                // In a failed directory the file may be gone or out of reach; it is nobody's any more.
                let _ = fs::remove_file(path);
            }
        }
        self.home().release_file(self.charged, self.returned);
    }
}

/// Renames without replacing, where the file system can promise that. Where it cannot, looks first:
/// the directory is this process's own, and final names carry the attempt.
pub(super) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if to.try_exists()? {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        result => Ok(result?),
    }
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
