//! Disks that are full, or go away, under the local directory of one executor of two.

use std::path::Path;
use std::process::Command;

use millstream::events::{Event, FailureKind};
use millstream::{Context, Rdd};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::cluster::{driver, free_port, joined, start};
use super::{is_root, scatter, skip, succeeds};

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
