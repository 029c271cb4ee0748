//! Every operation of an `Rdd` through the matrix, against a naive model on vectors and maps.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

millstream_tests::executor_role!();

mod actions;
mod arrange;
mod files;
mod joins;
mod narrow;
mod pairs;
mod random;
mod shared;
mod sorting;

use std::collections::BTreeMap;

/// Pairs that take several times the tiny memory: 40,000 rows of some 100 bytes under 4,000 keys.
fn bulky() -> Vec<(u32, String)> {
    (0..40_000u32).map(|n| (scatter(n) % 4_000, format!("{n:0>64}"))).collect()
}

/// A one-to-one scrambling of numbers.
fn scatter(n: u32) -> u32 {
    n.wrapping_mul(2_654_435_761) ^ (n >> 7)
}

/// The values of each key, in the order of the rows.
fn grouped<V>(rows: impl IntoIterator<Item = (u32, V)>) -> BTreeMap<u32, Vec<V>> {
    let mut groups: BTreeMap<u32, Vec<V>> = BTreeMap::new();
    for (key, value) in rows {
        groups.entry(key).or_default().push(value);
    }
    groups
}
