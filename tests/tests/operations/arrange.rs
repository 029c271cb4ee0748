//! Operations that rearrange rows and partitions.

use std::collections::BTreeSet;

use millstream::{Context, Error};
use millstream_tests::matrix::Matrix;

use super::bulky;

const N: i64 = 10_000;

#[test]
fn zip_pairs_rows_by_position() {
    let known: Vec<(i64, i64)> = (0..N).map(|n| (n, n * n)).collect();
    Matrix::default().answers(&known, |context, n| {
        let rows = context.range(0..N, n);
        rows.zip(&rows.map(|n| n * n))?.collect()
    });
}

#[test]
fn zip_refuses_what_does_not_fit() {
    let context = Context::builder().task_attempts(1).quiet(true).build().unwrap();
    let error = context.range(0..9, 2).zip(&context.range(0..9, 3)).unwrap_err();
    assert!(matches!(error, Error::Mismatch { operation: "zip", .. }), "{error}");
    let uneven = context.range(0..9, 2).zip(&context.range(0..8, 2)).unwrap().collect();
    assert!(uneven.unwrap_err().to_string().contains("zip"));
}

#[test]
fn zip_partitions_sees_both_sides_at_one_place() {
    let known = (0..N).chain((0..N).map(|n| n * n)).sum::<i64>();
    Matrix::default().answers(&known, |context, n| {
        let (left, right) = (context.range(0..N, n), context.range(0..N, n).map(|n| n * n));
        let sums = left.zip_partitions(&right, |a, b| Some(a.sum::<i64>() + b.sum::<i64>()))?;
        assert_eq!(sums.partitions(), n);
        sums.sum()
    });
    let context = Context::local("zip_partitions").unwrap();
    let (two, three) = (context.range(0..9, 2), context.range(0..9, 3));
    let error = two.zip_partitions(&three, |a, _| a).unwrap_err();
    assert!(matches!(error, Error::Mismatch { operation: "zip_partitions", .. }), "{error}");
}

#[test]
fn zip_with_index_counts_through() {
    let known: Vec<(i64, u64)> = (0..N).filter(|n| n % 3 == 0).zip(0..).collect();
    Matrix::default().answers(&known, |context, n| {
        context.range(0..N, n).filter(|n| n % 3 == 0).zip_with_index().collect()
    });
}

#[test]
fn unique_ids_are_unique() {
    Matrix::default().answers(&(N as usize), |context, n| {
        let rows = context.range(0..N, n).zip_with_unique_id().collect()?;
        assert!(rows.iter().map(|row| row.0).eq(0..N));
        Ok(rows.into_iter().map(|row| row.1).collect::<BTreeSet<u64>>().len())
    });
}

#[test]
fn cartesian_pairs_all() {
    let known = (0..90).flat_map(|a| (0..70).map(move |b| (a, b)));
    Matrix::default()
        .rows(known, |context, n| Ok(context.range(0..90, n).cartesian(&context.range(0..70, 2))));
}

#[test]
fn union_of_many() {
    let known: Vec<i64> = (0..50).flat_map(|n| n..n + 20).collect();
    Matrix::default().answers(&known, |context, n| {
        context.union((0..50).map(|at| context.range(at..at + 20, n))).collect()
    });
}

#[test]
fn coalesce_keeps_the_order() {
    Matrix::default().answers(&(0..N).collect::<Vec<i64>>(), |context, n| {
        let rows = context.range(0..N, n).coalesce(2);
        assert_eq!(rows.partitions(), n.min(2));
        rows.collect()
    });
}

#[test]
fn repartition_keeps_all_rows_and_balances_them() {
    Matrix::spilling().rows(bulky(), |context, n| {
        let rows = context.parallelize(bulky(), n).repartition(7);
        let sizes = rows.glom().map(|part| part.len()).collect()?;
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        assert!(*most as f64 <= *least as f64 * 1.05, "{sizes:?}");
        Ok(rows)
    });
}

#[test]
fn a_sample_repeats_and_is_of_the_size_asked_for() {
    Matrix::default().answers(&true, |context, n| {
        let rows = context.range(0..N, n);
        let sample = rows.sample(0.3, 42).collect()?;
        assert_eq!(sample, rows.sample(0.3, 42).collect()?);
        assert_ne!(sample, rows.sample(0.3, 43).collect()?);
        assert!((2_700..3_300).contains(&sample.len()), "{}", sample.len());
        assert!(sample.is_sorted_by(|a, b| a < b));
        let more = rows.sample_with_replacement(1.5, 42).collect()?;
        assert!((14_000..16_000).contains(&more.len()), "{}", more.len());
        assert!(rows.sample(0.0, 1).is_empty()?);
        Ok(rows.sample(1.0, 1).count()? == N as u64)
    });
}

#[test]
fn take_sample_gives_different_rows_of_the_number_asked_for() {
    Matrix::default().answers(&true, |context, n| {
        let rows = context.range(0..N, n);
        let sample = rows.take_sample(100, 7)?;
        assert_eq!(sample, rows.take_sample(100, 7)?);
        assert_eq!(sample.iter().collect::<BTreeSet<_>>().len(), 100);
        assert!(rows.take_sample(0, 7)?.is_empty());
        Ok(rows.take_sample(usize::MAX / 4, 7)?.len() == N as usize)
    });
}

#[test]
fn random_split_covers_without_overlap() {
    Matrix::default().rows(0..N, |context, n| {
        let parts = context.range(0..N, n).random_split(&[1.0, 2.0, 7.0], 9);
        let sizes = parts.iter().map(|part| part.count()).collect::<Result<Vec<u64>, Error>>()?;
        assert!(
            (800..1_200).contains(&sizes[0]) && (6_600..7_400).contains(&sizes[2]),
            "{sizes:?}"
        );
        Ok(context.union(parts))
    });
}
