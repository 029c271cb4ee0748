//! What it costs to say where a row goes: hash and range partitioning, by kind of key.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use millstream_examples::generate::{Letters, Rng, Words, write_lines};
use millstream_shuffle::partition::{partition_hash, partition_of, range_bounds, range_partition};

const PARTITIONS: u32 = 200;
const KEYS: usize = 100_000;

fn integers() -> Vec<u64> {
    let mut rng = Rng::new(1);
    (0..KEYS).map(|_| rng.next_u64()).collect()
}

fn words() -> Vec<String> {
    let mut text = Vec::new();
    let size = 12 * KEYS as u64;
    // Writing to memory does not fail.
    let _ = write_lines(&mut Words::new(1, Letters::Latin, 50_000), size, &mut text);
    let text = String::from_utf8_lossy(&text);
    text.split_whitespace().take(KEYS).map(str::to_owned).collect()
}

fn hash(criterion: &mut Criterion) {
    let (integers, words) = (integers(), words());
    let mut group = criterion.benchmark_group("partition/hash");
    group.throughput(Throughput::Elements(KEYS as u64));
    group.bench_function("u64", |bencher| {
        bencher.iter(|| place(&integers, |key| partition_of(partition_hash(key), PARTITIONS)));
    });
    group.bench_function("word", |bencher| {
        bencher.iter(|| place(&words, |key| partition_of(partition_hash(key), PARTITIONS)));
    });
    group.finish();
}

fn range(criterion: &mut Criterion) {
    let (integers, words) = (integers(), words());
    let integer_bounds = bounds(&integers);
    let word_bounds = bounds(&words);
    let mut group = criterion.benchmark_group("partition/range");
    group.throughput(Throughput::Elements(KEYS as u64));
    group.bench_function("u64", |bencher| {
        bencher.iter(|| place(&integers, |key| range_partition(&integer_bounds, key)));
    });
    group.bench_function("word", |bencher| {
        bencher.iter(|| place(&words, |key| range_partition(&word_bounds, key)));
    });
    group.finish();
}

fn bounds<K: Ord + Clone>(keys: &[K]) -> Vec<K> {
    range_bounds(keys.iter().map(|key| (key.clone(), 1.0)).collect(), PARTITIONS)
}

/// Places every key; the sum keeps the compiler from leaving any out.
fn place<K>(keys: &[K], partition: impl Fn(&K) -> u32) -> u64 {
    black_box(keys).iter().map(|key| u64::from(partition(key))).sum()
}

criterion_group!(benches, hash, range);
criterion_main!(benches);
