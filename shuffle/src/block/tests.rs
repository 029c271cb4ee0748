//! Round trips, damage and noise.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::*;

const CODECS: [Codec; 3] = [Codec::None, Codec::Lz4, Codec::Zstd];

fn encode(codec: Codec, payload: &[u8], rows: u32) -> Vec<u8> {
    let mut out = Vec::new();
    BlockEncoder::new(codec).unwrap().encode(payload, rows, &mut out).unwrap();
    out
}

fn decode(bytes: &[u8]) -> Result<(Vec<u8>, u32), BlockError> {
    let mut out = Vec::new();
    let header = BlockDecoder::new().decode_into(bytes, 0, &mut out)?;
    Ok((out, header.rows))
}

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..len).map(|_| rng.random()).collect()
}

#[test]
fn the_format_never_changes_silently() {
    let known = [0xB7, 1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0];
    let block = encode(Codec::Lz4, b"abc", 2);
    assert_eq!(block[..16], known);
    assert_eq!(block[16..20], crc32c::crc32c(&[&known[..], b"abc"].concat()).to_le_bytes());
    assert_eq!(&block[20..], b"abc");
}

#[test]
fn compressible_payloads_shrink_and_noise_is_stored_as_it_is() {
    let text = b"the same words again and again. ".repeat(2000);
    let noise = noise(64_000, 1);
    for codec in [Codec::Lz4, Codec::Zstd] {
        assert!(encode(codec, &text, 1).len() < text.len() / 50);
        assert_eq!(encode(codec, &noise, 1).len(), HEADER_BYTES + noise.len());
    }
    assert_eq!(encode(Codec::None, &text, 1).len(), HEADER_BYTES + text.len());
}

#[test]
fn an_encoder_stops_trying_on_noise_and_starts_again_later() {
    let (noise, text) = (noise(4000, 2), vec![b'x'; 4000]);
    let mut encoder = BlockEncoder::new(Codec::Lz4).unwrap();
    let mut stored_len =
        |payload: &[u8]| encoder.encode(payload, 1, &mut Vec::new()).unwrap().stored_len as usize;
    assert_eq!(stored_len(&noise), 4000);
    // The next four are not tried, although they would shrink; the fifth is.
    for _ in 0..4 {
        assert_eq!(stored_len(&text), 4000);
    }
    assert!(stored_len(&text) < 100);
}

#[test]
fn a_flipped_bit_anywhere_is_an_error() {
    for codec in CODECS {
        let block = encode(codec, &b"some rows, some rows, some rows; ".repeat(8), 3);
        for at in 0..block.len() {
            for bit in 0..8 {
                let mut damaged = block.clone();
                damaged[at] ^= 1 << bit;
                assert!(decode(&damaged).is_err(), "byte {at} bit {bit}");
            }
        }
    }
}

#[test]
fn a_block_cut_anywhere_is_truncated() {
    let block = encode(Codec::Lz4, &b"some rows ".repeat(30), 3);
    for len in 0..block.len() {
        assert!(matches!(
            decode(&block[..len]),
            Err(BlockError::Truncated { at: 0, found, .. }) if found == len as u64
        ));
    }
}

/// A block with any header, under a checksum that holds.
fn forged(method: u8, raw_len: u32, stored: &[u8]) -> Vec<u8> {
    let stored_len = stored.len() as u32;
    let mut bytes = [0; HEADER_BYTES];
    BlockHeader { method, rows: 1, raw_len, stored_len, crc: 0 }.seal(&mut bytes, stored);
    [&bytes[..], stored].concat()
}

#[test]
fn lengths_are_bounded_even_under_a_good_checksum() {
    let over = BLOCK_BYTES_MAX as u32 + 1;
    assert!(matches!(
        decode(&forged(codec::LZ4, over, b"x")),
        Err(BlockError::Header { field: "raw length", .. })
    ));
    assert!(matches!(
        decode(&forged(codec::PLAIN, 5, b"x")),
        Err(BlockError::Header { field: "stored length", .. })
    ));
    assert!(matches!(
        decode(&forged(3, 1, b"x")),
        Err(BlockError::Header { field: "codec", found: 3, .. })
    ));
}

#[test]
fn a_payload_over_the_limit_is_refused() {
    let payload = vec![0; BLOCK_BYTES_MAX + 1];
    let mut out = b"before".to_vec();
    let refused = BlockEncoder::new(Codec::None).unwrap().encode(&payload, 1, &mut out);
    assert_eq!(refused, Err(BlockError::TooLarge { bytes: BLOCK_BYTES_MAX + 1 }));
    assert_eq!(out, b"before");
}

proptest! {
    #[test]
    fn every_payload_comes_back(
        payloads in prop::collection::vec(
            (prop::collection::vec(0u8..6, 0..3000), any::<u32>()), 1..8),
        codec in prop::sample::select(&CODECS[..]),
    ) {
        let mut encoder = BlockEncoder::new(codec).unwrap();
        let mut bytes = Vec::new();
        for (payload, rows) in &payloads {
            encoder.encode(payload, *rows, &mut bytes).unwrap();
        }
        let (mut decoder, mut out, mut at) = (BlockDecoder::new(), Vec::new(), 0);
        for (payload, rows) in &payloads {
            let header = decoder.decode_into(&bytes[at..], at as u64, &mut out).unwrap();
            prop_assert_eq!(&out, payload);
            prop_assert_eq!(header.rows, *rows);
            at += header.block_len();
        }
        prop_assert_eq!(at, bytes.len());
    }

    #[test]
    fn noise_is_an_error_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn noise_under_a_good_checksum_never_panics(
        stored in prop::collection::vec(any::<u8>(), 0..200),
        raw_len in 0u32..100_000,
        method in 1u8..=2,
    ) {
        if let Ok((out, _)) = decode(&forged(method, raw_len, &stored)) {
            prop_assert_eq!(out.len(), raw_len as usize);
        }
    }
}
