//! Sorting: global order, stability, and order within partitions.

use std::cmp::Reverse;

use millstream_tests::matrix::Matrix;

use super::{bulky, scatter};

#[test]
fn sort_by_key_is_stable() {
    let mut known = bulky();
    known.sort_by_key(|row| row.0);
    Matrix::spilling().answers(&known, |context, partitions| {
        context.parallelize(bulky(), partitions).sort_by_key().collect()
    });
    Matrix::spilling().answers(&known, |context, partitions| {
        let sorted = context.parallelize(bulky(), partitions).with_partitions(5).sort_by_key();
        assert_eq!(sorted.partitions(), 5);
        sorted.collect()
    });
}

#[test]
fn a_descending_sort_is_stable_too() {
    let mut known = bulky();
    known.sort_by_key(|row| Reverse(row.0));
    Matrix::spilling().answers(&known, |context, partitions| {
        context.parallelize(bulky(), partitions).sort_by_key_descending().collect()
    });
    Matrix::spilling().answers(&known, |context, partitions| {
        context.parallelize(bulky(), partitions).sort_by_descending(|row| row.0).collect()
    });
}

#[test]
fn sort_by_a_computed_key() {
    let mut known = bulky();
    known.sort_by_key(|row| scatter(row.0) % 100);
    Matrix::spilling().answers(&known, |context, partitions| {
        context.parallelize(bulky(), partitions).sort_by(|row| scatter(row.0) % 100).collect()
    });
    Matrix::spilling().answers(&known, |context, partitions| {
        let rows = context.parallelize(bulky(), partitions);
        rows.sort_by_with(100, |modulus, row| scatter(row.0) % modulus).collect()
    });
}

#[test]
fn sorting_equal_and_sorted_rows() {
    let equal: Vec<(u8, u32)> = (0..20_000).map(|n| (7, n)).collect();
    Matrix::default().answers(&equal, |context, partitions| {
        context.parallelize(equal.clone(), partitions).sort_by_key().collect()
    });
    let sorted: Vec<(u32, ())> = (0..20_000).map(|n| (n, ())).collect();
    Matrix::default().answers(&sorted, |context, partitions| {
        context.parallelize(sorted.clone(), partitions).sort_by_key().collect()
    });
    Matrix::default().answers(&Vec::new(), |context, _| {
        context.empty::<(u32, ())>().with_partitions(4).sort_by_key().collect()
    });
}

#[test]
fn sort_within_partitions_moves_nothing() {
    Matrix::default().answers(&true, |context, partitions| {
        let rows = context.parallelize(bulky(), partitions);
        let mut known = rows.glom().collect()?;
        known.iter_mut().for_each(|part| part.sort_by_key(|row| row.0));
        Ok(rows.sort_within_partitions().glom().collect()? == known)
    });
}

#[test]
fn repartition_and_sort_within_partitions() {
    Matrix::spilling().answers(&true, |context, partitions| {
        let rows = context.parallelize(bulky(), partitions);
        let mut known = rows.partition_by(4).glom().collect()?;
        known.iter_mut().for_each(|part| part.sort_by_key(|row| row.0));
        Ok(rows.repartition_and_sort_within_partitions(4).glom().collect()? == known)
    });
}
