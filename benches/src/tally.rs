//! What records are checked by: their number and a checksum that does not depend on their order.

use millstream::Accumulate;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Bytes of a record's key.
pub const KEY_LEN: usize = 10;

/// The number of some records and the sum of their hashes. A record lost, doubled or altered shows,
/// whatever the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Records.
    pub records: u64,
    /// The sum of their hashes, which in 128 bits does not overflow.
    pub checksum: u128,
}

impl Tally {
    /// Adds a record.
    #[inline]
    pub fn add(&mut self, key: &[u8], payload: &[u8]) {
        self.records += 1;
        self.checksum += u128::from(xxh3_64_with_seed(payload, xxh3_64(key)));
    }
}

impl Accumulate for Tally {
    fn merge(&mut self, other: Self) {
        self.records += other.records;
        self.checksum += other.checksum;
    }
}

/// The length of the key of a line, which the payload follows: [`KEY_LEN`], or the whole line where it
/// is shorter or a character lies across that place.
#[inline]
#[must_use]
pub fn key_len(line: &[u8]) -> usize {
    match line.get(KEY_LEN) {
        Some(byte) if byte & 0xC0 != 0x80 => KEY_LEN,
        _ => line.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(records: &[(&str, &str)]) -> Tally {
        let mut tally = Tally::default();
        records.iter().for_each(|(key, payload)| tally.add(key.as_bytes(), payload.as_bytes()));
        tally
    }

    #[test]
    fn order_does_not_matter_and_all_else_does() {
        let whole = tally(&[("a", "1"), ("b", "2"), ("a", "1")]);
        assert_eq!(whole, tally(&[("b", "2"), ("a", "1"), ("a", "1")]));
        assert_ne!(whole, tally(&[("a", "1"), ("b", "2"), ("b", "2")]));
        assert_ne!(whole, tally(&[("a", "2"), ("b", "1"), ("a", "1")]));
        assert_ne!(whole, tally(&[("a", "1"), ("b", "2")]));
        let mut merged = tally(&[("a", "1")]);
        merged.merge(tally(&[("a", "1"), ("b", "2")]));
        assert_eq!(merged, whole);
    }

    #[test]
    fn a_key_ends_between_characters() {
        assert_eq!(key_len(b"0123456789abc"), 10);
        assert_eq!(key_len(b"0123"), 4);
        assert_eq!(key_len("012345678éxyz".as_bytes()), 14);
    }
}
