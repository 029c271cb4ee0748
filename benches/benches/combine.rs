//! `reduce_by_key` on one thread, map side and reduce side, by how often keys recur.

#![expect(clippy::expect_used, reason = "a bench without its context has nothing to measure")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use millstream::{Context, Text};
use millstream_examples::generate::{Letters, Words, write_lines};

const ROWS: i64 = 500_000;

fn context() -> Context {
    let builder = Context::builder().app_name("combine").master("local[1]").quiet(true);
    builder.build().expect("the directory for temporary files takes files")
}

fn integers(criterion: &mut Criterion) {
    let context = context();
    let mut group = criterion.benchmark_group("combine/integers");
    group.sample_size(10).throughput(Throughput::Elements(ROWS as u64));
    for keys in [100i64, 10_000, ROWS] {
        group.bench_function(BenchmarkId::new("keys", keys), |bencher| {
            bencher.iter(|| {
                // Multiplied, so that keys do not come in order.
                let pairs =
                    context.range(0..ROWS, 1).map_with(keys, |keys, n| (n * 7919 % keys, 1u64));
                let counts = pairs.with_partitions(4).reduce_by_key(|a, b| a + b);
                assert_eq!(black_box(counts.count().ok()), Some(keys as u64));
            });
        });
    }
    group.finish();
}

fn words(criterion: &mut Criterion) {
    let context = context();
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = write_lines(&mut Words::new(1, Letters::Latin, 50_000), 8 * ROWS as u64, &mut text);
    let text = String::from_utf8_lossy(&text);
    let words: Vec<Text> = text.split_whitespace().map(Text::from).collect();
    let mut group = criterion.benchmark_group("combine/words");
    group.sample_size(10).throughput(Throughput::Elements(words.len() as u64));
    let rows = context.parallelize(words, 1);
    group.bench_function("zipf", |bencher| {
        bencher.iter(|| {
            let pairs = rows.map(|word| (word, 1u64));
            let counts = pairs.with_partitions(4).reduce_by_key(|a, b| a + b);
            assert!(black_box(counts.count()).is_ok_and(|keys| keys > 0));
        });
    });
    group.finish();
}

criterion_group!(benches, integers, words);
criterion_main!(benches);
