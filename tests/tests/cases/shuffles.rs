//! Shuffles: file counts, lost and damaged outputs, duplicate attempts.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use millstream::scheduler::JobError;
use millstream::{Codec, Context, Error, PersistLevel};
use millstream_tests::child;
use millstream_tests::matrix::{Matrix, files_below};

use super::failures::wait_for_tries;
use super::{MIB, builder, limited, scatter};

#[test]
fn c083_maps_times_reducers_are_not_files() {
    const NAME: &str = "shuffles::c083_maps_times_reducers_are_not_files";
    if child::role().is_none() {
        let command = child::command(NAME, "shuffle").unwrap();
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -n 1024 && exec \"$0\" \"$@\""]).arg(command.get_program());
        let output = limited.args(command.get_args()).env(child::ROLE, "shuffle").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let context = limited(32 * MIB, dir.path());
    let rows = context.range(0..400_000, 200).map(|n| (scatter(n as u64), format!("{n:0>100}")));
    assert_eq!(rows.partition_by(1_000).count().unwrap(), 400_000);
    let metrics = context.metrics();
    assert!(metrics.files_created > 0 && metrics.files_created <= 2 * 200 + 10, "{metrics}");
}

static SLOW_MAP: AtomicU32 = AtomicU32::new(0);

#[test]
fn c095_readers_see_one_attempt_of_a_map() {
    let context = builder().build().unwrap();
    // Map 7 waits until its speculative copy runs too; then both write at once, and differently.
    let rows = context.range(0..20_000, 20).map_partitions_with_index(|at, rows| {
        let attempt = match at {
            7 => wait_for_tries(&SLOW_MAP),
            _ => 1,
        };
        let mut rows: Vec<(i64, u32)> = rows.map(|n| (n, attempt)).collect();
        if attempt == 2 {
            rows.reverse();
        }
        rows
    });
    let seen = rows.partition_by(5).collect().unwrap();
    assert_eq!(SLOW_MAP.load(Ordering::SeqCst), 2, "there was a second attempt");
    assert_eq!(seen.iter().map(|row| row.0).collect::<BTreeSet<_>>().len(), 20_000);
    assert_eq!(seen.len(), 20_000);
    let of_map_7 = |row: &&(i64, u32)| (7_000..8_000).contains(&row.0);
    let attempts: HashSet<u32> = seen.iter().filter(of_map_7).map(|row| row.1).collect();
    assert_eq!(attempts.len(), 1, "rows of two attempts are mixed");
}

#[test]
fn a_loop_holds_the_shuffles_of_two_rounds_and_not_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(256 * MIB, dir.path());
    let mut sums = context.range(0..200_000, 4).map(|n| (scatter(n as u64), 1_u64));
    for _ in 0..20 {
        sums = sums.map(|(key, n)| (scatter(key), n + 1)).reduce_by_key(|a, b| a + b);
    }
    assert_eq!(sums.map(|(_, n)| n).reduce(|a, b| a + b).unwrap(), Some(21 * 200_000));
    let metrics = context.metrics();
    assert_eq!(metrics.spilled_bytes(), 0, "{metrics}");
    // A round takes 3 MiB and more, and a task in work as much again.
    assert!(metrics.memory_peak < 24 * MIB, "{metrics}");
}

#[test]
fn what_a_handle_can_read_is_computed_once() {
    let context = builder().build().unwrap();
    let runs = context.accumulator::<u64>();
    let first = context
        .range(0..1_000, 4)
        .map_with(runs.clone(), |runs, n| {
            runs.add(1);
            (n % 100, 1_u64)
        })
        .reduce_by_key(|a, b| a + b);
    let second = first.map(|(key, n)| (key % 10, n)).reduce_by_key(|a, b| a + b);
    assert_eq!(second.count().unwrap(), 10);
    assert_eq!(first.count().unwrap(), 100, "read by a handle");
    // Once there is no such handle, other data that has not been computed yet may refer to it.
    let third = first.map(|(key, n)| (key % 5, n)).reduce_by_key(|a, b| a + b);
    drop(first);
    assert_eq!(second.count().unwrap(), 10);
    assert_eq!(third.count().unwrap(), 5, "read by a reader that was there before");
    assert_eq!(runs.value(), 1_000);
    // Nobody but these two can have a use for it now, and they have outputs of their own.
    let fourth = second.map(|(key, n)| (key % 2, n)).reduce_by_key(|a, b| a + b);
    assert_eq!(fourth.count().unwrap(), 2);
    assert_eq!((second.count().unwrap(), third.count().unwrap()), (10, 5));
    assert_eq!(runs.value(), 1_000);
}

/// The data files of the application whose directory this is, largest first.
fn data_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<(u64, PathBuf)> = files_below(dir)
        .into_iter()
        .map(|path| (path.metadata().unwrap().len(), path))
        .filter(|(len, _)| *len > 1_000)
        .collect();
    files.sort();
    files.into_iter().rev().map(|(_, path)| path).collect()
}

/// Puts half a file in the place of the file.
fn damage(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

#[test]
fn c097_a_damaged_persisted_block_is_computed_again() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(64 * MIB, dir.path());
    let rows = context.range(0..50_000, 4).map(|n| format!("{n:0>20}")).persist(PersistLevel::Disk);
    let known = rows.collect().unwrap();
    let files = data_files(dir.path());
    assert_eq!(files.len(), 4, "{files:?}");
    damage(&files[0]);
    std::fs::remove_file(&files[1]).unwrap();
    for _ in 0..2 {
        assert!(rows.collect().unwrap() == known);
    }
}

static MAPS_RUN: AtomicU32 = AtomicU32::new(0);

#[test]
fn c099_lost_map_outputs_alone_are_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(MIB, dir.path());
    let rows = context.range(0..100_000, 50).map_partitions(|rows| {
        MAPS_RUN.fetch_add(1, Ordering::SeqCst);
        rows.map(|n| (scatter(n as u64), n))
    });
    let spread = rows.partition_by(20);
    let sum = || spread.values().reduce(|a, b| a + b).unwrap();
    assert_eq!(sum(), Some(99_999 * 50_000));
    assert_eq!(MAPS_RUN.load(Ordering::SeqCst), 50);
    let files = data_files(dir.path());
    assert!(files.len() >= 10, "{files:?}");
    std::fs::remove_file(&files[0]).unwrap();
    damage(&files[1]);
    damage(&files[2]);
    assert_eq!(sum(), Some(99_999 * 50_000));
    assert_eq!(MAPS_RUN.load(Ordering::SeqCst), 53);
}

#[test]
fn c103_a_column_absent_in_one_partition() {
    let known: Vec<(i64, Option<i64>)> =
        (0..100).map(|n| (n, (n / 10 != 4).then_some(n))).collect();
    Matrix::default().answers(&known, |context, partitions| {
        let rows = context.range(0..100, 10).map(|n| (99 - n, (n / 10 != 5).then_some(99 - n)));
        rows.with_partitions(partitions).sort_by_key().collect()
    });
}

#[test]
fn c105_partition_counts_may_change_in_every_mode() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        for memory in [MIB, 256 * MIB] {
            let dir = tempfile::tempdir().unwrap();
            let context = builder().memory_limit(memory).local_dir(dir.path(), None).codec(codec);
            let context = context.build().unwrap();
            let rows = context.range(0..50_000, 10).map(|n| (n, n.to_string()));
            let moved = rows.repartition(3).partition_by(17).repartition(1);
            let mut keys = moved.keys().collect().unwrap();
            keys.sort_unstable();
            assert!(keys.into_iter().eq(0..50_000), "{codec:?}, {memory} bytes");
        }
    }
}

static DICE: AtomicI64 = AtomicI64::new(1);

#[test]
fn c113_rows_placed_at_random_are_there_once_after_a_loss() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(MIB, dir.path());
    let placed = context.range(0..40_000, 10).map(|id| {
        let dice = DICE.fetch_add(0x5851_f42d, Ordering::Relaxed);
        (scatter(dice as u64), (id, "x".repeat(50)))
    });
    let spread = placed.indeterminate().partition_by(8);
    let ids = || spread.map(|(_, (id, _))| id).collect();
    let once = |mut ids: Vec<i64>| {
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..40_000), "each id is there once");
    };
    once(ids().unwrap());
    std::fs::remove_file(&data_files(dir.path())[0]).unwrap();
    match ids() {
        Ok(ids) => once(ids),
        Err(Error::Job(JobError::Indeterminate { .. })) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn c115_dealing_again_what_was_dealt_and_cached_repeats() {
    let parts = |slots: u32, memory| {
        let dir = tempfile::tempdir().unwrap();
        let context = Context::builder().master(format!("local[{slots}]")).quiet(true);
        let context = context.memory_limit(memory).local_dir(dir.path(), None).build().unwrap();
        let rows = context.range(0..100_000, 4).map(|x| (x % 1_000, x));
        rows.repartition(113).cache().repartition(239).glom().collect().unwrap()
    };
    let known = parts(1, 256 * MIB);
    assert_eq!(known.iter().flatten().collect::<HashSet<_>>().len(), 100_000);
    for (slots, memory) in [(2, 256 * MIB), (1, MIB), (2, MIB)] {
        assert!(parts(slots, memory) == known, "{slots} slots, {memory} bytes");
    }
}

static MAPS_TRIED: AtomicU32 = AtomicU32::new(0);

#[test]
fn c119_fetches_that_always_fail_end_the_job() {
    let dir = tempfile::tempdir().unwrap();
    let context = builder().master("local[1]").memory_limit(MIB).local_dir(dir.path(), None);
    let context = context.build().unwrap();
    let rows = context.range(0..100_000, 8).map_partitions(|rows| {
        MAPS_TRIED.fetch_add(1, Ordering::SeqCst);
        rows.map(|n| (scatter(n as u64), format!("{n:0>60}")))
    });
    // The first row that a reader gets makes it remove all that it has not read yet.
    let root = dir.path().display().to_string();
    let doomed = rows.partition_by(2).map_with(root, |root, row| {
        data_files(Path::new(root)).iter().for_each(|path| drop(std::fs::remove_file(path)));
        row
    });
    let error = doomed.count().unwrap_err();
    let Error::Job(JobError::StageAttempts { attempts, .. }) = &error else { panic!("{error}") };
    assert!(*attempts >= 2 && MAPS_TRIED.load(Ordering::SeqCst) <= 8 * (*attempts + 1), "{error}");
    assert!(error.to_string().contains("could not be read"), "{error}");
}
