//! Segment files (written, read, their runs merged) and the merge of sorted sources.
//!
//! Files are in the directory for temporary files, and mostly in the page cache: this is the processor's share.

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use millstream_examples::generate::{Letters, Rng, Words, write_lines};
use millstream_shuffle::block::Codec;
use millstream_shuffle::read::{MergeIter, Segment, SegmentError};
use millstream_shuffle::store::{DirSpec, LocalDirs};
use millstream_shuffle::write::SegmentWriter;
use tempfile::TempDir;

const PARTITIONS: u32 = 16;
const BLOCK_BYTES: u64 = 64 << 10;
/// Rows of a block: the segment takes the number as it is given.
const BLOCK_ROWS: u32 = 1_000;
const ROWS: u64 = 400_000;

type Failure = Box<dyn std::error::Error>;

/// Directories to write to, gone with the value, and a block of text.
struct Setting {
    _root: TempDir,
    dirs: Arc<LocalDirs>,
    payload: Vec<u8>,
}

impl Setting {
    fn new() -> Result<Self, Failure> {
        let root = tempfile::tempdir()?;
        let spec = DirSpec { path: root.path().to_owned(), quota_bytes: None };
        let dirs = LocalDirs::open(&[spec], "benches")?;
        let mut payload = Vec::new();
        write_lines(&mut Words::new(1, Letters::Latin, 50_000), BLOCK_BYTES, &mut payload)?;
        Ok(Self { _root: root, dirs, payload })
    }

    fn bytes(&self, runs: u32) -> u64 {
        u64::from(runs * PARTITIONS) * self.payload.len() as u64
    }

    /// A segment with one block of each partition in each run.
    fn write(
        &self,
        name: &str,
        runs: u32,
        keep_runs: bool,
        codec: Codec,
    ) -> Result<Segment, SegmentError> {
        let mut writer = SegmentWriter::create(&self.dirs, name, PARTITIONS, codec)?;
        if keep_runs {
            writer.keep_runs();
        }
        for _ in 0..runs {
            writer.begin_run();
            for partition in 0..PARTITIONS {
                writer.write_block(partition, &self.payload, BLOCK_ROWS, None)?;
            }
        }
        writer.finish(name)
    }
}

/// Reads every block of every partition; returns the rows.
fn read(segment: &Segment) -> Result<u64, SegmentError> {
    let (mut payload, mut rows) = (Vec::new(), 0);
    for partition in 0..segment.partitions() {
        let mut blocks = segment.read(partition)?;
        while let Some(count) = blocks.next_into(&mut payload)? {
            rows += u64::from(count);
        }
    }
    Ok(rows)
}

fn segments(criterion: &mut Criterion) {
    #[expect(clippy::expect_used, reason = "a bench without its directory has nothing to measure")]
    let setting = Setting::new().expect("the directory for temporary files takes files");
    for (name, runs, keep_runs) in
        [("one run", 1, false), ("64 runs, merged", 64, false), ("64 runs, kept", 64, true)]
    {
        let mut group = criterion.benchmark_group(format!("segment/{name}"));
        group.sample_size(10).throughput(Throughput::Bytes(setting.bytes(runs)));
        for (codec_name, codec) in [("none", Codec::None), ("lz4", Codec::Lz4)] {
            let mut written = 0;
            group.bench_function(BenchmarkId::new("write", codec_name), |bencher| {
                let next_name = || {
                    written += 1;
                    format!("{codec_name}-{runs}-{keep_runs}-{written}")
                };
                let write = |name: String| setting.write(&name, runs, keep_runs, codec);
                // Segments remove their files when dropped, which is not timed.
                bencher.iter_batched(next_name, write, BatchSize::PerIteration);
            });
            let segment =
                setting.write(&format!("{codec_name}-{runs}-{keep_runs}"), runs, keep_runs, codec);
            let rows = u64::from(runs * PARTITIONS * BLOCK_ROWS);
            group.bench_function(BenchmarkId::new("read", codec_name), |bencher| {
                bencher.iter(|| {
                    assert_eq!(segment.as_ref().ok().and_then(|s| read(s).ok()), Some(rows));
                });
            });
        }
        group.finish();
    }
}

/// `sources` sorted vectors with [`ROWS`] rows between them.
fn sorted_sources(sources: u64) -> Vec<Vec<u64>> {
    let mut rng = Rng::new(1);
    let source = |_| {
        let mut rows: Vec<u64> = (0..ROWS / sources).map(|_| rng.next_u64()).collect();
        rows.sort_unstable();
        rows
    };
    (0..sources).map(source).collect()
}

fn merge(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("merge");
    for count in [2, 16, 128] {
        let sources = sorted_sources(count);
        group.throughput(Throughput::Elements(ROWS / count * count));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| {
                let rows =
                    sources.iter().map(|rows| rows.iter().map(|&row| Ok::<u64, Infallible>(row)));
                let merged = MergeIter::new(rows, u64::cmp).flatten();
                black_box(merged.fold(0u64, |sum, row| sum.rotate_left(1) ^ row))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, segments, merge);
criterion_main!(benches);
