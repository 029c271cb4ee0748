use millstream::functions::{FrameBound, col, lit, rank, sum, window};
use millstream::{DataFrame, JoinStrategy, JoinType};

use super::super::context;

fn ids(frame: &DataFrame) -> Vec<i64> {
    frame.collect_rows::<(i64,)>().unwrap().into_iter().map(|(id,)| id).collect()
}

fn one_to_ten() -> DataFrame {
    context().frame_range(1, 11, 1)
}

#[test]
fn c025_rows_are_spread_evenly() {
    let context = context();
    let spread = context.frame_range(0, 1000, 200).repartition(16);
    let sizes = spread.to_rdd::<(i64,)>().unwrap().glom().collect().unwrap();
    let sizes: Vec<usize> = sizes.iter().map(Vec::len).collect();
    assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (16, 1000));
    let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(*most as f64 <= 1.5 * *least as f64, "{sizes:?}");
}

#[test]
fn c027_a_sort_by_two_keys_makes_even_partitions() {
    let context = context().with_partitions(10);
    let rows = context
        .frame_range(0, 10_000, 4)
        .select([(col("id") % 2).alias("a"), (col("id") % 10 % 5).alias("b")])
        .sort([col("a"), col("b")]);
    let parts = rows.to_rdd::<(i64, i64)>().unwrap().glom().collect().unwrap();
    assert_eq!(parts.len(), 10);
    assert!(parts.iter().all(|part| (500..=2000).contains(&part.len())));
    let all: Vec<(i64, i64)> = parts.into_iter().flatten().collect();
    assert!(all.len() == 10_000 && all.is_sorted());
}

#[test]
fn c029_an_order_above_a_limit_orders_what_the_limit_left() {
    let rows = one_to_ten().offset(3).limit(4).sort([col("id")]);
    assert_eq!(ids(&rows), [4, 5, 6, 7]);
}

#[test]
fn c031_a_filter_stays_above_the_first_rows() {
    let rows = one_to_ten().sort([col("id")]).limit(3).filter(col("id").gt(2));
    assert_eq!(ids(&rows), [3]);
}

#[test]
fn c033_groups_of_an_expression_are_not_taken_for_ordered() {
    let rows = context()
        .from_rows([
            (1i64, 1i64, 10i64),
            (1, 2, 20),
            (1, 3, 30),
            (2, 1, 40),
            (2, 2, 50),
            (2, 3, 60),
        ])
        .unwrap()
        .rename_all(["x", "y", "z"])
        .sort([col("x"), col("y")]);
    let sums = rows
        .group_by([col("x"), (col("y") % 2).alias("odd")])
        .agg([sum(col("z")).alias("z")])
        .sort([col("x"), col("odd")]);
    let sums: Vec<(i64, i64, i64)> = sums.collect_rows().unwrap();
    assert_eq!(sums, [(1, 0, 20), (1, 1, 40), (2, 0, 50), (2, 1, 100)]);
}

#[test]
fn c035_the_last_rows_of_many_partitions_are_found() {
    let rows = context().frame_range(0, 8000, 8);
    assert_eq!(ids(&rows.sort([col("id").desc()]).limit(5)), [7999, 7998, 7997, 7996, 7995]);
    assert!(ids(&rows.sort([col("id")])).into_iter().eq(0..8000));
}

#[test]
fn c037_files_in_directories_join() {
    let dir = tempfile::tempdir().unwrap();
    let context = context();
    let rows =
        context.frame_range(0, 8, 2).select([col("id").alias("p"), (col("id") * 10).alias("v")]);
    rows.write().partition_by(&["p"]).parquet(dir.path().join("t")).unwrap();
    let table = context.read().parquet(&dir.path().join("t")).unwrap();
    let other = context.frame_range(0, 8, 3).select([col("id").alias("p")]);
    for strategy in [JoinStrategy::Hash, JoinStrategy::Broadcast, JoinStrategy::Merge] {
        let joined = table.join_with(&other, ["p"], JoinType::Inner, Some(strategy));
        assert_eq!(joined.count().unwrap(), 8);
    }
}

#[test]
fn c041_windows_over_constants_and_nulls() {
    let rows = context().frame_range(1, 4, 2);
    let null = || lit(millstream::functions::Scalar::Null(arrow::datatypes::DataType::Null));
    let ranks =
        rows.select([rank().over(window().partition_by([null()]).order_by([lit(1)])).alias("r")]);
    assert_eq!(ids(&ranks), [1, 1, 1]);
    let all =
        window().order_by([null()]).range(FrameBound::UnboundedPreceding, FrameBound::CurrentRow);
    let sums = rows.select([sum(col("id")).over(all).alias("s")]);
    assert_eq!(ids(&sums), [6, 6, 6]);
}

#[test]
fn c043_unions_match_by_name_or_by_position_as_asked() {
    let context = context();
    let a = context.from_rows([("a", "b")]).unwrap().rename_all(["a", "b"]);
    let b = context.from_rows([("b", "a")]).unwrap().rename_all(["b", "a"]);
    let rows = |frame: DataFrame| frame.collect_rows::<(String, String)>().unwrap();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(rows(a.union_by_name(&b, false)), [pair("a", "b"), pair("a", "b")]);
    assert_eq!(rows(a.union(&b)), [pair("a", "b"), pair("b", "a")]);
}

#[test]
fn c159_a_cached_frame_is_computed_once() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let context = context();
    let counted = millstream::udf("counted", |id: i64| {
        CALLS.fetch_add(1, Ordering::SeqCst);
        id * 2
    })
    .unwrap();
    let base = context.frame_range(0, 100, 2).select([counted.call(["id"]).alias("x")]);
    let base = base.cache().unwrap();
    let rows = base.union_all([&base, &base]);
    assert_eq!(rows.count().unwrap(), 300);
    let sums: Vec<(i64,)> = rows.agg([sum(col("x")).alias("x")]).collect_rows().unwrap();
    assert_eq!(sums, [(29_700,)]);
    assert_eq!(CALLS.load(Ordering::SeqCst), 100);
}
