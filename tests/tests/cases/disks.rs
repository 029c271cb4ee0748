//! Local directories: shared, full, broken, left behind.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use millstream::{Context, Rdd};
use millstream_tests::child;
use millstream_tests::matrix::files_below;

use super::{MIB, builder, limited, scatter};

const ROWS: i64 = 100_000;

fn rows(context: &Context) -> Rdd<(u64, String)> {
    context.range(0..ROWS, 8).map(|n| (scatter(n as u64), format!("{n:0>100}")))
}

fn sorts_right(context: &Context) {
    let keys = rows(context).sort_by_key().keys().collect().unwrap();
    let mut known: Vec<u64> = (0..ROWS as u64).map(scatter).collect();
    known.sort_unstable();
    assert!(keys == known);
    assert!(context.metrics().spilled_bytes() > 0);
}

#[test]
fn c089_processes_share_a_directory() {
    const NAME: &str = "disks::c089_processes_share_a_directory";
    if let Some(dir) = child::role() {
        sorts_right(&limited(2 * MIB, Path::new(&dir)));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let role = dir.path().display().to_string();
    let context = limited(2 * MIB, dir.path());
    let start = || child::command(NAME, &role).unwrap().stderr(Stdio::piped()).spawn().unwrap();
    let children = [start(), start()];
    sorts_right(&context);
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    // Others have ended, and removed what is theirs, while this one goes on.
    sorts_right(&context);
    drop(context);
    assert_eq!(files_below(dir.path()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn c091_a_full_or_broken_directory_does_not_fail_the_job() {
    let (good, bad) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bad_path = bad.path().join("disk");
    std::fs::create_dir(&bad_path).unwrap();
    // A real small disk where that is allowed, and a quota of the same size elsewhere.
    let disk = Tmpfs::mount(&bad_path);
    let quota = disk.is_none().then_some(MIB);
    let open = || {
        let builder = builder().memory_limit(2 * MIB);
        builder.local_dir(&bad_path, quota).local_dir(good.path(), None).build().unwrap()
    };
    let groups = |context: &Context| {
        let counts = rows(context).map(|(key, text)| (key % 1_000, text)).group_by_key();
        let total = counts.map_values(|group| group.len()).values().reduce(|a, b| a + b);
        assert_eq!(total.unwrap(), Some(ROWS as usize));
        assert!(context.metrics().spilled_bytes() > 0);
    };
    groups(&open());
    let context = open();
    if let Some(disk) = &disk {
        // Refused while a file there is open for writing; then the disk is just full.
        disk.remount_read_only();
        groups(&context);
    }
    drop((context, disk));
    let context = open();
    std::fs::remove_dir_all(&bad_path).unwrap();
    groups(&context);
}

#[test]
fn c091_outputs_on_a_directory_that_broke_are_run_again() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let context = builder().memory_limit(MIB);
    let context = context.local_dir(dirs[0].path(), None).local_dir(dirs[1].path(), None);
    let context = context.build().unwrap();
    let rows = context.range(0..ROWS, 40).map(|n| (scatter(n as u64), format!("{n:0>60}")));
    let spread = rows.partition_by(8);
    assert_eq!(spread.count().unwrap(), ROWS as u64);
    let broken = dirs.iter().max_by_key(|dir| files_below(dir.path()).len()).unwrap();
    let lost = files_below(broken.path()).len();
    assert!(lost > 10, "many outputs are lost at once: {lost}");
    for entry in std::fs::read_dir(broken.path()).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    let mut keys = spread.keys().collect().unwrap();
    keys.sort_unstable();
    let mut known: Vec<u64> = (0..ROWS as u64).map(scatter).collect();
    known.sort_unstable();
    assert!(keys == known);
}

/// A file system of 1 MB, unmounted when dropped.
struct Tmpfs<'a> {
    path: &'a Path,
}

impl<'a> Tmpfs<'a> {
    fn mount(path: &'a Path) -> Option<Self> {
        let options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
        run(Command::new("mount").args(options).arg(path)).then_some(Self { path })
    }

    fn remount_read_only(&self) {
        run(Command::new("mount").args(["-o", "remount,ro"]).arg(self.path));
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        run(Command::new("umount").arg("-l").arg(self.path));
    }
}

fn run(command: &mut Command) -> bool {
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn c093_files_of_a_killed_process_go_at_the_next_start() {
    const NAME: &str = "disks::c093_files_of_a_killed_process_go_at_the_next_start";
    if let Some(dir) = child::role() {
        let context = limited(2 * MIB, Path::new(&dir));
        let _ = rows(&context).sort_by_key().for_each(|_| {
            println!("spilled");
            loop {
                std::thread::park();
            }
        });
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let foreign = dir.path().join("notes.txt");
    std::fs::write(&foreign, "mine").unwrap();
    let mut child =
        child::command(NAME, &dir.path().display().to_string()).unwrap().spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("spilled")), "the child has spilled");
    let alive = limited(2 * MIB, dir.path());
    let theirs = files_below(dir.path()).len();
    assert!(theirs > 3, "files of a process that is alive stay: {theirs}");
    drop(alive);
    assert!(files_below(dir.path()).len() > 2);
    // SIGKILL: nothing in the child can clean up.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(files_below(dir.path()).len() > 2, "the child's files are left behind");
    let context = limited(2 * MIB, dir.path());
    let left = files_below(dir.path());
    assert!(
        left.len() == 2 && left.contains(&foreign),
        "this one's mark and the foreign file: {left:?}"
    );
    sorts_right(&context);
    drop(context);
    assert_eq!(files_below(dir.path()), std::slice::from_ref(&foreign));
    assert_eq!(std::fs::read_to_string(foreign).unwrap(), "mine");
}
