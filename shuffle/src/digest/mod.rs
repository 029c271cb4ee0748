//! What a run of rows was, in 24 bytes: the evidence that a second run of a task gave the same.
//!
//! A digest is over the encoded bytes of each row, so it does not depend on how the rows were cut
//! into blocks, spilled or compressed. It tells accidents apart, not forgeries: it is no
//! cryptographic hash, and it does not replace the checksums of blocks.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// The multiplier of the sequence polynomial: it is 5 mod 8, so its powers repeat only after 2⁶².
const SEQUENCE_BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Count, multiset and sequence of rows. With `h₁ … hₙ` the xxh3_64 of each row's encoded bytes,
/// modulo 2⁶⁴:
///
/// ```text
/// multiset = Σ hᵢ              the same for the same rows in any order
/// sequence = Σ hᵢ · B^(n-i)    the same for the same rows in the same order only
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowDigest {
    /// How many rows.
    pub rows: u64,
    /// Which rows, in whatever order.
    pub multiset: u64,
    /// Which rows in which order.
    pub sequence: u64,
}

impl RowDigest {
    /// Adds one row, given its encoded bytes, at the end.
    #[inline]
    pub fn push(&mut self, encoded_row: &[u8]) {
        let hash = xxh3_64(encoded_row);
        self.rows += 1;
        self.multiset = self.multiset.wrapping_add(hash);
        self.sequence = self.sequence.wrapping_mul(SEQUENCE_BASE).wrapping_add(hash);
    }

    /// The digest of rows that lie one after the other, given where each ends. Quicker than a row at a
    /// time as they are encoded: bytes just written are slow to read back in larger pieces.
    #[must_use]
    pub fn of_rows(encoded_rows: &[u8], ends: &[usize]) -> Self {
        let (mut digest, mut start) = (Self::default(), 0);
        for &end in ends {
            digest.push(encoded_rows.get(start..end).unwrap_or_default());
            start = end;
        }
        digest
    }

    /// The digest of these rows followed by `next`'s.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        let shift = wrapping_pow(SEQUENCE_BASE, next.rows);
        Self {
            rows: self.rows.wrapping_add(next.rows),
            multiset: self.multiset.wrapping_add(next.multiset),
            sequence: self.sequence.wrapping_mul(shift).wrapping_add(next.sequence),
        }
    }

    /// One figure for a whole output: which rows each of its partitions has, in which order.
    #[must_use]
    pub fn of_output(partitions: &[Self]) -> NonZeroU64 {
        let bytes: Vec<u8> = partitions
            .iter()
            .flat_map(|partition| [partition.rows, partition.sequence])
            .flat_map(u64::to_le_bytes)
            .collect();
        NonZeroU64::new(xxh3_64(&bytes)).unwrap_or(NonZeroU64::MIN)
    }

    /// True if both are of the same rows, in whatever order.
    #[must_use]
    pub fn same_multiset(&self, other: &Self) -> bool {
        (self.rows, self.multiset) == (other.rows, other.multiset)
    }
}

/// `base` to the power of `exponent`, modulo 2⁶⁴, by squaring.
fn wrapping_pow(mut base: u64, mut exponent: u64) -> u64 {
    let mut power = 1u64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest<'a>(rows: impl IntoIterator<Item = &'a Vec<u8>>) -> RowDigest {
        let mut digest = RowDigest::default();
        for row in rows {
            digest.push(row);
        }
        digest
    }

    #[test]
    fn golden_values_never_change() {
        let known = RowDigest {
            rows: 2,
            multiset: 18_240_999_493_619_776_299,
            sequence: 13_764_245_666_506_251_179,
        };
        assert_eq!(digest(&[b"one".to_vec(), b"two".to_vec()]), known);
        assert_eq!(digest(&[]), RowDigest { rows: 0, multiset: 0, sequence: 0 });
    }

    #[test]
    fn a_row_more_a_row_less_and_a_row_twice_are_seen() {
        let (a, b) = (b"a".to_vec(), b"b".to_vec());
        let base = digest([&a, &b]);
        for other in [digest([&a]), digest([&a, &b, &b]), digest([&a, &a]), digest([&b, &b])] {
            assert!(!base.same_multiset(&other));
            assert_ne!(base.sequence, other.sequence);
        }
        // Where a row ends is part of what it is.
        assert!(
            !digest(&[b"ab".to_vec(), b"c".to_vec()])
                .same_multiset(&digest(&[b"a".to_vec(), b"bc".to_vec()]))
        );
    }

    #[test]
    fn an_output_is_known_by_the_rows_of_each_partition_and_their_order() {
        let (a, b) = (b"a".to_vec(), b"b".to_vec());
        let output = |parts: &[&[&Vec<u8>]]| {
            let parts: Vec<_> = parts.iter().map(|rows| digest(rows.iter().copied())).collect();
            RowDigest::of_output(&parts)
        };
        let base = output(&[&[&a, &b], &[]]);
        assert_eq!(base, output(&[&[&a, &b], &[]]));
        for other in [
            output(&[&[&b, &a], &[]]),
            output(&[&[&a], &[&b]]),
            output(&[&[], &[&a, &b]]),
            output(&[&[&a, &b]]),
        ] {
            assert_ne!(base, other);
        }
    }

    proptest! {
        #[test]
        fn digests_follow_one_another_wherever_the_rows_are_cut(
            rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..50),
            cut in 0usize..50,
        ) {
            let (left, right) = rows.split_at(cut.min(rows.len()));
            prop_assert_eq!(digest(left).then(digest(right)), digest(&rows));
            let ends: Vec<usize> = rows
                .iter()
                .scan(0, |end, row| {
                    *end += row.len();
                    Some(*end)
                })
                .collect();
            prop_assert_eq!(RowDigest::of_rows(&rows.concat(), &ends), digest(&rows));
        }

        #[test]
        fn order_changes_the_sequence_and_not_the_multiset(
            rows in prop::collection::hash_set(prop::collection::vec(any::<u8>(), 0..20), 2..50),
        ) {
            let rows: Vec<_> = rows.into_iter().collect();
            let (there, back) = (digest(&rows), digest(rows.iter().rev()));
            prop_assert!(there.same_multiset(&back));
            prop_assert_ne!(there.sequence, back.sequence);
        }
    }
}
