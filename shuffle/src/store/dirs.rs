//! The local directories of one application on one machine: several, balanced by free space, each
//! with a quota, each dropped when it fails. What the files hold is the writer's business.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::dir::{Dir, DirId, DirSnapshot, DirState};
use super::error::{DirError, DiskError, Verdict, judge};
use super::file::{CommittedFile, SpillFile};
use super::kept::{Keep, is_owner_name, next_run};
use super::owner::{Identity, OwnedDir, sweep};

/// One directory to use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirSpec {
    /// Where; made if it does not exist.
    pub path: PathBuf,
    /// The most that this application may hold there, in bytes; `None` for all there is.
    pub quota_bytes: Option<u64>,
}

impl DirSpec {
    /// Directories that share a total quota equally; what does not divide goes to the first.
    pub fn sharing(paths: impl IntoIterator<Item = PathBuf>, total_bytes: u64) -> Vec<Self> {
        let paths: Vec<_> = paths.into_iter().collect();
        let count = paths.len().max(1) as u64;
        let (each, rest) = (total_bytes / count, total_bytes % count);
        let quota = |index| Some(if index == 0 { each + rest } else { each });
        let specs = paths.into_iter().enumerate();
        specs.map(|(index, path)| Self { path, quota_bytes: quota(index) }).collect()
    }
}

/// What the directories hold and what has been done in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSnapshot {
    /// Bytes written since the start.
    pub bytes_written: u64,
    /// Files created since the start.
    pub files_created: u64,
    /// Bytes of the extents that readers have begun since the start.
    pub bytes_read: u64,
    /// Extents that readers have begun since the start: each is one sequential read of a file.
    pub extents_read: u64,
    /// Each directory, in configuration order.
    pub dirs: Vec<DirSnapshot>,
}

type FailureHook = Arc<dyn Fn(DirId) + Send + Sync>;

/// The local directories. Files keep it alive; when the last user is gone, all is removed.
pub struct LocalDirs {
    dirs: Vec<Dir>,
    /// Dropping a file no longer removes it.
    ended: AtomicBool,
    /// Makes temporary names unique.
    serial: AtomicU64,
    bytes_written: AtomicU64,
    files_created: AtomicU64,
    bytes_read: AtomicU64,
    extents_read: AtomicU64,
    hooks: Mutex<Vec<FailureHook>>,
}

impl LocalDirs {
    /// Makes under each path a directory of this process, `millstream-<app>-<pid>-<start>`, after
    /// removing those whose owners are proved dead. A directory that cannot be used starts as
    /// failed; it is an error if none can.
    pub fn open(specs: &[DirSpec], app_name: &str) -> Result<Arc<Self>, DirError> {
        Self::open_with(specs, |path, me| OwnedDir::create(path, app_name, me))
    }

    /// As [`Self::open`], with directories that stay for the next run, unless [`Self::discard`] says
    /// otherwise. What an earlier run has left in them can be taken over by [`Self::adopt`]; while a
    /// process of that run lives, they cannot be used.
    pub fn open_kept(specs: &[DirSpec], keep: &Keep) -> Result<Arc<Self>, DirError> {
        let run = next_run(specs.iter().map(|spec| spec.path.as_path()), keep);
        Self::open_with(specs, |path, me| OwnedDir::take(path, keep, run, me))
    }

    /// The name of the folder for files, the same below each of the directories; none if they are not kept.
    pub fn owner_name(&self) -> Option<String> {
        let name = self.dirs.iter().find_map(Dir::name)?.to_str()?;
        is_owner_name(name).then(|| name.to_owned())
    }

    fn open_with(
        specs: &[DirSpec],
        own: impl Fn(&Path, &Identity) -> io::Result<OwnedDir>,
    ) -> Result<Arc<Self>, DirError> {
        if specs.is_empty() {
            return Err(DirError::NoneGiven);
        }
        let me = Identity::current();
        let prepared: Vec<_> = specs.iter().map(|spec| prepare(&spec.path)).collect();
        refuse_duplicates(&prepared)?;
        let dirs: Vec<_> = (0..)
            .map(DirId)
            .zip(specs.iter().zip(prepared))
            .map(|(id, (spec, prepared))| {
                let owned = prepared.and_then(|path| {
                    sweep(&path, &me);
                    own(&path, &me)
                });
                Dir::new(id, spec.path.clone(), spec.quota_bytes, owned)
            })
            .collect();
        if dirs.iter().all(Dir::is_failed) {
            let reasons = dirs.iter().map(|dir| dir.report().to_string()).collect();
            return Err(DirError::NoneUsable { reasons });
        }
        Ok(Arc::new(Self {
            dirs,
            ended: AtomicBool::new(false),
            serial: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            files_created: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            extents_read: AtomicU64::new(0),
            hooks: Mutex::new(Vec::new()),
        }))
    }

    /// Starts a file in the directory with the most room. `name` is for people: the file gets a
    /// unique temporary name from it until it is committed under a final one.
    pub fn create(self: &Arc<Self>, name: &str) -> Result<SpillFile, DiskError> {
        check_name(name)?;
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".{name}.{serial}.tmp");
        let mut tried = vec![false; self.dirs.len()];
        while let Some(dir) = self.pick(&tried) {
            tried[dir.id.0 as usize] = true;
            let path = dir.path().join(&temporary);
            match create_file(&path) {
                Ok(file) => {
                    dir.add_file();
                    self.files_created.fetch_add(1, Ordering::Relaxed);
                    return Ok(SpillFile::new(Arc::clone(self), dir.id, file, path));
                }
                Err(source) => match judge(&source) {
                    Verdict::Broken => self.fail(dir, &source),
                    Verdict::Full => dir.mark_full(0),
                    Verdict::Other => {
                        return Err(DiskError::Io { operation: "create", path, source });
                    }
                },
            }
        }
        Err(DiskError::NoneLeft { dirs: self.dirs.iter().map(Dir::report).collect() })
    }

    /// Takes over a file that an earlier run of the application has committed in one of these directories, be it
    /// by another of its processes. It gets the name `name` among the files of this run, where others look for it;
    /// when its handle goes, both names do.
    ///
    /// # Errors
    /// If there is no such file, its directory has no room for it in its quota, or the name is taken. The file is
    /// left where it is then.
    pub fn adopt(self: &Arc<Self>, path: &Path, name: &str) -> Result<CommittedFile, DiskError> {
        check_name(name)?;
        let lost = |source| DiskError::Lost { path: path.to_owned(), source };
        let dir = self.dirs.iter().find(|dir| !dir.is_failed() && dir.holds(path));
        let dir = dir.ok_or_else(|| lost(io::Error::other("it is in no directory of ours")))?;
        let metadata = fs::symlink_metadata(path).map_err(lost)?;
        if !metadata.is_file() {
            return Err(lost(io::Error::other("it is no file")));
        }
        let named = dir.path().join(name);
        fs::hard_link(path, &named).map_err(lost)?;
        if !dir.charge(metadata.len()) {
            let _ = fs::remove_file(&named);
            return Err(self.full_error(dir, metadata.len()));
        }
        dir.add_file();
        let dirs = Arc::clone(self);
        Ok(CommittedFile::adopted(dirs, dir.id, named, path.to_owned(), metadata.len()))
    }

    /// No later run will want what is in these directories: they go with this process.
    pub fn discard(&self) {
        self.dirs.iter().for_each(Dir::discard);
    }

    /// Nothing more is written or read here, as the process is about to end: removes the directories, or leaves
    /// them, with the files that are in them now, to those they are kept for. To be called before the
    /// handles of these files are dropped: each would remove its file.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.dirs.iter().for_each(Dir::remove);
    }

    pub(super) fn have_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// The directories that are broken; their files are lost.
    pub fn failed_dirs(&self) -> Vec<DirId> {
        self.dirs.iter().filter(|dir| dir.is_failed()).map(|dir| dir.id).collect()
    }

    /// Calls `hook` when a directory breaks, and now for each that has; at least once for each. The
    /// hook is called with no lock held, by whoever met the failure. It must not own these
    /// directories or files in them (use a `Weak`), or they would never be removed.
    pub fn on_failure(&self, hook: impl Fn(DirId) + Send + Sync + 'static) {
        let hook: FailureHook = Arc::new(hook);
        self.hooks.lock().push(Arc::clone(&hook));
        for dir in self.failed_dirs() {
            hook(dir);
        }
    }

    /// The figures now.
    pub fn snapshot(&self) -> DiskSnapshot {
        DiskSnapshot {
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
            files_created: self.files_created.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            extents_read: self.extents_read.load(Ordering::Relaxed),
            dirs: self.dirs.iter().map(Dir::snapshot).collect(),
        }
    }

    pub(super) fn dir(&self, id: DirId) -> &Dir {
        &self.dirs[id.0 as usize]
    }

    pub(super) fn count_written(&self, bytes: u64) {
        self.bytes_written.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn count_extent_read(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
        self.extents_read.fetch_add(1, Ordering::Relaxed);
    }

    /// Turns an error met with a file of `dir` into ours, and draws the consequence for `dir`.
    /// `asked` is the size of the write, 0 for other operations.
    pub(super) fn disk_error(
        &self,
        dir: &Dir,
        operation: &'static str,
        path: &Path,
        asked: u64,
        source: io::Error,
    ) -> DiskError {
        let verdict = judge(&source);
        let missing = source.raw_os_error() == Some(Errno::NOENT.raw_os_error());
        if missing && dir.path().is_dir() {
            return DiskError::Lost { path: path.to_owned(), source };
        }
        match verdict {
            Verdict::Full => {
                dir.mark_full(asked);
                self.full_error(dir, asked)
            }
            Verdict::Broken => {
                self.fail(dir, &source);
                let others_left = self.others_left(dir);
                DiskError::Failed { dir: dir.base.clone(), source, others_left }
            }
            Verdict::Other => DiskError::Io { operation, path: path.to_owned(), source },
        }
    }

    pub(super) fn full_error(&self, dir: &Dir, asked: u64) -> DiskError {
        DiskError::Full {
            dir: dir.base.clone(),
            asked,
            used: dir.used(),
            free: dir.room().unwrap_or(0),
            quota: dir.quota(),
            others_left: self.others_left(dir),
        }
    }

    fn others_left(&self, dir: &Dir) -> usize {
        let takes_files = |other: &&Dir| {
            other.id != dir.id
                && other.state() == DirState::Usable
                && other.room().is_ok_and(|room| room > 0)
        };
        self.dirs.iter().filter(takes_files).count()
    }

    fn pick(&self, tried: &[bool]) -> Option<&Dir> {
        let mut candidates = Vec::with_capacity(self.dirs.len());
        for dir in self.dirs.iter().filter(|dir| !tried[dir.id.0 as usize] && !dir.is_failed()) {
            match dir.room() {
                Ok(room) => {
                    let full = dir.state() == DirState::Full;
                    candidates.push(Candidate { id: dir.id, full, room, files: dir.files() });
                }
                Err(error) => self.fail(dir, &error),
            }
        }
        choose(&candidates).map(|id| self.dir(id))
    }

    fn fail(&self, dir: &Dir, error: &io::Error) {
        if dir.mark_failed(error) {
            let hooks = self.hooks.lock().clone();
            for hook in hooks {
                hook(dir.id);
            }
        }
    }
}

impl fmt::Debug for LocalDirs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalDirs").field("dirs", &self.dirs).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    id: DirId,
    full: bool,
    room: u64,
    files: u64,
}

/// Of those with about the most room, the one with the fewest files, so that directories of one file
/// system, or disks filled alike, share the load. One that was found full comes after all others, and
/// one without any room never.
fn choose(candidates: &[Candidate]) -> Option<DirId> {
    let with_room = || candidates.iter().filter(|candidate| candidate.room > 0);
    let full = with_room().all(|candidate| candidate.full);
    let eligible = || with_room().filter(|candidate| candidate.full == full);
    let most = eligible().map(|candidate| candidate.room).max()?;
    let about_the_most = eligible().filter(|candidate| candidate.room >= most - most / 8);
    about_the_most.min_by_key(|candidate| (candidate.files, candidate.id)).map(|best| best.id)
}

/// A plain name that cannot meet a temporary file or the owner's record, which start with a dot.
pub(super) fn check_name(name: &str) -> Result<(), DiskError> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    if plain { Ok(()) } else { Err(DiskError::Name { name: name.to_owned() }) }
}

fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn prepare(path: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(path)?;
    fs::canonicalize(path)
}

fn refuse_duplicates(prepared: &[io::Result<PathBuf>]) -> Result<(), DirError> {
    let mut paths: Vec<_> = prepared.iter().filter_map(|path| path.as_ref().ok()).collect();
    paths.sort();
    match paths.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(DirError::Duplicate { path: pair[0].clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::kept::KeptFor;
    use super::*;

    /// The directories that a process of an application has below `path`, for its next run.
    fn kept(path: &Path, group: u64, member: u64, quota_bytes: Option<u64>) -> Arc<LocalDirs> {
        let (app_name, kept_for) = ("app".to_owned(), KeptFor::NextRun);
        let spec = DirSpec { path: path.to_owned(), quota_bytes };
        LocalDirs::open_kept(&[spec], &Keep { app_name, group, member, kept_for }).unwrap()
    }

    /// A file that the first process of an application has left.
    fn left_behind(path: &Path) -> PathBuf {
        let dirs = kept(path, 5, 1, None);
        let mut file = dirs.create("map-1-0-0").unwrap();
        file.write_all(b"rows").unwrap();
        let file = file.commit("map-1-0-0").unwrap();
        dirs.end();
        file.path().to_owned()
    }

    #[test]
    fn what_another_process_has_left_is_taken_over_and_goes_under_both_names() {
        let dir = tempfile::tempdir().unwrap();
        let file = left_behind(dir.path());
        let dirs = kept(dir.path(), 5, 2, None);
        let adopted = dirs.adopt(&file, "map-7-0-3").unwrap();
        let named = dir.path().join(dirs.owner_name().unwrap()).join("map-7-0-3");
        assert_eq!(
            (adopted.path(), fs::read(&named).unwrap()),
            (named.as_path(), b"rows".to_vec())
        );
        assert!(file.exists(), "a run that comes after this one looks for it there");
        drop(adopted);
        assert!(!file.exists() && !named.exists());
    }

    #[test]
    fn what_is_not_taken_over_is_left_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = left_behind(dir.path());
        let name = "map-7-0-3";
        kept(dir.path(), 6, 2, None).adopt(&file, name).unwrap_err();
        kept(dir.path(), 5, 2, Some(3)).adopt(&file, name).unwrap_err();
        let dirs = kept(dir.path(), 5, 3, None);
        dirs.adopt(&file.with_file_name("map-1-1-0"), name).unwrap_err();
        dirs.adopt(&file.join("../../run-1/map-1-0-0"), name).unwrap_err();
        fs::write(dir.path().join(dirs.owner_name().unwrap()).join(name), "taken").unwrap();
        dirs.adopt(&file, name).unwrap_err();
        assert_eq!(fs::read(&file).unwrap(), b"rows");
        assert!(
            !dir.path().join("millstream-kept-app-0000000000000005-2/run-1").join(name).exists()
        );
    }

    fn candidate(id: u32, full: bool, room: u64) -> Candidate {
        Candidate { id: DirId(id), full, room, files: 0 }
    }

    #[test]
    fn directories_with_about_the_same_room_get_as_many_files() {
        let mut dirs =
            [candidate(0, false, 950), candidate(1, false, 800), candidate(2, false, 1000)];
        for _ in 0..10 {
            let chosen = choose(&dirs).unwrap();
            dirs[chosen.0 as usize].files += 1;
        }
        assert_eq!(dirs.map(|dir| dir.files), [5, 0, 5]);
    }

    #[test]
    fn the_roomiest_directory_is_chosen() {
        assert_eq!(choose(&[]), None);
        assert_eq!(choose(&[candidate(0, false, 0)]), None);
        assert_eq!(choose(&[candidate(0, false, 5), candidate(1, false, 5)]), Some(DirId(0)));
        assert_eq!(choose(&[candidate(0, false, 5), candidate(1, false, 6)]), Some(DirId(1)));
        assert_eq!(choose(&[candidate(0, true, 9), candidate(1, false, 1)]), Some(DirId(1)));
        assert_eq!(choose(&[candidate(0, true, 9), candidate(1, false, 0)]), Some(DirId(0)));
    }

    #[test]
    fn a_total_quota_is_shared_to_the_last_byte() {
        let specs = DirSpec::sharing(["/a".into(), "/b".into(), "/c".into()], 11);
        let quotas: Vec<_> = specs.iter().map(|spec| spec.quota_bytes).collect();
        assert_eq!(quotas, [Some(5), Some(3), Some(3)]);
        assert!(DirSpec::sharing([], 11).is_empty());
    }

    #[test]
    fn names_stay_inside_the_directory() {
        for name in ["", ".owner", "..", "a/b", "/a", "a\0"] {
            assert!(matches!(check_name(name), Err(DiskError::Name { .. })), "{name:?}");
        }
        check_name("shuffle-1-map-2.0").unwrap();
    }
}
