//! Directories that outlive their owner: for the next run of the same application to take over, or for a
//! shuffle service to serve.
//!
//! ```text
//!  millstream-kept-APP-GROUP-MEMBER/.owner      locked by the run that has it
//!  millstream-kept-APP-GROUP-MEMBER/run-1/*     what the first run has left
//!  millstream-kept-APP-GROUP-MEMBER/run-2/*     what the present run writes
//!  millstream-served-APP-GROUP-MEMBER/...       the same, of no use to a next run of the application
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

const RUN: &str = "run-";

/// Why directories outlive their owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeptFor {
    /// For the next run of the application.
    NextRun,
    /// For readers in this run, whom a shuffle service serves.
    Readers,
}

impl KeptFor {
    const ALL: [Self; 2] = [Self::NextRun, Self::Readers];

    fn mark(self) -> &'static str {
        match self {
            Self::NextRun => "kept-",
            Self::Readers => "served-",
        }
    }
}

/// Whose directories these are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keep {
    /// The application, for people.
    pub app_name: String,
    /// What tells the application from others: the same in each of its runs.
    pub group: u64,
    /// Which of its processes.
    pub member: u64,
    /// Why they are kept.
    pub kept_for: KeptFor,
}

impl Keep {
    fn prefix(&self) -> String {
        let (mark, app_name) = (self.kept_for.mark(), plain_name(&self.app_name));
        format!("{PREFIX}{mark}{app_name}-{:016x}-", self.group)
    }

    fn name(&self) -> String {
        format!("{}{}", self.prefix(), self.member)
    }
}

/// A kept directory that has been taken over: the directory, the folder of this run, and the lock.
pub(super) struct Taken {
    pub(super) root: PathBuf,
    pub(super) run: PathBuf,
    pub(super) lock: File,
}

/// The number of a run that none of these directories has had. Those of an application have the same, so
/// that its folder has one name below all local directories.
pub(super) fn next_run<'a>(parents: impl Iterator<Item = &'a Path>, keep: &Keep) -> u64 {
    let last = parents.map(|parent| last_run(&parent.join(keep.name())).unwrap_or(0));
    last.max().unwrap_or(0) + 1
}

/// Takes the directory of `keep` under `parent` over, or makes it, for this run.
pub(super) fn take(parent: &Path, keep: &Keep, run: u64, me: &Identity) -> io::Result<Taken> {
    let name = keep.name();
    let root = parent.join(&name);
    let lock = take_record(&root, &name, me)?;
    let run = root.join(format!("{RUN}{run}"));
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
        match DirBuilder::new().mode(0o700).create(root) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let (draft, lock) = match write_draft(root, name, me) {
            // Who had it was just removing it.
            Err(error) if error.kind() == ErrorKind::NotFound && Instant::now() < deadline => {
                continue;
            }
            draft => draft?,
        };
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
            Err(error) if error.kind() == ErrorKind::NotFound && Instant::now() < deadline => {}
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

/// Removes what all processes of an application that is over have left under `paths`, but for those that
/// live.
pub fn remove_application(paths: &[PathBuf], app_name: &str, group: u64) {
    for kept_for in KeptFor::ALL {
        let keep = Keep { app_name: app_name.to_owned(), group, member: 0, kept_for };
        remove_kept(paths.iter().cloned(), &keep);
    }
}

/// Removes what was kept under `paths` for readers, where the owner is dead, nothing has changed for
/// `idle_max`, and `is_read` does not say that somebody reads it.
pub fn remove_idle(paths: &[PathBuf], idle_max: Duration, is_read: impl Fn(&str) -> bool) {
    let me = Identity::current();
    for entry in paths.iter().flat_map(fs::read_dir).flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_marked(&name, KeptFor::Readers)
            && is_old(&entry.path(), idle_max)
            && !is_read(&name)
            && let Some(_lock) = lock_dead_owner(&entry.path(), &me)
        {
            // What cannot be removed now is tried again.
            let _ = remove_owned(&entry.path());
        }
    }
}

/// Whether this is the name of a kept directory with the folder of a run in it, and leads nowhere else.
pub fn is_owner_name(name: &str) -> bool {
    let Some((root, run)) = name.split_once('/') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let run = run.strip_prefix(RUN).unwrap_or_default();
    KeptFor::ALL.iter().any(|kept_for| is_marked(root, *kept_for))
        && root.chars().all(plain)
        && !run.is_empty()
        && run.bytes().all(|digit| digit.is_ascii_digit())
}

/// Whether a file lies in a folder of a run of the application that `root` is a kept directory of, below the same
/// local directory; whichever of its processes it was.
pub(super) fn is_left_by(root: &Path, file: &Path) -> bool {
    let application = |root: &str| root.rsplit_once('-').map(|(rest, _)| rest.to_owned());
    let Some((parent, own)) = root.parent().zip(root.file_name()) else { return false };
    let Some(folder) = file.parent().and_then(|folder| folder.strip_prefix(parent).ok()) else {
        return false;
    };
    let folder = folder.to_string_lossy();
    let theirs = folder.split_once('/').and_then(|(root, _)| application(root));
    is_owner_name(&folder) && theirs == application(&own.to_string_lossy())
}

fn is_marked(name: &str, kept_for: KeptFor) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with(kept_for.mark()))
}

/// Whether a directory is one that the sweep has to leave to others.
pub(super) fn is_kept_still(dir: &Path) -> bool {
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    KeptFor::ALL.iter().any(|kept_for| is_marked(&name, *kept_for)) && !is_old(dir, KEPT_FOR)
}

/// Whether nothing has changed in the directory for so long.
fn is_old(dir: &Path, idle: Duration) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return false };
    let changed = entries.flatten().filter_map(|entry| entry.metadata().ok()?.modified().ok());
    let now = SystemTime::now();
    changed.max().is_some_and(|last| now.duration_since(last).is_ok_and(|age| age > idle))
}

#[cfg(test)]
mod tests {
    use super::super::owner::sweep;
    use super::*;

    fn keep(group: u64, member: u64) -> Keep {
        let kept_for = KeptFor::NextRun;
        Keep { app_name: "app".to_owned(), group, member, kept_for }
    }

    /// As an application does that has this one directory.
    fn take(parent: &Path, keep: &Keep, me: &Identity) -> io::Result<Taken> {
        super::take(parent, keep, next_run([parent].into_iter(), keep), me)
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

    #[test]
    fn only_what_was_kept_for_readers_goes_when_it_is_idle_and_nobody_reads_it() {
        let parent = tempfile::tempdir().unwrap();
        let (me, paths) = (Identity::current(), [parent.path().to_owned()]);
        let keep = |member, kept_for| Keep { kept_for, ..keep(1, member) };
        let next_run = take(parent.path(), &keep(0, KeptFor::NextRun), &me).unwrap();
        let read = take(parent.path(), &keep(1, KeptFor::Readers), &me).unwrap();
        let idle = take(parent.path(), &keep(2, KeptFor::Readers), &me).unwrap();
        let live = take(parent.path(), &keep(3, KeptFor::Readers), &me).unwrap();
        drop((next_run.lock, read.lock, idle.lock));
        let name = |taken: &Path| taken.file_name().unwrap().to_string_lossy().into_owned();
        let is_read = |root: &str| root == name(&read.root);
        remove_idle(&paths, Duration::from_secs(3600), is_read);
        assert!(idle.root.exists(), "it has just been written");
        remove_idle(&paths, Duration::ZERO, is_read);
        assert!(!idle.root.exists());
        assert!(next_run.root.exists() && read.root.exists() && live.root.exists());

        remove_application(&paths, "app", 1);
        assert!(!next_run.root.exists() && !read.root.exists() && live.root.exists());
    }

    #[test]
    fn a_run_has_one_name_in_all_directories() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let me = Identity::current();
        drop(take(first.path(), &keep(1, 0), &me).unwrap().lock);
        let parents = [second.path(), first.path()];
        let run = next_run(parents.into_iter(), &keep(1, 0));
        let taken = parents.map(|parent| super::take(parent, &keep(1, 0), run, &me).unwrap());
        let name = |taken: &Taken| taken.run.file_name().unwrap().to_owned();
        assert_eq!(name(&taken[0]), "run-2");
        assert_eq!(name(&taken[0]), name(&taken[1]));
    }

    #[test]
    fn no_name_leads_elsewhere() {
        let root = "millstream-served-app-0000000000000001-3";
        assert!(is_owner_name(&format!("{root}/run-2")));
        for name in [
            root.to_owned(),
            format!("{root}/run-"),
            format!("{root}/run-2/.."),
            format!("{root}/.."),
            format!("{root}/../run-1"),
            "../millstream-served-app/run-1".to_owned(),
            "millstream-app-1-2/run-1".to_owned(),
            "millstream-served-../run-1".to_owned(),
            "/run-1".to_owned(),
        ] {
            assert!(!is_owner_name(&name), "{name}");
        }
    }
}
