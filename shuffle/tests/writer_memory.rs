//! What the map-side writer and the reader of segments hold, by the allocator's own account.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use millstream_shuffle::budget::alloc::{CountingAlloc, thread_live_bytes};
use millstream_shuffle::read::Segment;
use millstream_shuffle::store::{DirSpec, LocalDirs};
use millstream_shuffle::write::{CodecError, PartitionedWriter, RowCodec, WriterConfig};
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: CountingAlloc<System> = CountingAlloc::new(System);

const MIB: i64 = 1 << 20;
const PARTITIONS: u32 = 64;

/// Encodes a line as its bytes and an end, and sees what is live each time it is called.
#[derive(Clone, Default)]
struct Lines {
    most: Arc<AtomicI64>,
    last: Arc<AtomicI64>,
}

impl RowCodec<String> for Lines {
    fn encode(&self, row: &String, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let live = thread_live_bytes();
        self.most.fetch_max(live, Relaxed);
        self.last.store(live, Relaxed);
        out.extend_from_slice(row.as_bytes());
        out.push(b'\n');
        Ok(())
    }
}

fn writer(lines: &Lines) -> (TempDir, PartitionedWriter<String, Lines>) {
    let root = tempfile::tempdir().unwrap();
    let spec = DirSpec { path: root.path().to_owned(), quota_bytes: None };
    let dirs = LocalDirs::open(&[spec], "test").unwrap();
    (root, PartitionedWriter::new(WriterConfig::new(dirs, "out", PARTITIONS), lines.clone()))
}

fn line(i: u32) -> String {
    format!("line {i} with some words behind it, as lines have")
}

fn count_lines(segment: &Segment) -> usize {
    let mut payload = Vec::new();
    let mut lines = 0;
    for partition in 0..segment.partitions() {
        let mut reader = segment.read(partition).unwrap();
        while reader.next_into(&mut payload).unwrap().is_some() {
            lines += payload.iter().filter(|byte| **byte == b'\n').count();
        }
    }
    lines
}

#[test]
fn a_spill_needs_little_and_gives_back_as_it_goes() {
    let lines = Lines::default();
    let before = thread_live_bytes();
    let (_root, mut writer) = writer(&lines);
    (0..400_000).for_each(|i| writer.push(i % PARTITIONS, line(i)).unwrap());
    let full = thread_live_bytes();
    assert!(full - before > 25 * MIB, "the rows are the larger part of what is measured");
    writer.spill().unwrap();
    let most = lines.most.load(Relaxed) - full;
    assert!(most < 3 * MIB, "{most} bytes over what the rows held");
    let last = lines.last.load(Relaxed) - before;
    assert!(last < 4 * MIB, "{last} bytes are held at the last row");
    let after = thread_live_bytes() - before;
    assert!(after < 2 * MIB, "{after} bytes are held after the spill");
}

#[test]
fn a_writer_told_to_spill_stays_within_its_bound() {
    const BOUND: i64 = 8 * MIB;
    let lines = Lines::default();
    let before = thread_live_bytes();
    let (_root, mut writer) = writer(&lines);
    let mut spills = 0;
    for i in 0..400_000 {
        writer.push(i % PARTITIONS, line(i)).unwrap();
        if thread_live_bytes() - before > BOUND {
            writer.spill().unwrap();
            spills += 1;
        }
    }
    assert!(spills >= 3, "{spills} spills");
    let most = lines.most.load(Relaxed) - before;
    assert!(most < BOUND + 3 * MIB, "{most} bytes at most");
    let segment = writer.finish(|_| false).unwrap().segment.unwrap();
    assert_eq!(count_lines(&segment), 400_000);
}

#[test]
fn a_reader_holds_a_window_and_a_block() {
    let (_root, mut writer) = writer(&Lines::default());
    (0..400_000).for_each(|i| writer.push(0, line(i)).unwrap());
    let segment = writer.finish(|_| false).unwrap().segment.unwrap();
    let before = thread_live_bytes();
    let (mut reader, mut payload) = (segment.read(0).unwrap(), Vec::new());
    let mut blocks = 0;
    while reader.next_into(&mut payload).unwrap().is_some() {
        blocks += 1;
        let held = thread_live_bytes() - before;
        assert!(held < MIB, "{held} bytes");
    }
    assert!(blocks > 50);
}
