//! Disks that are full, or go away, under the local directory of one executor of two.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use millstream::events::{Event, FailureKind};
use millstream::{Context, Rdd};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::cluster::{Executor, driver, executor, free_port, joined, start};
use super::{TIMEOUT, is_root, say, scatter, skip, succeeds};

const ROWS: i64 = 300_000;
const MAPS: u32 = 12;

/// A file system in memory, unmounted when dropped.
pub(crate) struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    pub(crate) fn mount(path: &'a Path, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(path);
        (is_root() && succeeds(&mut mount)).then_some(Self(path))
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        succeeds(Command::new("umount").arg("-l").arg(self.0));
    }
}

/// Rows that take several times what executors have in memory.
fn spread(context: &Context, gate: &Gate) -> Rdd<(u64, String)> {
    let rows = context.range(0..ROWS, MAPS).map_partitions_with(gate.clone(), |gate, at, rows| {
        if at == MAPS - 1 && gate.arrive("last map") {
            gate.wait("go");
        }
        rows.map(|n| (scatter(n as u64) % 10_000, format!("{}-{n:0>300}", scatter(n as u64))))
    });
    rows.partition_by(6)
}

fn demand_all(rows: &Rdd<(u64, String)>) {
    let sizes = rows.map(|(key, text)| (key, text.len() as u64)).reduce_by_key(|a, b| a + b);
    let (keys, bytes) = (sizes.count().unwrap(), sizes.values().reduce(|a, b| a + b).unwrap());
    let known = |n: i64| format!("{}-{n:0>300}", scatter(n as u64)).len() as u64;
    assert_eq!((keys, bytes), (10_000, Some((0..ROWS).map(known).sum())));
}

fn disk_failed(event: &Event) -> bool {
    matches!(event, Event::DiskDirFailed { .. } | Event::TaskFailed { kind: FailureKind::Disk, .. })
}

/// Runs a job on an executor with a good disk and one with a bad one; `harm` is done when the last map
/// task waits.
fn run(bad: &Path, harm: impl FnOnce()) -> std::sync::Arc<Watch> {
    let (good, points) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let gate = Gate::new(points.path());
    let watch = Watch::new();
    let addr = format!("127.0.0.1:{}", free_port());
    let context = driver(&addr, &watch).build().unwrap();
    let _executors = [start(&addr, good.path()), start(&addr, bad)];
    joined(&watch, 2);
    let rows = spread(&context, &gate);
    std::thread::scope(|scope| {
        let job = scope.spawn(|| demand_all(&rows));
        let _ = gate.arrived("last map");
        harm();
        gate.open("go");
        job.join().unwrap();
    });
    watch
}

#[test]
fn a_full_disk_under_one_executor_leaves_the_work_to_the_other() {
    let bad = tempfile::tempdir().unwrap();
    let Some(_disk) = Tmpfs::mount(bad.path(), "1m") else {
        return skip("a full disk", "only root may mount a small file system");
    };
    let watch = run(bad.path(), || {});
    assert!(watch.count(disk_failed) > 0, "the disk was full");
}

#[test]
fn a_disk_that_goes_away_under_one_executor_loses_nothing() {
    let bad = tempfile::tempdir().unwrap();
    let Some(disk) = Tmpfs::mount(bad.path(), "512m") else {
        return skip("a disk that goes away", "only root may mount a file system");
    };
    let watch = run(bad.path(), || drop(disk));
    let fired = |event: &Event| {
        let fetch = matches!(event, Event::TaskFailed { kind: FailureKind::FetchFailed, .. });
        fetch || disk_failed(event)
    };
    assert!(watch.count(fired) > 0, "the disk was missed");
}

/// A file system in a file, which can be made to stand still. Unmounted when dropped.
struct Frozen<'a>(&'a Path);

impl<'a> Frozen<'a> {
    fn mount(path: &'a Path, image: &Path) -> Option<Self> {
        let file = std::fs::File::create(image).ok()?;
        file.set_len(1 << 30).ok()?;
        let made = succeeds(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image));
        let mut mount = Command::new("mount");
        mount.args(["-o", "loop"]).arg(image).arg(path);
        (is_root() && made && succeeds(&mut mount)).then_some(Self(path))
    }

    fn freeze(&self) -> bool {
        succeeds(Command::new("fsfreeze").arg("-f").arg(self.0))
    }

    fn thaw(&self) -> bool {
        succeeds(Command::new("fsfreeze").arg("-u").arg(self.0))
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.thaw();
        succeeds(Command::new("umount").arg("-l").arg(self.0));
    }
}

fn finished(watch: &Watch) -> usize {
    watch.count(|event| matches!(event, Event::TaskFinished { .. }))
}

#[test]
fn a_disk_that_stands_still_under_busy_processors_costs_no_heartbeat() {
    /// The time in which an executor would be given up, several times over.
    const STILL: std::time::Duration = TIMEOUT.saturating_mul(4);
    const HOGS: usize = 8;
    let (home, points) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = home.path().join("disk");
    std::fs::create_dir(&at).unwrap();
    let Some(disk) = Frozen::mount(&at, &home.path().join("image")) else {
        return skip("a disk that stands still", "only root may mount a file system");
    };
    let gate = Gate::new(points.path());
    let watch = Watch::new();
    let addr = format!("127.0.0.1:{}", free_port());
    let context = driver(&addr, &watch).speculation(false).build().unwrap();
    let program = std::env::current_exe().unwrap();
    let executors = [(), ()].map(|()| {
        let mut command = executor([""; 0], &program, &addr, &at);
        // One that is not there: outputs go to files all the same.
        command.env("MILLSTREAM_SHUFFLE_SERVICE", "127.0.0.1:1");
        Executor(command.spawn().unwrap())
    });
    joined(&watch, 2);
    let rows = spread(&context, &gate);
    let busy = AtomicBool::new(true);
    let still = std::thread::scope(|scope| {
        for _ in 0..HOGS {
            scope.spawn(|| {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let job = scope.spawn(|| demand_all(&rows));
        let _ = gate.arrived("last map");
        let frozen = disk.freeze();
        gate.open("go");
        if frozen {
            // What was being sent when the disk stopped may still arrive.
            std::thread::sleep(STILL / 4);
            let before = finished(&watch);
            std::thread::sleep(STILL);
            let during = finished(&watch) - before;
            assert!(disk.thaw());
            assert_eq!(during, 0, "no task can end that has to write");
        }
        busy.store(false, Ordering::Relaxed);
        job.join().unwrap();
        frozen
    });
    let lost = watch.count(|event| matches!(event, Event::ExecutorLost { .. }));
    // The file system can be unmounted when nobody uses it.
    drop(executors);
    if !still {
        return skip("a disk that stands still", "file systems cannot be frozen here");
    }
    say(&format!(
        "with its disk standing still for {STILL:?} and {HOGS} threads busy, {lost} executors of 2 missed their heartbeats for {TIMEOUT:?}"
    ));
    assert_eq!(lost, 0);
}
