//! Keys that are absent, alike when glued together, or unevenly spread.

use std::collections::{BTreeMap, HashSet};

use millstream_tests::matrix::Matrix;

use super::{MIB, context, limited};

#[test]
fn c009_absent_rows_are_equal_in_sets() {
    let rows = |from: i64, to: i64| (from..=to).map(Some).chain([None]).collect::<Vec<_>>();
    let (a, b) = (rows(1, 1_000), rows(501, 1_500));
    Matrix::default().answers(&(501, 500, 1_501), |context, n| {
        let (a, b) = (context.parallelize(a.clone(), n * 5), context.parallelize(b.clone(), n));
        let both = a.union(&b).distinct().count()?;
        Ok((a.intersection(&b).count()?, a.subtract(&b).count()?, both))
    });
}

#[test]
fn c011_groups_with_absent_key_parts_are_kept() {
    let n = None;
    let rows = [
        ((Some(1), Some(1)), 4),
        ((Some(2), n), 5),
        ((Some(3), Some(1)), 6),
        ((Some(4), Some(3)), 3),
        ((n, n), 2),
        ((n, Some(3)), 1),
        ((Some(7), Some(1)), 0),
        ((Some(8), Some(3)), 0),
    ];
    Matrix::default()
        .rows(rows, |context, n| Ok(context.parallelize(rows, n).reduce_by_key(|a, b| a + b)));
    let groups = context().parallelize(rows, 2).reduce_by_key(|a, b| a + b).collect().unwrap();
    assert_eq!((groups.len(), groups.iter().map(|group| group.1).sum::<i32>()), (8, 21));
}

#[test]
fn c013_absent_is_not_the_default() {
    let numbers = [Some(0), Some(3), None, Some(1), Some(3)];
    Matrix::default().rows([(Some(0), 1), (Some(1), 1), (Some(3), 2), (None, 1)], |context, n| {
        Ok(context.parallelize(numbers, n).map(|key| (key, 1)).reduce_by_key(|a, b| a + b))
    });
    let texts = [Some(String::new()), None, None];
    Matrix::default().rows([(Some(String::new()), 1), (None, 2)], |context, n| {
        Ok(context.parallelize(texts.clone(), n).map(|key| (key, 1)).reduce_by_key(|a, b| a + b))
    });
    let flags = [Some(false), None, None];
    Matrix::default().rows([(Some(false), 1), (None, 2)], |context, n| {
        Ok(context.parallelize(flags, n).map(|key| (key, 1)).reduce_by_key(|a, b| a + b))
    });
}

#[test]
fn c015_min_by_all_null() {
    let rows = [("a", (1, None)), ("a", (2, None)), ("b", (3, Some(5)))];
    let rows = rows.map(|(key, (value, order))| (key.to_owned(), (Some(value), order)));
    Matrix::default().rows([("a".to_owned(), None), ("b".to_owned(), Some(3))], |context, n| {
        let least = context.parallelize(rows.clone(), n).fold_by_key((None, None), lesser);
        Ok(least.map_values(|row| row.0))
    });
}

type Ordered = (Option<i32>, Option<i32>);

/// The row with the smaller order, which is its second part; a row without one never wins.
fn lesser(a: Ordered, b: Ordered) -> Ordered {
    match (a.1, b.1) {
        (Some(x), Some(y)) if y < x => b,
        (Some(_), _) => a,
        (None, Some(_)) => b,
        (None, None) => (None, None),
    }
}

#[test]
fn c017_counts_of_emptied_groups_are_zero() {
    let known = (0..20_000u32).map(|group| (group, u32::from(group % 2 == 0)));
    Matrix::default().rows(known, |context, n| {
        let rows = context.range(0..20_000, n).map(|g| (g as u32, if g % 2 == 0 { 5 } else { 50 }));
        Ok(rows.aggregate_by_key(0u32, |count, g| count + u32::from(g <= 13), |a, b| a + b))
    });
}

#[test]
fn c023_parts_of_a_key_do_not_run_together() {
    let rows =
        [("ab", "ab"), ("a", "bab"), ("aba", "b")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    Matrix::default().rows(rows.clone().map(|key| (key, 1)), |context, n| {
        Ok(context.parallelize(rows.clone(), n).map(|key| (key, 1)).reduce_by_key(|a, b| a + b))
    });
    let rows = [(Some(String::new()), None), (None, Some(String::new()))];
    Matrix::default().rows(rows.clone().map(|key| (key, 1)), |context, n| {
        Ok(context.parallelize(rows.clone(), n).map(|key| (key, 1)).reduce_by_key(|a, b| a + b))
    });
}

#[test]
fn c025_dealing_fills_all_partitions() {
    let parts = context().range(0..1_000, 200).repartition(16).glom().collect().unwrap();
    let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
    let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
    assert!(most as f64 / least as f64 <= 1.5, "{sizes:?}");
    let rows: HashSet<i64> = parts.into_iter().flatten().collect();
    assert_eq!(rows, (0..1_000).collect());
}

#[test]
fn c027_ranges_of_two_columns_are_even() {
    let rows = (0..10_000u32).map(|n| ((n % 2, n / 2 % 5), ()));
    let sorted = context().parallelize(rows, 4).with_partitions(10).sort_by_key();
    let parts = sorted.glom().collect().unwrap();
    let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
    assert_eq!(sizes.len(), 10);
    assert!(sizes.iter().all(|size| (500..=2_000).contains(size)), "{sizes:?}");
    assert!(parts.concat().is_sorted());
}

#[test]
fn c035_the_first_of_a_descending_order_are_there() {
    Matrix::default().answers(&vec![7_999, 7_998, 7_997, 7_996, 7_995], |context, _| {
        context.range(0..8_000, 8).sort_by_descending(|n| *n).take(5)
    });
    let known: Vec<i64> = (0..8_000).rev().collect();
    Matrix::default().answers(&known, |context, _| {
        context.range(0..8_000, 8).sort_by_descending(|n| *n).collect()
    });
}

#[test]
fn c039_groups_of_structs_stay_whole_after_a_spill() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(MIB, dir.path());
    let keys = context.range(0..100_000, 8).map(|n| ((n % 1_000, "x".repeat(40)), vec![n]));
    let groups = keys.reduce_by_key(|mut a, mut b| {
        a.append(&mut b);
        a
    });
    let groups = groups.map_values(|all| all.len()).collect().unwrap();
    assert!(context.metrics().spilled_bytes() > 0);
    let groups: BTreeMap<_, _> = groups.into_iter().collect();
    assert_eq!(groups.len(), 1_000);
    assert!(groups.values().all(|count| *count == 100));
}

#[test]
fn c051_ranges_at_the_edges_of_numbers() {
    let context = context();
    let (start, end) = (1, -1);
    assert_eq!(context.range(start..end, 3).count().unwrap(), 0);
    assert_eq!(
        context.range(i64::MAX - 2..i64::MAX, 3).collect().unwrap(),
        [i64::MAX - 2, i64::MAX - 1]
    );
    assert_eq!(context.range(i64::MIN..i64::MAX, 7).first().unwrap(), Some(i64::MIN));
    let error = context.range(0..3, 1).map(|n| 1 / n).collect().unwrap_err().to_string();
    assert!(error.contains("divide by zero"), "{error}");
}
