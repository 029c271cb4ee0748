//! Shuffle files of live executors that are damaged or deleted.

use std::path::{Path, PathBuf};

use millstream::events::{Event, FailureKind};
use millstream::{Context, Rdd};
use millstream_tests::matrix::files_below;
use millstream_tests::watch::Watch;

use super::{builder, scatter};

const ROWS: i64 = 60_000;
const MAPS: u32 = 12;

fn spread(context: &Context) -> Rdd<(u64, String)> {
    let rows = context.range(0..ROWS, MAPS).map(|n| (scatter(n as u64), format!("{n:0>80}")));
    rows.partition_by(6)
}

fn demand_all(rows: &Rdd<(u64, String)>) {
    let mut found = rows.collect().unwrap();
    found.sort();
    let mut known: Vec<(u64, String)> =
        (0..ROWS).map(|n| (scatter(n as u64), format!("{n:0>80}"))).collect();
    known.sort();
    assert!(found == known, "{} rows of {}", found.len(), known.len());
}

/// The segments below a directory, in order.
fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut files = files_below(dir);
    files.retain(|path| path.metadata().is_ok_and(|meta| meta.len() > 1_000));
    files.sort();
    files
}

/// Changes one bit in the middle of a file, in place.
fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

/// Runs the maps, does harm to some of their files, and reads them.
fn read_after(damage: impl Fn(&Path), files: usize) {
    let dir = tempfile::tempdir().unwrap();
    let watch = Watch::new();
    // So little memory that all is written.
    let context = builder("local-cluster[2,1,512m]", dir.path(), &watch).memory_limit(1 << 20);
    let context = context.build().unwrap();
    let rows = spread(&context);
    assert_eq!(rows.count().unwrap(), ROWS as u64);
    let all = segments(dir.path());
    assert!(all.len() >= files, "{all:?}");
    let starts = || watch.count(|event| matches!(event, Event::TaskStarted { .. }));
    let before = starts();
    all.iter().take(files).for_each(|path| damage(path));
    demand_all(&rows);
    let fetch =
        |event: &Event| matches!(event, Event::TaskFailed { kind: FailureKind::FetchFailed, .. });
    assert!(watch.count(fetch) > 0, "the damage was found");
    let run = starts() - before;
    assert!(run < (MAPS + 6) as usize + 6 * files, "not all is run again: {run} tasks");
    demand_all(&rows);
}

#[test]
fn a_flipped_bit_is_never_read_as_a_row() {
    read_after(flip, 3);
}

#[test]
fn a_deleted_segment_is_made_again() {
    read_after(|path| std::fs::remove_file(path).unwrap(), 3);
}

#[test]
fn all_segments_damaged_at_once_are_found_out_together() {
    read_after(flip, MAPS as usize);
    read_after(|path| std::fs::remove_file(path).unwrap(), MAPS as usize);
}

#[test]
fn a_segment_cut_short_is_made_again() {
    read_after(|path| std::fs::write(path, "short").unwrap(), 2);
}
