//! Maps that do not give the same rows twice though nobody said so: when outputs of theirs are lost
//! after they were read, what was made of them goes too, or the job fails with their name. Two answers
//! are never mixed.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use millstream::scheduler::JobError;
use millstream::{Context, Error, PartitionRows};
use millstream_tests::matrix::files_below;

const MIB: u64 = 1 << 20;
const ROWS: i64 = 1_000_000;

/// One slot, so that readers come one after the other, and too little memory to keep map outputs.
fn context(dir: &Path) -> Context {
    let builder = Context::builder().app_name("second runs").master("local[1]").quiet(true);
    builder.memory_limit(4 * MIB).local_dir(dir, None).build().unwrap()
}

/// Removes the outputs of the first stage that wrote any.
fn lose_first_maps(dir: &Path) -> usize {
    let stage = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("map-")?.split('-').next()?.parse::<u64>().ok()
    };
    let files = files_below(dir);
    let first = files.iter().filter_map(|path| stage(path)).min();
    let lost: Vec<PathBuf> =
        files.into_iter().filter(|path| first.is_some() && stage(path) == first).collect();
    lost.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    lost.len()
}

/// The rows of a partition, beginning elsewhere at each run.
fn turned(rows: PartitionRows<i64>, runs: &AtomicUsize) -> Vec<i64> {
    let mut rows: Vec<i64> = rows.collect();
    let places = (runs.fetch_add(1, Ordering::SeqCst) * 12_345) % rows.len();
    rows.rotate_left(places);
    rows
}

#[test]
fn readers_of_rows_that_changed_are_rolled_back() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static OPENED: AtomicU32 = AtomicU32::new(0);
    static LOST: AtomicUsize = AtomicUsize::new(0);
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path());
    let dealt = context.range(0..ROWS, 8).map_partitions(|rows| turned(rows, &RUNS)).repartition(7);
    let root = dir.path().to_str().unwrap().to_owned();
    let dealt_again = dealt.map_partitions_with(root, |root, partition, rows| {
        OPENED.fetch_add(1, Ordering::SeqCst);
        if partition == 4 && LOST.load(Ordering::SeqCst) == 0 {
            LOST.store(lose_first_maps(Path::new(root)), Ordering::SeqCst);
        }
        rows
    });
    assert_eq!(dealt_again.repartition(7).distinct().count().unwrap(), ROWS as u64);
    let lost = LOST.load(Ordering::SeqCst);
    assert!(lost >= 6, "hardly any output fits into memory: {lost}");
    assert_eq!(RUNS.load(Ordering::SeqCst), 8 + lost, "what was lost ran again, and nothing else");
    // Partitions 0 to 3 had been made from the first run, and 4 was about to be.
    assert_eq!(OPENED.load(Ordering::SeqCst), 5 + 7, "all of what was read is made again");
}

#[test]
fn a_job_that_has_handed_on_results_of_rows_that_changed_fails_with_their_stage() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path());
    let dealt = context.range(0..ROWS, 8).map_partitions(|rows| turned(rows, &RUNS)).repartition(7);
    let root = dir.path().to_str().unwrap().to_owned();
    let counts = dealt.map_partitions_with(root, |root, partition, rows| {
        if partition == 4 {
            lose_first_maps(Path::new(root));
        }
        [rows.sum::<i64>()]
    });
    let error = counts.collect().unwrap_err();
    let Error::Job(JobError::Indeterminate { name, .. }) = &error else { panic!("{error}") };
    assert!(name.contains("map_partitions"), "{name}");
    assert!(error.to_string().contains("does not give the same rows twice"), "{error}");
}

static LOSSES: AtomicUsize = AtomicUsize::new(0);

/// Loses the maps below partition 4 of a result, once.
fn sums_with_a_loss(context: &Context, dir: &Path, combine: bool) -> i64 {
    LOSSES.store(0, Ordering::SeqCst);
    let rows =
        context.range(0..ROWS, 8).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64), n));
    let placed = match combine {
        true => rows.with_partitions(7).reduce_by_key(|a, b| a + b),
        false => rows.partition_by(7),
    };
    let root = dir.to_str().unwrap().to_owned();
    let sums = placed.map_partitions_with(root, |root, partition, rows| {
        if partition == 4 && LOSSES.load(Ordering::SeqCst) == 0 {
            LOSSES.store(lose_first_maps(Path::new(root)), Ordering::SeqCst);
        }
        [rows.map(|(_, n)| n).sum::<i64>()]
    });
    let total = sums.collect().unwrap().into_iter().sum();
    let lost = LOSSES.load(Ordering::SeqCst);
    assert!(lost >= 6, "hardly any output fits into memory: {lost}");
    total
}

#[test]
fn rows_that_are_the_same_again_are_read_on() {
    // What is combined on the map side depends on memory, and is not taken for another answer.
    for combine in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let total = sums_with_a_loss(&context(dir.path()), dir.path(), combine);
        assert_eq!(total, ROWS * (ROWS - 1) / 2, "combine: {combine}");
    }
}
