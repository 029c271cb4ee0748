use arrow::array::{Int64Array, StringArray};
use millstream::functions::count;
use millstream::functions::{col, count_star, max_by, min_by, sum};
use millstream::{Context, DataFrame, JoinStrategy, JoinType};

use super::super::context;
use super::{array, frame};

fn keys(context: &Context, keys: Vec<Option<i64>>) -> DataFrame {
    frame(context, vec![("k", array(Int64Array::from(keys)))])
}

fn sorted(frame: &DataFrame) -> Vec<Option<i64>> {
    let rows: Vec<(Option<i64>,)> = frame.sort([col("k")]).collect_rows().unwrap();
    rows.into_iter().map(|(k,)| k).collect()
}

#[test]
fn c001_not_in_is_three_valued() {
    let context = context();
    let t = keys(&context, vec![Some(1), Some(2), Some(3), None]);
    let s = keys(&context, vec![Some(2), None]);
    let empty = s.filter(col("k").gt(100));
    assert_eq!(sorted(&t.not_in("k", &s)), []);
    assert_eq!(sorted(&t.not_in("k", &empty)), [None, Some(1), Some(2), Some(3)]);
    assert_eq!(sorted(&t.join(&s, ["k"], JoinType::LeftAnti)), [None, Some(1), Some(3)]);
    let without = s.filter(col("k").is_not_null());
    assert_eq!(sorted(&t.not_in("k", &without)), [Some(1), Some(3)]);
}

#[test]
fn c003_not_in_over_several_tasks_gives_each_row_once() {
    for partitions in [1, 4, 16] {
        let context = context().with_partitions(partitions);
        let t = context.frame_range(0, 20, 4).select([col("id").alias("k")]);
        let with_null = keys(&context, vec![Some(2), Some(4), Some(6), Some(8), None]);
        assert_eq!(t.not_in("k", &with_null).count().unwrap(), 0);
        let without = keys(&context, vec![Some(2), Some(4), Some(6), Some(8)]);
        assert_eq!(t.not_in("k", &without).count().unwrap(), 16);
    }
}

#[test]
fn c005_not_in_of_files_sees_their_nulls() {
    let dir = tempfile::tempdir().unwrap();
    let context = context();
    let write = |name: &str, rows: Vec<Option<i64>>| {
        let path = dir.path().join(name);
        keys(&context, rows).write().parquet(&path).unwrap();
        context.read().parquet(&path).unwrap()
    };
    let t = write("t", vec![Some(1), Some(2), Some(3)]);
    let s = write("s", vec![Some(2), None]);
    assert_eq!(t.not_in("k", &s).count().unwrap(), 0);
    assert_eq!(t.filter(col("k").gt(0)).not_in("k", &s.filter(col("k").gt(0))).count().unwrap(), 2);
}

#[test]
fn c009_sets_of_rows_take_null_for_equal_to_null() {
    for partitions in [1, 16] {
        let context = context().with_partitions(partitions);
        let with_null = |from: i64, to: i64| {
            let rows = (from..=to).map(Some).chain([None]).collect();
            keys(&context, rows).repartition(partitions)
        };
        let (a, b) = (with_null(1, 1000), with_null(501, 1500));
        assert_eq!(a.intersect(&b).count().unwrap(), 501);
        assert_eq!(a.except(&b).count().unwrap(), 500);
        assert_eq!(a.union(&b).distinct().count().unwrap(), 1501);
    }
}

#[test]
fn c011_null_keys_are_groups() {
    let context = context().with_partitions(2);
    let a = [Some(1), Some(2), Some(3), Some(4), None, None, Some(7), Some(8)];
    let b = [Some(1), None, Some(1), Some(3), None, Some(3), Some(1), Some(3)];
    let c = [4, 5, 6, 3, 0, 2, 0, 0];
    let rows = frame(
        &context,
        vec![
            ("a", array(Int64Array::from(a.to_vec()))),
            ("b", array(Int64Array::from(b.to_vec()))),
            ("c", array(Int64Array::from(c.to_vec()))),
        ],
    );
    let groups = rows.repartition(2).group_by(["a", "b"]).agg([sum(col("c")).alias("c")]);
    assert_eq!(groups.count().unwrap(), 8);
    let total: Vec<(i64,)> = groups.agg([sum(col("c")).alias("c")]).collect_rows().unwrap();
    assert_eq!(total, [(20,)]);
}

#[test]
fn c013_null_is_a_group_of_its_own() {
    let context = context();
    let c = Int64Array::from(vec![Some(0), Some(3), None, Some(1), Some(3)]);
    let s = StringArray::from(vec![Some(""), None, None, Some("a"), Some("")]);
    let rows = frame(&context, vec![("c", array(c)), ("s", array(s))]);
    let counts: Vec<(Option<i64>, i64)> =
        rows.group_by(["c"]).count().sort([col("c")]).collect_rows().unwrap();
    assert_eq!(counts, [(None, 1), (Some(0), 1), (Some(1), 1), (Some(3), 2)]);
    let counts: Vec<(Option<String>, i64)> =
        rows.group_by(["s"]).count().sort([col("s")]).collect_rows().unwrap();
    assert_eq!(counts, [(None, 2), (Some(String::new()), 2), (Some("a".into()), 1)]);
    let truths = rows.select([col("c").eq(3).alias("t")]).group_by(["t"]).count();
    let truths: Vec<(Option<bool>, i64)> = truths.sort([col("t")]).collect_rows().unwrap();
    assert_eq!(truths, [(None, 1), (Some(false), 2), (Some(true), 2)]);
}

#[test]
fn c015_the_smallest_by_null_is_null() {
    let context = context();
    let rows = context
        .from_rows([("a", 1i64, None), ("a", 2, None), ("b", 3, Some(5i64))])
        .unwrap()
        .rename_all(["k", "v", "by"]);
    let smallest = rows
        .group_by(["k"])
        .agg([min_by(col("v"), col("by")).alias("min"), max_by(col("v"), col("by")).alias("max")]);
    let smallest: Vec<(String, Option<i64>, Option<i64>)> =
        smallest.sort([col("k")]).collect_rows().unwrap();
    assert_eq!(smallest, [("a".into(), None, None), ("b".into(), Some(3), Some(3))]);
}

#[test]
fn c017_a_group_that_a_filter_empties_counts_nothing() {
    let context = context();
    let rows =
        context.frame_range(0, 200_000, 4).select([col("id"), (col("id") % 2 * 45 + 5).alias("g")]);
    let counts = rows
        .group_by(["id"])
        .agg([count(col("g")).filter(col("g").lt_eq(13)).alias("n")])
        .group_by([col("id") % 2])
        .agg([sum(col("n")).alias("n"), count_star().alias("groups")]);
    let mut counts: Vec<(i64, i64, i64)> = counts.collect_rows().unwrap();
    counts.sort_unstable();
    assert_eq!(counts, [(0, 100_000, 100_000), (1, 0, 100_000)]);
}

#[test]
fn c021_a_group_of_rows_with_nulls_is_not_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let context = context();
    keys(&context, vec![Some(5), None]).write().parquet(dir.path().join("x")).unwrap();
    let rows = context.read().parquet(&dir.path().join("x")).unwrap();
    assert_eq!(rows.filter(col("k").eq(9).or(col("k").is_null())).count().unwrap(), 1);
}

#[test]
fn c023_keys_of_several_columns_have_edges() {
    let context = context();
    let rows = context
        .from_rows([("ab", "ab"), ("a", "bab"), ("aba", "b")])
        .unwrap()
        .rename_all(["a", "b"]);
    assert_eq!(rows.group_by(["a", "b"]).count().count().unwrap(), 3);
    let rows =
        context.from_rows([(Some(""), None), (None, Some(""))]).unwrap().rename_all(["a", "b"]);
    assert_eq!(rows.group_by(["a", "b"]).count().count().unwrap(), 2);
    let join = rows.join_with(&rows, ["a", "b"], JoinType::Inner, Some(JoinStrategy::Hash));
    assert_eq!(join.count().unwrap(), 0);
}
