//! Joins, cogroup and the sets.

use std::collections::{BTreeMap, BTreeSet};

use millstream_tests::matrix::Matrix;

use super::{grouped, scatter};

type Row = (u32, String);

/// 20,000 rows; the keys divisible by three are this side's alone.
fn left() -> Vec<Row> {
    (0..20_000u32).map(|n| (scatter(n) % 9_000 / 3 * 3, format!("l{n:0>60}"))).collect()
}

/// 20,000 rows; some keys are divisible by three, most are not.
fn right() -> Vec<Row> {
    (0..20_000u32).map(|n| (scatter(n + 7) % 9_000 / 2 * 2, format!("r{n:0>60}"))).collect()
}

/// Each key with the values of both sides.
fn sides() -> BTreeMap<u32, (Vec<String>, Vec<String>)> {
    let (mut l, mut r) = (grouped(left()), grouped(right()));
    let keys: BTreeSet<u32> = l.keys().chain(r.keys()).copied().collect();
    let mut value = |key| (l.remove(&key).unwrap_or_default(), r.remove(&key).unwrap_or_default());
    keys.into_iter().map(|key| (key, value(key))).collect()
}

/// The pairs of a full outer join.
fn full() -> Vec<(u32, (Option<String>, Option<String>))> {
    fn some(values: Vec<String>) -> Vec<Option<String>> {
        match values.is_empty() {
            true => vec![None],
            false => values.into_iter().map(Some).collect(),
        }
    }
    let mut rows = Vec::new();
    for (key, (l, r)) in sides() {
        let r = some(r);
        for l in some(l) {
            rows.extend(r.iter().map(|r| (key, (l.clone(), r.clone()))));
        }
    }
    rows
}

#[test]
fn inner_join() {
    let known = full().into_iter().filter_map(|(key, (l, r))| Some((key, (l?, r?))));
    Matrix::spilling().rows(known, |context, n| {
        Ok(context.parallelize(left(), n).join(&context.parallelize(right(), 4)))
    });
}

#[test]
fn left_outer_join() {
    let known = full().into_iter().filter_map(|(key, (l, r))| Some((key, (l?, r))));
    Matrix::spilling().rows(known, |context, n| {
        Ok(context.parallelize(left(), n).left_outer_join(&context.parallelize(right(), 4)))
    });
}

#[test]
fn right_outer_join() {
    let known = full().into_iter().filter_map(|(key, (l, r))| Some((key, (l, r?))));
    Matrix::spilling().rows(known, |context, n| {
        Ok(context.parallelize(left(), n).right_outer_join(&context.parallelize(right(), 4)))
    });
}

#[test]
fn full_outer_join() {
    Matrix::spilling().rows(full(), |context, n| {
        Ok(context.parallelize(left(), n).full_outer_join(&context.parallelize(right(), 4)))
    });
}

#[test]
fn a_join_of_co_partitioned_sides_moves_nothing_and_agrees() {
    Matrix::spilling().rows(full(), |context, n| {
        let left = context.parallelize(left(), n).partition_by(n);
        let right = context.parallelize(right(), 4).partition_by(n);
        Ok(left.full_outer_join(&right))
    });
}

#[test]
fn cogroup() {
    Matrix::spilling().rows(sides(), |context, n| {
        Ok(context.parallelize(left(), n).cogroup(&context.parallelize(right(), 4)))
    });
}

#[test]
fn subtract_by_key_and_semi_join_split_a_side() {
    let keys: BTreeSet<u32> = right().into_iter().map(|row| row.0).collect();
    let (inside, outside): (Vec<Row>, Vec<Row>) =
        left().into_iter().partition(|row| keys.contains(&row.0));
    Matrix::spilling().rows(outside, |context, n| {
        Ok(context.parallelize(left(), n).subtract_by_key(&context.parallelize(right(), 4)))
    });
    Matrix::spilling().rows(inside, |context, n| {
        Ok(context.parallelize(left(), n).semi_join(&context.parallelize(right(), 4)))
    });
}

#[test]
fn joins_with_an_empty_side() {
    let rows = [(1, 'a'), (1, 'b'), (2, 'c')];
    let outer: Vec<(i32, (char, Option<char>))> =
        rows.iter().map(|(key, value)| (*key, (*value, None))).collect();
    Matrix::default().rows(outer, |context, n| {
        Ok(context.parallelize(rows, n).left_outer_join(&context.empty()))
    });
    Matrix::default().rows([], |context, n| {
        Ok(context.parallelize(rows, n).join(&context.empty::<(i32, char)>()))
    });
    Matrix::default().rows(rows, |context, n| {
        Ok(context.parallelize(rows, n).subtract_by_key(&context.empty::<(i32, ())>()))
    });
}

#[test]
fn sets() {
    let row = |n: u32| format!("{:0>60}", scatter(n));
    let a: Vec<String> = (0..40_000).map(|n| row(n % 30_000)).collect();
    let b: Vec<String> = (20_000..60_000).map(row).collect();
    let (set_a, set_b): (BTreeSet<String>, BTreeSet<String>) =
        (a.iter().cloned().collect(), b.iter().cloned().collect());
    Matrix::spilling()
        .rows(set_a.clone(), |context, n| Ok(context.parallelize(a.clone(), n).distinct()));
    Matrix::spilling().rows(set_a.intersection(&set_b).cloned(), |context, n| {
        Ok(context.parallelize(a.clone(), n).intersection(&context.parallelize(b.clone(), 4)))
    });
    let kept: Vec<String> = a.iter().filter(|row| !set_b.contains(*row)).cloned().collect();
    Matrix::spilling().rows(kept, |context, n| {
        Ok(context.parallelize(a.clone(), n).subtract(&context.parallelize(b.clone(), 4)))
    });
    let both: Vec<String> = a.iter().chain(&b).cloned().collect();
    Matrix::default().answers(&both, |context, n| {
        context.parallelize(a.clone(), n).union(&context.parallelize(b.clone(), 4)).collect()
    });
}
