//! Encoding and decoding of shuffle blocks, by codec and by how well their bytes compress.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use millstream_examples::generate::{Letters, Rng, Words, write_lines};
use millstream_shuffle::block::{BlockDecoder, BlockEncoder, BlockError, Codec};

const BLOCK_BYTES: usize = 256 << 10;
const CODECS: [(&str, Codec); 3] =
    [("none", Codec::None), ("lz4", Codec::Lz4), ("zstd", Codec::Zstd)];

/// Blocks of text, which shrinks, and of noise, which does not.
fn payloads() -> [(&'static str, Vec<u8>); 2] {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = write_lines(&mut Words::new(1, Letters::Latin, 50_000), BLOCK_BYTES as u64, &mut text);
    let mut rng = Rng::new(1);
    let noise = (0..BLOCK_BYTES / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    [("text", text), ("noise", noise)]
}

fn encode(payload: &[u8], codec: Codec) -> Result<Vec<u8>, BlockError> {
    let mut block = Vec::new();
    BlockEncoder::new(codec)?.encode(payload, 1, &mut block)?;
    Ok(block)
}

fn encoding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("block/encode");
    for (kind, payload) in payloads() {
        group.throughput(Throughput::Bytes(payload.len() as u64));
        for (name, codec) in CODECS {
            let id = BenchmarkId::new(name, kind);
            group.bench_with_input(id, &payload, |bencher, payload| {
                let mut encoder = BlockEncoder::new(codec).ok();
                let mut block = Vec::new();
                bencher.iter(|| {
                    block.clear();
                    let header =
                        encoder.as_mut().map(|encoder| encoder.encode(payload, 1, &mut block));
                    assert!(matches!(black_box(header), Some(Ok(_))));
                });
            });
        }
    }
    group.finish();
}

fn decoding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("block/decode");
    for (kind, payload) in payloads() {
        group.throughput(Throughput::Bytes(payload.len() as u64));
        for (name, codec) in CODECS {
            let block = encode(&payload, codec).unwrap_or_default();
            group.bench_with_input(BenchmarkId::new(name, kind), &block, |bencher, block| {
                let (mut decoder, mut out) = (BlockDecoder::new(), Vec::new());
                bencher.iter(|| assert!(decoder.decode_into(block, 0, &mut out).is_ok()));
                assert_eq!(out, payload);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, encoding, decoding);
criterion_main!(benches);
