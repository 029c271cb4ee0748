//! The partition hash: a specified function from a key to 64 bits, and from those to a partition.
//!
//! It is not a hash-table hash: tables use a randomly seeded function, placement must repeat
//! from process to process. The two must also be unrelated, or the rows of one partition would
//! crowd into a fraction of the buckets of a table built over them.
//!
//! # Definition (version 1)
//!
//! All arithmetic is on unsigned 64-bit words. `fold(a, b)` is the 128-bit product of `a` and
//! `b`, its low half xor its high half.
//!
//! ```text
//! start             state = SEED
//! integer x         state = fold(state ^ x, MIX)      8 to 64 bits, zero-extended; signed ones
//!                                                     as the unsigned of the same width
//! 128-bit integer   its low word, then its high word
//! bytes b           state = fold(state ^ xxh3_64(b, seed = SEED), MIX)
//! finish            fold(state ^ FINISH, MIX)
//! ```
//!
//! What a *type* feeds in is its [`Hash`] implementation: `&str` and `String`, for one, are
//! their bytes followed by the integer 255. Lengths are 64-bit integers on every machine.
//! Slices of integers reach the hasher as their bytes in memory, hence the check below.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

#[cfg(target_endian = "big")]
compile_error!("the partition hash is defined on little-endian memory");

/// Arbitrary, and private to placement: no hash table is seeded with it.
pub(super) const SEED: u64 = 0x45a3_17f2_9c1e_6b8d;
/// An odd multiplier with an even spread of bits (from the wyhash family of functions).
pub(super) const MIX: u64 = 0xa076_1d64_78bd_642f;
/// Separates finishing from one more integer written.
pub(super) const FINISH: u64 = 0xe703_7ed1_a0b4_28db;

/// A [`Hasher`] of the specified partition hash; see the module's definition.
///
/// Equal sequences of writes give equal hashes in every process and build of this version.
#[derive(Clone, Debug)]
pub struct PartitionHasher {
    state: u64,
}

impl PartitionHasher {
    /// A hasher in its start state.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { state: SEED }
    }
}

impl Default for PartitionHasher {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
pub(super) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for PartitionHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(xxh3_64_with_seed(bytes, SEED));
    }

    #[inline]
    fn write_u8(&mut self, x: u8) {
        self.write_u64(u64::from(x));
    }

    #[inline]
    fn write_u16(&mut self, x: u16) {
        self.write_u64(u64::from(x));
    }

    #[inline]
    fn write_u32(&mut self, x: u32) {
        self.write_u64(u64::from(x));
    }

    #[inline]
    fn write_u64(&mut self, x: u64) {
        self.state = fold(self.state ^ x, MIX);
    }

    #[inline]
    fn write_u128(&mut self, x: u128) {
        self.write_u64(x as u64);
        self.write_u64((x >> 64) as u64);
    }

    #[inline]
    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }

    // By default `write_isize` goes to `write_usize` and sign-extends differently on 32 bits.
    #[inline]
    fn write_isize(&mut self, x: isize) {
        self.write_u64(x as i64 as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        fold(self.state ^ FINISH, MIX)
    }
}

/// The partition hash of one key.
#[inline]
#[must_use]
pub fn partition_hash<K: Hash + ?Sized>(key: &K) -> u64 {
    let mut hasher = PartitionHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// The partition, below `partitions`, of a key with this hash.
///
/// Multiply-shift on the hash's high 32 bits: no division, and the low bits stay independent of
/// the partition for whoever uses them next. `partitions` must not be 0.
#[inline]
#[must_use]
pub fn partition_of(hash: u64, partitions: u32) -> u32 {
    debug_assert!(partitions > 0, "a row cannot go to one of no partitions");
    (((hash >> 32) * u64::from(partitions)) >> 32) as u32
}

/// The least hash of a partition: what [`partition_of`] sends to it lies from there to the first hash of
/// the next one. `partitions` must not be 0.
#[inline]
#[must_use]
pub fn first_hash_of(partition: u32, partitions: u32) -> u64 {
    (u64::from(partition) << 32).div_ceil(u64::from(partitions)) << 32
}

/// The bits under which a double is hashed and grouped: -0.0 is 0.0 and every NaN is one key.
#[inline]
#[must_use]
pub fn canonical_f64_bits(x: f64) -> u64 {
    if x.is_nan() { 0x7ff8_0000_0000_0000 } else { (x + 0.0).to_bits() }
}

/// The bits under which a float is hashed and grouped: -0.0 is 0.0 and every NaN is one key.
#[inline]
#[must_use]
pub fn canonical_f32_bits(x: f32) -> u32 {
    if x.is_nan() { 0x7fc0_0000 } else { (x + 0.0).to_bits() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changing any of these moves rows between partitions of files already written.
    #[test]
    fn golden_values_never_change() {
        let golden: [(u64, u64); 13] = [
            (partition_hash(&0u64), 0xdfd8_44c8_b683_1dec),
            (partition_hash(&1u64), 0x42bf_fb31_b98a_46d0),
            (partition_hash(&u64::MAX), 0x2cb6_c873_9f1a_17b9),
            (partition_hash(&-1i32), 0x9d9d_790d_d278_997b),
            (partition_hash(&(1u128 << 64 | 7)), 0x0d24_eb69_03c0_138d),
            (partition_hash(""), 0xf491_ca5a_db60_8b0e),
            (partition_hash("a"), 0x59d1_32a5_d4b7_7933),
            (partition_hash("sixteen bytes ok"), 0xafa1_db07_ae12_1a6f),
            (partition_hash("the quick brown fox jumps over the lazy dog"), 0xc789_a2da_0278_aa8d),
            (partition_hash(&"x".repeat(1000)), 0xc5d4_05b6_cb75_024b),
            (partition_hash(&(7u32, "seven")), 0x3476_3dcc_c973_ee49),
            (partition_hash(&[1u32, 2, 3][..]), 0xe479_960f_f188_9534),
            (partition_hash(&Some(5i64)), 0xd1f8_ce00_3e33_ef05),
        ];
        let found: Vec<String> = golden.iter().map(|(hash, _)| format!("{hash:#018x}")).collect();
        let known: Vec<String> = golden.iter().map(|(_, hash)| format!("{hash:#018x}")).collect();
        assert_eq!(found, known);
    }

    #[test]
    fn the_definition_holds_for_an_integer() {
        let folded = |a: u64, b: u64| {
            let p = u128::from(a) * u128::from(b);
            (p % (1 << 64)) as u64 ^ (p / (1 << 64)) as u64
        };
        let state = folded(0x45a3_17f2_9c1e_6b8d ^ 42, 0xa076_1d64_78bd_642f);
        let known = folded(state ^ 0xe703_7ed1_a0b4_28db, 0xa076_1d64_78bd_642f);
        assert_eq!(partition_hash(&42u64), known);
        assert_eq!(partition_hash(&42u8), known);
        assert_eq!(partition_hash(&42usize), known);
    }

    #[test]
    fn partitions_cover_their_range_and_no_more() {
        for partitions in [1, 2, 3, 7, 1000, u32::MAX] {
            assert_eq!(partition_of(0, partitions), 0);
            assert_eq!(partition_of(u64::MAX, partitions), partitions - 1);
        }
    }

    #[test]
    fn partitions_begin_at_their_first_hash() {
        for partitions in [1, 2, 3, 7, 17, 1000, 65_537, u32::MAX] {
            assert_eq!(first_hash_of(0, partitions), 0);
            for partition in (1..partitions).step_by(1 + partitions as usize / 50) {
                let first = first_hash_of(partition, partitions);
                assert_eq!(partition_of(first, partitions), partition);
                assert_eq!(partition_of(first - 1, partitions), partition - 1);
            }
        }
    }

    /// Counts of `keys` over 64 partitions must stay within six standard deviations.
    fn assert_even<K: Hash>(keys: impl Iterator<Item = K>) {
        let mut counts = [0f64; 64];
        let mut low_bits = [0f64; 64];
        for key in keys {
            let hash = partition_hash(&key);
            counts[partition_of(hash, 64) as usize] += 1.0;
            // Within one partition, the low bits must still be spread.
            if partition_of(hash, 4) == 0 {
                low_bits[(hash & 63) as usize] += 1.0;
            }
        }
        for counts in [counts, low_bits] {
            let mean = counts.iter().sum::<f64>() / 64.0;
            for count in counts {
                assert!((count - mean).abs() < 6.0 * mean.sqrt(), "{count} against {mean}");
            }
        }
    }

    #[test]
    fn usual_keys_spread_evenly() {
        assert_even(0..100_000u64);
        assert_even((0..100_000u64).map(|i| i << 20));
        assert_even((0..100_000u64).map(|i| i << 44));
        assert_even((0..100_000u64).map(|i| -(i as i64)));
        assert_even((0..100_000u64).map(|i| (i as f64).to_bits()));
        assert_even((0..100_000u32).map(|i| format!("user-{i}")));
        assert_even((0..100_000u32).map(|i| (i % 300, i / 300)));
    }

    #[test]
    fn floats_have_one_zero_and_one_nan() {
        assert_eq!(canonical_f64_bits(-0.0), canonical_f64_bits(0.0));
        assert_eq!(canonical_f64_bits(0.0), 0);
        assert_eq!(canonical_f64_bits(-f64::NAN), canonical_f64_bits(f64::NAN));
        assert_eq!(
            canonical_f64_bits(f64::from_bits(0xfff8_0000_0000_0001)),
            0x7ff8_0000_0000_0000
        );
        assert_eq!(canonical_f64_bits(-1.5), (-1.5f64).to_bits());
        assert_eq!(canonical_f32_bits(-0.0), 0);
        assert_eq!(canonical_f32_bits(-f32::NAN), 0x7fc0_0000);
        assert_eq!(canonical_f32_bits(2.5), 2.5f32.to_bits());
    }
}
