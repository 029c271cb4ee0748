//! What a word costs: splitting lines into `Text` words, reading lines, and comparing with the
//! standard library doing the same into `String`.

#![expect(clippy::expect_used, reason = "a bench that cannot read its input has no result")]

use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use millstream::io::text::{LineReader, TextOptions, plan_splits, resolve_inputs};
use millstream::text::{Buffer, Text};
use millstream_examples::generate::Rng;

const LINES: usize = 4096;
const WORDS_PER_LINE: usize = 10;

/// Lines of words of 1 to 13 letters, 7 on average.
fn content() -> String {
    let mut rng = Rng::new(7);
    let mut text = String::new();
    for _ in 0..LINES {
        for word in 0..WORDS_PER_LINE {
            text.push_str(if word == 0 { "" } else { " " });
            for _ in 0..1 + rng.below(13) {
                text.push(char::from(b'a' + rng.below(26) as u8));
            }
        }
        text.push('\n');
    }
    text
}

fn lines(content: &str) -> Vec<Text> {
    let buffer = Buffer::from_string(content.to_owned());
    let mut start = 0;
    let end_of = |line: &str| line.len() + 1;
    let mut lines = Vec::new();
    for line in content.lines() {
        lines.extend(buffer.slice(start, start + line.len()));
        start += end_of(line);
    }
    lines
}

fn words(criterion: &mut Criterion) {
    let content = content();
    let lines = lines(&content);
    let words: Vec<Text> = lines.iter().flat_map(Text::words).collect();
    let mut group = criterion.benchmark_group("words");
    group.throughput(Throughput::Elements(words.len() as u64));
    group.bench_function("text_extend", |bench| {
        let mut out = Vec::with_capacity(words.len());
        bench.iter(|| {
            out.clear();
            lines.iter().for_each(|line| line.words().for_each(|word| out.push(word)));
            black_box(out.len())
        });
    });
    group.bench_function("text_next", |bench| {
        let mut out = Vec::with_capacity(words.len());
        bench.iter(|| {
            out.clear();
            for line in &lines {
                let mut words = line.words();
                out.extend(std::iter::from_fn(|| words.next()));
            }
            black_box(out.len())
        });
    });
    group.bench_function("str_to_string", |bench| {
        let mut out = Vec::with_capacity(words.len());
        bench.iter(|| {
            out.clear();
            out.extend(content.lines().flat_map(str::split_whitespace).map(str::to_owned));
            black_box(out.len())
        });
    });
    let hasher = std::hash::BuildHasherDefault::<xxhash_rust::xxh3::Xxh3Default>::default();
    group.bench_function("hash_xxh3", |bench| {
        bench.iter(|| words.iter().fold(0, |sum, word| sum ^ hasher.hash_one(word)));
    });
    group.bench_function("equal", |bench| {
        bench.iter(|| words.windows(2).filter(|pair| pair[0] == pair[1]).count());
    });
    group.bench_function("sort", |bench| {
        bench.iter(|| {
            let mut sorted = words.clone();
            sorted.sort_unstable();
            black_box(sorted.len())
        });
    });
    group.finish();
}

fn read(criterion: &mut Criterion) {
    let folder = std::env::temp_dir().join(format!("millstream-bench-{}", std::process::id()));
    let content = content().repeat(32);
    std::fs::write(&folder, &content).expect("the temporary folder is writable");
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Bytes(content.len() as u64));
    group.sample_size(20);
    let files = resolve_inputs(&[folder.to_string_lossy().into_owned()]);
    let files: Arc<[_]> = files.expect("the file was just written").into();
    group.bench_function("lines", |bench| {
        bench.iter(|| {
            let splits = plan_splits(&files, Some(1)).into_iter();
            let chunks = splits.flat_map(|split| {
                LineReader::new(Arc::clone(&files), split, TextOptions::default())
            });
            chunks.map(|chunk| chunk.expect("the file is readable").len()).sum::<usize>()
        });
    });
    group.finish();
    let _ = std::fs::remove_file(&folder);
}

criterion_group!(benches, words, read);
criterion_main!(benches);
