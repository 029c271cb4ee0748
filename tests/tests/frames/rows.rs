//! Orders, limits, sets of rows, lists and samples.

use std::collections::BTreeSet;

use millstream::functions::{col, split};

use super::{check, frame, items};
use millstream_tests::matrix::Matrix;

#[test]
fn rows_are_ordered_over_all_partitions() {
    let mut known: Vec<(Option<i64>, i64)> =
        items().into_iter().map(|item| (item.size, item.id)).collect();
    // NULL is the smallest value, and so the last of a falling order.
    known.sort_by_key(|(size, id)| (std::cmp::Reverse(*size), *id));
    check(&known, |items| items.select(["size", "id"]).sort([col("size").desc(), col("id").asc()]));
}

#[test]
fn the_first_rows_of_an_order_are_found() {
    check(&[(999i64,), (998,), (997,)], |items| {
        items.select(["id"]).sort([col("id").desc()]).limit(3)
    });
}

#[test]
fn a_limit_after_an_order_passes_over_rows() {
    check(&[(4i64,), (5,), (6,)], |items| {
        items.select(["id"]).sort([col("id")]).offset(4).limit(3)
    });
}

#[test]
fn different_rows_are_found_once() {
    let known: BTreeSet<(Option<String>,)> = items().into_iter().map(|item| (item.kind,)).collect();
    let known: Vec<_> = known.into_iter().collect();
    check(&known, |items| items.select(["kind"]).distinct().sort([col("kind")]));
}

#[test]
fn sets_of_rows_are_those_of_sql() {
    let low: Vec<(i64,)> = (0..200).map(|id| (id,)).collect();
    check(&low, |items| {
        let ids = items.select(["id"]);
        let below = ids.filter(col("id").lt(500));
        let above = ids.filter(col("id").gt_eq(200));
        below.except(&above).sort([col("id")])
    });
    let middle: Vec<(i64,)> = (200..500).map(|id| (id,)).collect();
    check(&middle, |items| {
        let ids = items.select(["id"]);
        let below = ids.filter(col("id").lt(500));
        ids.filter(col("id").gt_eq(200)).intersect(&below).sort([col("id")])
    });
}

#[test]
fn unions_take_columns_by_position_or_by_name() {
    let known: Vec<(i64, i64)> = (0..10).flat_map(|id| [(id, 10 - id), (id, 10 - id)]).collect();
    check(&known, |items| {
        let few = items.filter(col("id").lt(10));
        let one = few.select([col("id").alias("a"), (-col("id") + 10).alias("b")]);
        let other = few.select([(-col("id") + 10).alias("b"), col("id").alias("a")]);
        one.union_by_name(&other, false).sort([col("a")])
    });
}

#[test]
fn a_list_becomes_rows() {
    let known: Vec<(i64, String)> = (0..20)
        .filter(|id| id % 8 != 7)
        .flat_map(|id| [(id, "kind".to_owned()), (id, (id % 8).to_string())])
        .collect();
    check(&known, |items| {
        items
            .filter(col("id").lt(20))
            .select([col("id"), split(col("kind"), " ").alias("part")])
            .explode("part")
            .sort([col("id")])
    });
}

#[test]
fn a_sample_is_the_same_whatever_happens() {
    Matrix::default().answers(&true, |context, n| {
        let sample = || frame(context, n)?.sample(0.3, 7).select(["id"]).collect_rows::<(i64,)>();
        let rows = sample()?;
        Ok((200..400).contains(&rows.len()) && rows == sample()?)
    });
}
