use millstream::functions::{col, count_star, lit, repeat, sum};
use millstream::{JoinStrategy, JoinType};

use super::super::{MIB, limited};

#[test]
fn c085_repeated_strings_are_not_blown_up_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(16 * MIB, dir.path());
    let label = millstream::functions::concat([
        repeat(lit("label "), 9),
        (col("id") % 1000).cast(arrow::datatypes::DataType::Utf8View),
    ]);
    let rows = context.frame_range(0, 300_000, 4).select([label.alias("s"), col("id")]);
    let sorted = rows.sort([col("s"), col("id")]);
    assert_eq!(sorted.count().unwrap(), 300_000);
    let first: Vec<(String, i64)> = sorted.limit(1).collect_rows().unwrap();
    assert_eq!(first[0].1, 0);
    let plain = 300_000 * (8 + 57);
    assert!(context.metrics().spilled_bytes() as f64 <= 3.0 * 1.5 * f64::from(plain));
}

#[test]
fn c087_the_first_rows_of_many_spill_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(64 * MIB, dir.path());
    let rows =
        context.frame_range(0, 2_000_000, 8).select([(col("id") * 7919 % 2_000_003).alias("x")]);
    let top: Vec<(i64,)> = rows.sort([col("x").desc()]).limit(10).collect_rows().unwrap();
    assert_eq!(top.len(), 10);
    assert_eq!(context.metrics().spilled_bytes(), 0);
}

#[test]
fn c139_a_sort_above_many_files_finishes_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(16 * MIB, dir.path());
    let parts: Vec<_> = (0..20)
        .map(|n| context.frame_range(n * 10_000, (n + 1) * 10_000, 1).filter(col("id").gt_eq(0)))
        .collect();
    let all = parts[0].union_all(&parts[1..]).repartition(4).sort([col("id").desc()]);
    let first: Vec<(i64,)> = all.limit(1).collect_rows().unwrap();
    assert_eq!(first, [(199_999,)]);
    assert_eq!(all.count().unwrap(), 200_000);
}

#[test]
fn c143_groups_of_one_leading_key_stay_within_memory() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(8 * MIB, dir.path());
    let rows =
        context.frame_range(0, 500_000, 4).select([lit(1i64).alias("a"), col("id").alias("b")]);
    let groups = rows.group_by(["a", "b"]).agg([count_star().alias("n")]);
    let sums: Vec<(i64, i64)> = groups
        .agg([count_star().alias("groups"), sum(col("n")).alias("n")])
        .collect_rows()
        .unwrap();
    assert_eq!(sums, [(500_000, 500_000)]);
}

#[test]
fn c145_a_join_finishes_with_a_side_that_exceeds_memory() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(8 * MIB, dir.path());
    let pad = || repeat(lit("x"), 30).alias("pad");
    let left = context.frame_range(0, 200_000, 4).select([col("id"), pad()]);
    let right = context
        .frame_range(0, 200_000, 4)
        .select([(col("id") + 100_000).alias("id"), repeat(lit("y"), 30).alias("other")]);
    let count =
        |kind| left.join_with(&right, ["id"], kind, Some(JoinStrategy::Hash)).count().unwrap();
    let counts = [
        count(JoinType::Inner),
        count(JoinType::Left),
        count(JoinType::Right),
        count(JoinType::Full),
        count(JoinType::LeftSemi),
        count(JoinType::LeftAnti),
    ];
    assert_eq!(counts, [100_000, 200_000, 200_000, 300_000, 100_000, 100_000]);
}
