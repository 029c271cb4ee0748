use arrow::datatypes::DataType;
use millstream::functions::{col, concat, count_star, length, lit, lpad, max, repeat, sum};
use millstream::{JoinStrategy, JoinType};
use millstream_tests::child;
use millstream_tests::matrix::files_below;

use super::super::memory::peak_rss;
use super::super::{MIB, context, limited};

#[test]
fn c085_repeated_strings_are_not_blown_up_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(16 * MIB, dir.path());
    let label = concat([repeat(lit("label "), 9), (col("id") % 1000).cast(DataType::Utf8View)]);
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

#[test]
fn c141_groups_that_spill_stay_within_the_limit() {
    const NAME: &str = "frames::memory::c141_groups_that_spill_stay_within_the_limit";
    const GROUPS: i64 = 500_000;
    let Some(limit) = child::role() else {
        for mib in ["8", "16", "32"] {
            let output = child::command(NAME, mib).unwrap().output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        return;
    };
    let limit = limit.parse::<u64>().unwrap() * MIB;
    let dir = tempfile::tempdir().unwrap();
    let context = limited(limit, dir.path());
    let before = peak_rss();
    let key = lpad((col("id") % GROUPS).cast(DataType::Utf8View), 32, "0").alias("key");
    let rows = context.frame_range(0, GROUPS * 2, 8).select([key, col("id")]);
    let groups = rows.group_by(["key"]).agg([count_star().alias("n"), sum("id").alias("ids")]);
    let total = groups.agg([count_star(), max("n"), sum("ids")]);
    let total: Vec<(i64, i64, i64)> = total.collect_rows().unwrap();
    assert_eq!(total, [(GROUPS, 2, GROUPS * (2 * GROUPS - 1))]);
    assert!(context.metrics().spilled_bytes() > 0, "{}", context.metrics());
    let grown = peak_rss() - before;
    assert!(grown <= limit + limit / 20 + 64 * MIB, "{} of {} MiB", grown / MIB, limit / MIB);
}

#[test]
fn c147_what_is_small_in_a_file_and_large_in_memory_is_not_broadcast() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.parquet");
    let context = context();
    let label = concat([repeat(lit("x"), 2_000), (col("id") % 10).cast(DataType::Utf8View)]);
    let rows = context.frame_range(0, 50_000, 1).select([col("id"), label.alias("label")]);
    rows.write().parquet(file.as_path()).unwrap();
    let on_disk: u64 = files_below(&file).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(on_disk < MIB, "{on_disk} bytes in the file, 100 MB in memory");
    let large = context.read().parquet(file.as_path()).unwrap();
    let many = context.frame_range(0, 1_000_000, 4);
    let joined = many.join(&large, ["id"], JoinType::Inner);
    let plan = joined.explain().unwrap();
    assert!(!plan.to_lowercase().contains("broadcast"), "{plan}");
    let lens = joined.agg([count_star(), sum(length("label"))]);
    assert_eq!(lens.collect_rows::<(i64, i64)>().unwrap(), [(50_000, 50_000 * 2_001)]);
    // Without its labels it is small, and is.
    let ids = many.join(&large.select(["id"]), ["id"], JoinType::Inner).explain().unwrap();
    assert!(ids.to_lowercase().contains("broadcast"), "{ids}");
}
