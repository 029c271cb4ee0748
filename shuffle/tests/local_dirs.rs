//! Local directories: files, quotas and balance on directories that work.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use millstream_shuffle::store::{
    DirError, DirId, DirSpec, DirState, DiskError, Keep, KeptFor, LocalDirs,
};
use tempfile::TempDir;

fn spec(path: &Path, quota_bytes: Option<u64>) -> DirSpec {
    DirSpec { path: path.to_owned(), quota_bytes }
}

/// Directories with these quotas.
fn open(quotas: &[Option<u64>]) -> (Vec<TempDir>, Arc<LocalDirs>) {
    let homes: Vec<_> = quotas.iter().map(|_| tempfile::tempdir().unwrap()).collect();
    let specs: Vec<_> = homes.iter().zip(quotas).map(|(home, q)| spec(home.path(), *q)).collect();
    let dirs = LocalDirs::open(&specs, "test").unwrap();
    (homes, dirs)
}

fn live_bytes(dirs: &LocalDirs) -> Vec<u64> {
    dirs.snapshot().dirs.iter().map(|dir| dir.live_bytes).collect()
}

fn entries(path: &Path) -> Vec<PathBuf> {
    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Open files of this process with this path.
fn open_files(path: &Path) -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
    links.filter(|link| fs::read_link(link.path()).is_ok_and(|target| target == path)).count()
}

#[test]
fn a_file_is_seen_under_its_final_name_when_it_is_whole_and_goes_with_its_handle() {
    let (_homes, dirs) = open(&[None]);
    let mut spill = dirs.create("map-1").unwrap();
    spill.write_all(b"hello ").unwrap();
    spill.write_all(b"world").unwrap();
    assert_eq!((spill.len(), open_files(spill.path())), (11, 1));
    let (temporary, target) =
        (spill.path().to_owned(), spill.path().with_file_name("map-1.attempt-0"));
    assert!(temporary.exists() && !target.exists());

    let committed = spill.commit("map-1.attempt-0").unwrap();
    assert_eq!((committed.path(), committed.len()), (target.as_path(), 11));
    assert_eq!(open_files(&target), 0);
    assert!(!temporary.exists());
    let mut reader = committed.open().unwrap();
    drop(committed);
    assert!(!target.exists());
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello world", "an open file outlives its handle");

    let snapshot = dirs.snapshot();
    assert_eq!((snapshot.bytes_written, snapshot.files_created), (11, 1));
    assert_eq!((snapshot.dirs[0].live_bytes, snapshot.dirs[0].live_files), (0, 0));
}

#[test]
fn a_file_that_is_not_committed_leaves_nothing() {
    let (_homes, dirs) = open(&[Some(100)]);
    let mut spill = dirs.create("a").unwrap();
    spill.write_all(&[1; 60]).unwrap();
    assert_eq!(live_bytes(&dirs), [60]);
    let path = spill.path().to_owned();
    drop(spill);
    assert!(!path.exists());
    assert_eq!(live_bytes(&dirs), [0]);

    let mut spill = dirs.create("a").unwrap();
    spill.write_all(&[1; 60]).unwrap();
    let path = spill.path().to_owned();
    assert!(matches!(spill.commit("../a"), Err(DiskError::Name { .. })));
    assert!(!path.exists());
    assert_eq!(live_bytes(&dirs), [0]);
}

#[test]
fn a_committed_file_is_never_replaced() {
    let (_homes, dirs) = open(&[None]);
    let write = |bytes: &[u8]| {
        let mut spill = dirs.create("a").unwrap();
        spill.write_all(bytes).unwrap();
        spill
    };
    let first = write(b"first").commit("final").unwrap();
    assert!(matches!(write(b"second").commit("final"), Err(DiskError::Exists { .. })));
    assert_eq!(fs::read(first.path()).unwrap(), b"first");
    assert_eq!(live_bytes(&dirs), [5]);
}

#[test]
fn a_durable_commit_is_a_commit() {
    let (_homes, dirs) = open(&[None]);
    let mut spill = dirs.create("a").unwrap();
    spill.write_all(b"kept").unwrap();
    let committed = spill.commit_durable("final").unwrap();
    assert_eq!(fs::read(committed.path()).unwrap(), b"kept");
}

#[test]
fn files_go_where_there_is_most_room() {
    let (_homes, dirs) = open(&[Some(1000), Some(1500)]);
    let mut kept = Vec::new();
    let mut place = |size: usize| {
        let mut spill = dirs.create("a").unwrap();
        spill.write_all(&vec![0; size]).unwrap();
        let dir = spill.dir();
        kept.push(spill);
        dir
    };
    assert_eq!(place(600), DirId(1));
    assert_eq!(place(300), DirId(0));
    assert_eq!(place(300), DirId(1));
    assert_eq!(place(1), DirId(0));
}

#[test]
fn a_refused_write_names_all_and_the_next_file_goes_elsewhere() {
    let (homes, dirs) = open(&[Some(1000), Some(900)]);
    let mut spill = dirs.create("a").unwrap();
    spill.write_all(&[0; 800]).unwrap();
    let error = spill.write_all(&[0; 201]).unwrap_err();
    assert!(error.is_retryable());
    let DiskError::Full { dir, asked, used, free, quota, others_left } = error else {
        panic!("{error}");
    };
    assert_eq!(dir, homes[0].path());
    assert_eq!((asked, used, free, quota, others_left), (201, 800, 200, Some(1000), 1));
    assert!(matches!(spill.write_all(b"x"), Err(DiskError::Incomplete { .. })));
    assert!(matches!(spill.commit("a"), Err(DiskError::Incomplete { .. })));
    assert_eq!(live_bytes(&dirs), [0, 0]);

    // The room that the refused file gave back does not draw the next one there.
    assert_eq!(dirs.snapshot().dirs[0].state, DirState::Full);
    assert_eq!(dirs.create("a").unwrap().dir(), DirId(1));
}

#[test]
fn retrying_a_file_that_fits_nowhere_ends() {
    let (_homes, dirs) = open(&[Some(1000), Some(900), Some(800)]);
    let write = || dirs.create("big")?.write_all(&[0; 5000]);
    let mut attempts = 1;
    let last = loop {
        match write().unwrap_err() {
            error if error.is_retryable() => attempts += 1,
            error => break error,
        }
    };
    assert_eq!(attempts, 3);
    assert!(matches!(last, DiskError::Full { others_left: 0, .. }), "{last}");

    // What fits is still taken, as long as there is room at all.
    dirs.create("small").unwrap().write_all(&[0; 700]).unwrap();
}

#[test]
fn when_none_is_left_the_error_lists_them_and_space_given_back_helps() {
    let (homes, dirs) = open(&[Some(100), Some(100)]);
    let fill = || {
        let mut spill = dirs.create("a").unwrap();
        spill.write_all(&[0; 100]).unwrap();
        spill.commit(&format!("a-{}", live_bytes(&dirs).iter().sum::<u64>())).unwrap()
    };
    let (first, _second) = (fill(), fill());
    let error = dirs.create("b").unwrap_err();
    assert!(!error.is_retryable());
    let message = error.to_string();
    for home in &homes {
        assert!(message.contains(home.path().to_str().unwrap()), "{message}");
    }
    assert!(message.contains("used 100 B, free 0 B"), "{message}");

    let dir = first.dir();
    drop(first);
    assert_eq!(dirs.create("b").unwrap().dir(), dir);
}

#[test]
fn space_given_back_by_others_makes_a_full_directory_usable() {
    let (_homes, dirs) = open(&[Some(100)]);
    let mut kept = dirs.create("kept").unwrap();
    kept.write_all(&[0; 90]).unwrap();
    dirs.create("refused").unwrap().write_all(&[0; 20]).unwrap_err();
    assert_eq!(dirs.snapshot().dirs[0].state, DirState::Full);
    drop(kept);
    assert_eq!(dirs.snapshot().dirs[0].state, DirState::Usable);
}

#[test]
fn many_writers_never_exceed_a_quota_and_leave_nothing() {
    const QUOTA: u64 = 100_000;
    let (homes, dirs) = open(&[Some(QUOTA), Some(QUOTA)]);
    thread::scope(|scope| {
        for writer in 0..4 {
            let dirs = &dirs;
            scope.spawn(move || {
                for round in 0..100 {
                    let Ok(mut spill) = dirs.create("w") else { continue };
                    while spill.len() < 60_000 && spill.write_all(&[7; 5000]).is_ok() {
                        assert!(live_bytes(dirs).iter().all(|bytes| *bytes <= QUOTA));
                    }
                    drop(spill.commit(&format!("w-{writer}-{round}")));
                }
            });
        }
    });
    assert_eq!(live_bytes(&dirs), [0, 0]);
    drop(dirs);
    assert!(homes.iter().all(|home| entries(home.path()).is_empty()));
}

#[test]
fn all_is_removed_when_the_last_user_is_gone() {
    let (homes, dirs) = open(&[None]);
    let committed = dirs.create("a").unwrap().commit("a").unwrap();
    drop(dirs);
    assert!(committed.path().exists());
    drop(committed);
    assert!(entries(homes[0].path()).is_empty());
    assert!(homes[0].path().exists());
}

#[test]
fn directories_are_made_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let deep = home.path().join("x/y");
    let dirs = LocalDirs::open(&[spec(&deep, None)], "my app").unwrap();
    let [owned] = &entries(&deep)[..] else { panic!("one directory") };
    let name = owned.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("millstream-my_app-{}-", std::process::id())), "{name}");
    assert_eq!(fs::metadata(owned).unwrap().permissions().mode() & 0o777, 0o700);
    drop(dirs);
}

#[test]
fn unusable_configurations_are_refused() {
    let home = tempfile::tempdir().unwrap();
    assert!(matches!(LocalDirs::open(&[], "a"), Err(DirError::NoneGiven)));

    let twice = [spec(home.path(), None), spec(&home.path().join("."), None)];
    assert!(matches!(LocalDirs::open(&twice, "a"), Err(DirError::Duplicate { .. })));

    let file = home.path().join("file");
    fs::write(&file, "mine").unwrap();
    let error = LocalDirs::open(&[spec(&file, None)], "a").unwrap_err();
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");

    let dirs = LocalDirs::open(&[spec(&file, None), spec(home.path(), None)], "a").unwrap();
    assert_eq!(dirs.failed_dirs(), [DirId(0)]);
    assert_eq!(dirs.create("a").unwrap().dir(), DirId(1));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn at_the_end_of_its_owner_a_kept_directory_has_the_files_of_its_living_handles() {
    let home = tempfile::tempdir().unwrap();
    let keep = Keep { app_name: "app".to_owned(), group: 1, member: 0, kept_for: KeptFor::NextRun };
    for discarded in [false, true] {
        let dirs = LocalDirs::open_kept(&[spec(home.path(), None)], &keep).unwrap();
        let commit = |name| {
            let mut file = dirs.create(name).unwrap();
            file.write_all(b"rows").unwrap();
            file.commit(name).unwrap()
        };
        let (dropped, held) = (commit("dropped"), commit("held"));
        let paths = [&dropped, &held].map(|file| file.path().to_owned());
        drop(dropped);
        if discarded {
            dirs.discard();
        }
        dirs.end();
        drop(held);
        drop(dirs);
        assert_eq!(paths.map(|path| path.exists()), [false, !discarded]);
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}
