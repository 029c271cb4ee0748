//! Directories that outlive their owner, for the next run of the same application to take over.
//!
//! ```text
//!  millstream-kept-APP-GROUP-MEMBER/.owner      locked by the run that has it
//!  millstream-kept-APP-GROUP-MEMBER/run-1/*     what the first run has left
//!  millstream-kept-APP-GROUP-MEMBER/run-2/*     what the present run writes
//! ```
//!
//! The name says whose it is; the lock on its record, as in [`super::owner`], that nobody has it now.
//! Each run writes into a folder of its own, so that its files meet none of an earlier run. The sweep
//! of dead owners leaves such a directory alone until nothing has changed in it for [`KEPT_FOR`].

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::file::rename_to_new;
use super::owner::{
    Identity, PREFIX, RECORD, is_at, lock_dead_owner, plain_name, remove_owned, write_draft,
};

/// For how long what a run has left is kept for the next.
pub const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// How long the directory of a process that is just ending is waited for.
const WAIT: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

const MARK: &str = "kept-";
const RUN: &str = "run-";

/// Whose directories these are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keep {
    /// The application, for people.
    pub app_name: String,
    /// What tells the application from others: the same in each of its runs.
    pub group: u64,
    /// Which of its processes.
    pub member: u64,
}

impl Keep {
    fn prefix(&self) -> String {
        format!("{PREFIX}{MARK}{}-{:016x}-", plain_name(&self.app_name), self.group)
    }
}

/// A kept directory that has been taken over: the directory, the folder of this run, and the lock.
pub(super) struct Taken {
    pub(super) root: PathBuf,
    pub(super) run: PathBuf,
    pub(super) lock: File,
}

/// Takes the directory of `keep` under `parent` over, or makes it.
pub(super) fn take(parent: &Path, keep: &Keep, me: &Identity) -> io::Result<Taken> {
    let name = format!("{}{}", keep.prefix(), keep.member);
    let root = parent.join(&name);
    match DirBuilder::new().mode(0o700).create(&root) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let lock = take_record(&root, &name, me)?;
    let run = root.join(format!("{RUN}{}", last_run(&root)? + 1));
    DirBuilder::new().mode(0o700).create(&run)?;
    Ok(Taken { root, run, lock })
}

/// Puts a record of ours, locked, in the place of one that nobody holds.
fn take_record(root: &Path, name: &str, me: &Identity) -> io::Result<File> {
    let deadline = Instant::now() + WAIT;
    let record = root.join(RECORD);
    loop {
        let before = match lock_free(&record) {
            Ok(before) => before,
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(LOOK_AGAIN);
                continue;
            }
            Err(error) => return Err(error),
        };
        let (draft, lock) = write_draft(root, name, me)?;
        let Some(lock) = lock else {
            return Err(io::Error::new(ErrorKind::Unsupported, "its file system has no locks"));
        };
        let renamed = match before {
            // Whoever else wants it waits for the lock that we hold on it.
            Some(_) => fs::rename(&draft, &record),
            None => rename_to_new(&draft, &record),
        };
        match renamed {
            Ok(()) => return Ok(lock),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Locks a record that nobody holds; `None` if there is none.
fn lock_free(record: &Path) -> io::Result<Option<File>> {
    let file = match OpenOptions::new().read(true).write(true).open(record) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) if is_at(&file, record) => Ok(Some(file)),
        Ok(()) | Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(ErrorKind::WouldBlock, "a live process of the application has it"))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn last_run(root: &Path) -> io::Result<u64> {
    let mut last = 0;
    for entry in fs::read_dir(root)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(RUN)?.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

/// Removes what the application's processes have left under `paths`, but for those that live.
pub fn remove_kept(paths: impl IntoIterator<Item = PathBuf>, keep: &Keep) {
    let (prefix, me) = (keep.prefix(), Identity::current());
    for path in paths {
        let Ok(entries) = fs::read_dir(path) else { continue };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix)
                && let Some(_lock) = lock_dead_owner(&entry.path(), &me)
            {
                // What cannot be removed now is swept in its time.
                let _ = remove_owned(&entry.path());
            }
        }
    }
}

/// Removes the files that earlier runs of the application have left under `paths`, but for those that
/// are wanted. To be called before the present run begins.
pub fn prune_kept(
    paths: impl IntoIterator<Item = PathBuf>,
    keep: &Keep,
    is_wanted: impl Fn(&Path) -> bool,
) {
    let prefix = keep.prefix();
    let children = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    for path in paths.into_iter().filter_map(|path| fs::canonicalize(path).ok()) {
        let ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&prefix);
        for run in children(&path).filter(ours).flat_map(|root| children(&root.path())) {
            for file in children(&run.path()).filter(|file| !is_wanted(&file.path())) {
                let _ = fs::remove_file(file.path());
            }
            // Goes if nothing in it is wanted.
            let _ = fs::remove_dir(run.path());
        }
    }
}

/// Whether a directory is one that the sweep has to leave to the next run of its application.
pub(super) fn is_kept_still(dir: &Path) -> bool {
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with(MARK)) && !is_old(dir)
}

/// Whether nothing has changed in the directory for a long time.
fn is_old(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return false };
    let changed = entries.flatten().filter_map(|entry| entry.metadata().ok()?.modified().ok());
    let now = SystemTime::now();
    changed.max().is_some_and(|last| now.duration_since(last).is_ok_and(|age| age > KEPT_FOR))
}

#[cfg(test)]
mod tests {
    use super::super::owner::sweep;
    use super::*;

    fn keep(group: u64, member: u64) -> Keep {
        Keep { app_name: "app".to_owned(), group, member }
    }

    #[test]
    fn the_next_run_takes_over_what_the_last_has_left_and_writes_elsewhere() {
        let parent = tempfile::tempdir().unwrap();
        let me = Identity::current();
        let first = take(parent.path(), &keep(1, 0), &me).unwrap();
        fs::write(first.run.join("data"), "x").unwrap();
        drop(first.lock);

        assert!(sweep(parent.path(), &me).is_empty(), "it is left to its next run");
        let second = take(parent.path(), &keep(1, 0), &me).unwrap();
        assert_eq!(second.root, first.root);
        assert_ne!(second.run, first.run);
        assert_eq!(fs::read(first.run.join("data")).unwrap(), b"x");
        let other = take(parent.path(), &keep(2, 0), &me).unwrap();
        assert_ne!(other.root, first.root);
    }

    #[test]
    fn who_waits_for_a_live_owner_gets_it_when_that_has_ended() {
        let parent = tempfile::tempdir().unwrap();
        let me = Identity::current();
        let first = take(parent.path(), &keep(1, 0), &me).unwrap();
        let held = lock_free(&first.root.join(RECORD)).unwrap_err();
        assert_eq!(held.kind(), ErrorKind::WouldBlock);
        let second = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| take(parent.path(), &keep(1, 0), &me).unwrap());
            drop(first.lock);
            waiting.join().unwrap()
        });
        assert_eq!(second.root, first.root);
    }

    #[test]
    fn an_orderly_end_removes_all_members_and_nobody_elses() {
        let parent = tempfile::tempdir().unwrap();
        let me = Identity::current();
        for (group, member) in [(1, 0), (1, 1), (2, 0)] {
            drop(take(parent.path(), &keep(group, member), &me).unwrap().lock);
        }
        let live = take(parent.path(), &keep(1, 2), &me).unwrap();
        remove_kept([parent.path().to_owned()], &keep(1, 0));
        let mut left: Vec<_> =
            fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.sort();
        assert_eq!(left.len(), 2, "{left:?}");
        assert_eq!(left[0], live.root);
    }

    #[test]
    fn what_is_not_wanted_is_pruned() {
        let parent = tempfile::tempdir().unwrap();
        let me = Identity::current();
        let first = take(parent.path(), &keep(1, 0), &me).unwrap();
        drop(first.lock);
        let second = take(parent.path(), &keep(1, 0), &me).unwrap();
        for path in ["map-1", ".map-2.tmp"] {
            fs::write(first.run.join(path), "x").unwrap();
        }
        let wanted = first.run.join("map-1");
        prune_kept([parent.path().to_owned()], &keep(1, 0), |path| path == wanted);
        assert_eq!(fs::read_dir(&first.run).unwrap().count(), 1);
        assert!(wanted.exists() && !second.run.exists() && second.root.join(RECORD).exists());
    }

    #[test]
    fn what_nobody_came_back_for_is_swept_after_a_while() {
        let parent = tempfile::tempdir().unwrap();
        let me = Identity::current();
        let first = take(parent.path(), &keep(1, 0), &me).unwrap();
        drop(first.lock);
        let long_ago = SystemTime::now() - KEPT_FOR - Duration::from_secs(60);
        for path in [first.root.join(RECORD), first.run] {
            File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
        assert_eq!(sweep(parent.path(), &me), [first.root]);
    }
}
