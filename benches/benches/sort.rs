//! `sort_by_key` on one thread, in memory and with runs on disk.

#![expect(clippy::expect_used, reason = "a bench without its context has nothing to measure")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use millstream::{Context, Text};
use millstream_examples::generate::{Lines, RECORD_LEN, Records, Rng};

const ROWS: u64 = 200_000;

fn context(memory: u64) -> Context {
    let builder = Context::builder().app_name("sort").master("local[1]").quiet(true);
    let built = builder.memory_limit(memory).build();
    built.expect("the directory for temporary files takes files")
}

/// Records of 100 bytes, as key and payload.
fn records() -> Vec<(Text, Text)> {
    let (mut records, mut line) = (Records::new(1), Vec::with_capacity(RECORD_LEN));
    let record = |_| {
        line.clear();
        records.line(&mut line);
        let line = String::from_utf8_lossy(&line);
        (Text::from(&line[..10]), Text::from(&line[10..]))
    };
    (0..ROWS).map(record).collect()
}

fn sort(criterion: &mut Criterion) {
    let mut rng = Rng::new(1);
    let integers: Vec<(u64, u64)> = (0..ROWS).map(|n| (rng.next_u64(), n)).collect();
    let mut group = criterion.benchmark_group("sort");
    group.sample_size(10).throughput(Throughput::Elements(ROWS));
    for (name, memory) in [("in memory", 1 << 30), ("spilled", 8 << 20)] {
        let context = context(memory);
        let (integers, records) =
            (context.parallelize(integers.clone(), 1), context.parallelize(records(), 1));
        group.bench_function(BenchmarkId::new("integers", name), |bencher| {
            bencher.iter(|| {
                assert_eq!(black_box(integers.sort_by_key().count().ok()), Some(ROWS));
            });
        });
        group.bench_function(BenchmarkId::new("records", name), |bencher| {
            bencher.iter(|| assert_eq!(black_box(records.sort_by_key().count().ok()), Some(ROWS)));
        });
    }
    group.finish();
}

criterion_group!(benches, sort);
criterion_main!(benches);
