//! Local directories under faults: deleted, read-only, full and failing disks, and owners killed.
//! Each test proves that its fault took place.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use millstream_shuffle::store::{
    CommittedFile, DirId, DirSpec, DirState, DiskError, LocalDirs, MapKey, MapOutput, Missing,
    Part, ShuffleStore,
};
use tempfile::TempDir;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const CHILD_DIR: &str = "MILLSTREAM_TEST_OWNER_DIR";

fn open(paths: &[&Path]) -> Arc<LocalDirs> {
    let spec = |path: &&Path| DirSpec { path: path.to_path_buf(), quota_bytes: None };
    LocalDirs::open(&paths.iter().map(spec).collect::<Vec<_>>(), "test").unwrap()
}

/// Commits a file in a directory of its own choice until it is in `dir`.
fn committed_in(dirs: &Arc<LocalDirs>, name: &str) -> CommittedFile {
    let mut spill = dirs.create(name).unwrap();
    spill.write_all(b"data").unwrap();
    spill.commit(name).unwrap()
}

fn reason(dirs: &LocalDirs, dir: usize) -> String {
    match &dirs.snapshot().dirs[dir].state {
        DirState::Failed { reason } => reason.clone(),
        state => panic!("{state:?}"),
    }
}

/// A small file system in memory, unmounted on drop.
struct Tmpfs {
    path: PathBuf,
    /// Removed after the file system is unmounted.
    home_dir: Option<TempDir>,
}

impl Tmpfs {
    fn mount(options: &str) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let mut mounted = Self::mount_over(home.path(), options)?;
        mounted.home_dir = Some(home);
        Some(mounted)
    }

    /// `None`, with the reason printed, where mounting is not allowed.
    fn mount_over(path: &Path, options: &str) -> Option<Self> {
        let arguments = ["-t", "tmpfs", "-o", options, "tmpfs"];
        let reason = match Command::new("mount").args(arguments).arg(path).output() {
            Ok(output) if output.status.success() => {
                return Some(Self { path: path.to_owned(), home_dir: None });
            }
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        println!("skipped, for a tmpfs cannot be mounted here: {reason}");
        None
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.path).status();
        assert!(unmounted.unwrap().success());
    }
}

#[test]
fn a_deleted_directory_is_dropped_and_its_outputs_are_lost() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dirs = open(&[home.path(), other.path()]);
    let store = Arc::new(ShuffleStore::<CommittedFile>::new());
    let watcher: Weak<ShuffleStore<CommittedFile>> = Arc::downgrade(&store);
    dirs.on_failure(move |dir| {
        if let Some(store) = watcher.upgrade() {
            store.lose_dir(dir);
        }
    });
    let key = MapKey { shuffle: 1, map: 0 };
    let file = committed_in(&dirs, "a");
    let dir = file.dir();
    let segment = Some((file, dir));
    store.commit(key, 0, MapOutput::new(vec![Part::Segment], segment, None).unwrap());
    // Files are spread over directories: one more goes elsewhere, the next comes back here.
    let elsewhere = dirs.create("b").unwrap();
    let mut open_spill = dirs.create("c").unwrap();
    assert_eq!((dir, elsewhere.dir(), open_spill.dir()), (DirId(0), DirId(1), DirId(0)));

    fs::remove_dir_all(home.path()).unwrap();
    assert!(store.get(key).is_ok(), "nobody has noticed yet");
    // Writing goes on into the nameless file; giving it a name cannot work.
    open_spill.write_all(b"more").unwrap();
    let error = open_spill.commit("c").unwrap_err();
    assert!(matches!(&error, DiskError::Failed { others_left: 1, .. }), "{error}");
    assert!(error.is_retryable());
    assert!(error.to_string().contains(home.path().to_str().unwrap()), "{error}");

    assert_eq!(dirs.failed_dirs(), [DirId(0)]);
    assert_eq!(store.get(key).unwrap_err(), Missing::Removed(key));
    assert_eq!(dirs.create("d").unwrap().dir(), DirId(1));
}

#[test]
fn a_deleted_directory_is_noticed_by_the_next_file() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dirs = open(&[home.path(), other.path()]);
    fs::remove_dir_all(home.path()).unwrap();
    assert_eq!(dirs.create("a").unwrap().dir(), DirId(1));
    assert_eq!(dirs.failed_dirs(), [DirId(0)]);

    fs::remove_dir_all(other.path()).unwrap();
    let error = dirs.create("a").unwrap_err();
    let DiskError::NoneLeft { dirs: reports } = &error else { panic!("{error}") };
    assert_eq!(reports.len(), 2);
    assert!(!error.is_retryable());
}

#[test]
fn one_missing_file_is_lost_and_its_directory_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let dirs = open(&[home.path()]);
    let file = committed_in(&dirs, "a");
    fs::remove_file(file.path()).unwrap();
    let error = file.open().unwrap_err();
    assert!(matches!(&error, DiskError::Lost { path, .. } if path == file.path()), "{error}");
    assert!(dirs.failed_dirs().is_empty());
    drop(file);
    assert_eq!(dirs.snapshot().dirs[0].live_bytes, 0);
}

#[test]
fn an_io_error_met_by_a_reader_takes_the_directory_out_once() {
    let home = tempfile::tempdir().unwrap();
    let dirs = open(&[home.path()]);
    let (early, late) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = |counter: &Arc<AtomicUsize>| {
        let counter = Arc::clone(counter);
        move |dir| {
            assert_eq!(dir, DirId(0));
            counter.fetch_add(1, Ordering::Relaxed);
        }
    };
    dirs.on_failure(count(&early));
    let file = committed_in(&dirs, "a");
    for _ in 0..2 {
        let error = file.read_failed(io::Error::from_raw_os_error(EIO));
        assert!(matches!(error, DiskError::Failed { others_left: 0, .. }), "{error}");
    }
    dirs.on_failure(count(&late));
    assert_eq!((early.load(Ordering::Relaxed), late.load(Ordering::Relaxed)), (1, 1));
    assert!(matches!(dirs.create("b"), Err(DiskError::NoneLeft { .. })));

    let out_of_files = file.read_failed(io::Error::from_raw_os_error(24));
    assert!(matches!(out_of_files, DiskError::Io { .. }), "{out_of_files}");
}

#[test]
fn a_full_file_system_is_full_and_not_failed() {
    let Some(tmpfs) = Tmpfs::mount("size=1m") else { return };
    let other = tempfile::tempdir().unwrap();
    let small_quota = DirSpec { path: other.path().to_owned(), quota_bytes: Some(1 << 10) };
    let filled = DirSpec { path: tmpfs.path.clone(), quota_bytes: None };
    let dirs = LocalDirs::open(&[filled, small_quota], "test").unwrap();

    let mut spill = dirs.create("a").unwrap();
    assert_eq!(spill.dir(), DirId(0));
    let block = [1; 64 << 10];
    let error = (0..64).find_map(|_| spill.write_all(&block).err()).unwrap();
    let DiskError::Full { asked, used, quota, free, others_left, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((asked, quota, others_left), (64 << 10, None, 1));
    assert!(used > 512 << 10 && free < 64 << 10, "used {used} free {free}");
    assert_eq!(dirs.snapshot().dirs[0].state, DirState::Full);
    assert!(dirs.failed_dirs().is_empty());
    assert_eq!(dirs.create("b").unwrap().dir(), DirId(1));

    drop(spill);
    assert_eq!(dirs.snapshot().dirs[0].live_bytes, 0);
}

#[test]
fn a_file_system_that_takes_no_more_files_is_full() {
    let Some(tmpfs) = Tmpfs::mount("nr_inodes=6") else { return };
    let dirs = open(&[&tmpfs.path]);
    let mut spills = Vec::new();
    let error = (0..10)
        .find_map(|_| dirs.create("a").map(|spill| spills.push(spill)).err())
        .expect("there are fewer inodes than that");
    assert!(matches!(error, DiskError::NoneLeft { .. }), "{error}");
    assert_eq!(dirs.snapshot().dirs[0].state, DirState::Full);
    spills.pop().expect("some files fitted");
    dirs.create("b").unwrap();
}

#[test]
fn an_operating_system_that_says_full_is_believed() {
    let home = tempfile::tempdir().unwrap();
    let dirs = open(&[home.path()]);
    let file = committed_in(&dirs, "a");
    let error = file.read_failed(io::Error::from_raw_os_error(ENOSPC));
    assert!(matches!(error, DiskError::Full { .. }), "{error}");
    assert_eq!(dirs.snapshot().dirs[0].state, DirState::Full);
}

#[test]
fn a_directory_gone_read_only_is_failed() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let quota_bytes = Some(1 << 10);
    let first = DirSpec { path: home.path().to_owned(), quota_bytes: None };
    let second = DirSpec { path: other.path().to_owned(), quota_bytes };
    let dirs = LocalDirs::open(&[first, second], "test").unwrap();
    let file = committed_in(&dirs, "a");
    assert_eq!(file.dir(), DirId(0));

    let Some(_read_only) = Tmpfs::mount_over(file.path().parent().unwrap(), "ro") else { return };
    assert_eq!(dirs.create("b").unwrap().dir(), DirId(1));
    assert_eq!(dirs.failed_dirs(), [DirId(0)]);
    let expected = io::Error::from_raw_os_error(EROFS).to_string();
    assert_eq!(reason(&dirs, 0), expected);
}

#[test]
fn a_read_only_directory_at_the_start_is_failed_from_the_start() {
    let Some(tmpfs) = Tmpfs::mount("ro") else { return };
    let other = tempfile::tempdir().unwrap();
    let dirs = open(&[&tmpfs.path, other.path()]);
    assert_eq!(dirs.failed_dirs(), [DirId(0)]);
    assert_eq!(dirs.create("a").unwrap().dir(), DirId(1));
}

/// Another process that owns a directory under `home`, and the file it committed there.
struct Owner {
    child: Child,
    file: PathBuf,
}

impl Owner {
    fn start(home: &Path) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "the_other_owner", "--ignored", "--nocapture"])
            .env(CHILD_DIR, home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let file = lines
            .map(Result::unwrap)
            .find_map(|line| line.split_once("ready: ").map(|(_, path)| path.into()))
            .unwrap();
        Self { child, file }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test of its own: what [`Owner`] runs.
#[test]
#[ignore = "run by the test of a killed owner"]
fn the_other_owner() {
    let Some(home) = env::var_os(CHILD_DIR) else { return };
    let dirs = open(&[Path::new(&home)]);
    let file = committed_in(&dirs, "theirs");
    println!("ready: {}", file.path().display());
    // Until killed; the pipe closes if the parent goes first.
    let _ = io::stdin().read(&mut [0]);
}

#[test]
fn a_killed_owner_is_swept_and_the_living_are_left() {
    let home = tempfile::tempdir().unwrap();
    let (mut doomed, survivor) = (Owner::start(home.path()), Owner::start(home.path()));
    let mine = open(&[home.path()]);
    let my_file = committed_in(&mine, "mine");
    assert!(doomed.file.exists() && survivor.file.exists());

    doomed.kill();
    assert!(doomed.file.exists(), "a killed process leaves its files");
    let next = open(&[home.path()]);
    assert!(!doomed.file.parent().unwrap().exists());
    assert_eq!(fs::read(&survivor.file).unwrap(), b"data");
    assert_eq!(fs::read(my_file.path()).unwrap(), b"data");
    drop(next);
    assert!(survivor.file.exists() && my_file.path().exists());
}

#[test]
fn a_removal_cut_short_is_finished_by_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let mut doomed = Owner::start(home.path());
    doomed.kill();
    let theirs = doomed.file.parent().unwrap();
    let stuck = theirs.join("stuck");
    fs::create_dir(&stuck).unwrap();
    let Some(obstacle) = Tmpfs::mount_over(&stuck, "size=1m") else { return };

    drop(open(&[home.path()]));
    assert!(stuck.exists(), "a mount point cannot be removed");
    drop(obstacle);
    drop(open(&[home.path()]));
    assert!(!theirs.exists());
}
