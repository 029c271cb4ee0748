//! Joins of all kinds, by all strategies.

use arrow::datatypes::DataType;
use millstream::functions::{
    Expr, Scalar, bool_and, bool_or, col, count_star, lit, repeat, sum, when,
};
use millstream::{Context, DataFrame, JoinStrategy, JoinType};
use millstream_tests::matrix::Matrix;

use super::frame;

const STRATEGIES: [Option<JoinStrategy>; 4] =
    [None, Some(JoinStrategy::Hash), Some(JoinStrategy::Broadcast), Some(JoinStrategy::Merge)];

/// Left: ids 0 to 59, `key` of 0 to 19 or NULL. Right: keys 10 to 29 twice each, and a NULL.
fn sides(items: &DataFrame) -> (DataFrame, DataFrame) {
    let left = items.filter(col("id").lt(60)).select([
        col("id").alias("left"),
        Expr::from(when((col("id") % 21).not_eq(20), col("id") % 21)).alias("key"),
    ]);
    let right = items.filter(col("id").lt(40)).select([
        col("id").alias("right"),
        Expr::from(when(col("id").lt(39), col("id") % 20 + 10)).alias("key"),
    ]);
    (left, right)
}

type Left = (Option<i64>, i64);
type Right = (Option<i64>, i64);

fn left_rows() -> Vec<Left> {
    (0..60).map(|id| ((id % 21 != 20).then_some(id % 21), id)).collect()
}

fn right_rows() -> Vec<Right> {
    (0..40).map(|id| ((id < 39).then_some(id % 20 + 10), id)).collect()
}

type Row = (Option<i64>, Option<i64>);

/// The pairs of `left` and `right` that a join gives, sorted.
fn known(kind: JoinType) -> Vec<Row> {
    let (left, right) = (left_rows(), right_rows());
    let matches = |a: &Option<i64>, b: &Option<i64>| a.is_some() && a == b;
    let mut rows: Vec<Row> = Vec::new();
    for (key, id) in &left {
        let found: Vec<i64> =
            right.iter().filter(|(other, _)| matches(key, other)).map(|(_, id)| *id).collect();
        match kind {
            JoinType::LeftSemi if !found.is_empty() => rows.push((Some(*id), None)),
            JoinType::LeftAnti if found.is_empty() => rows.push((Some(*id), None)),
            JoinType::LeftSemi | JoinType::LeftAnti => {}
            _ if found.is_empty() && matches!(kind, JoinType::Left | JoinType::Full) => {
                rows.push((Some(*id), None));
            }
            _ => rows.extend(found.into_iter().map(|right| (Some(*id), Some(right)))),
        }
    }
    if matches!(kind, JoinType::Right | JoinType::Full) {
        let alone =
            right.iter().filter(|(key, _)| !left.iter().any(|(other, _)| matches(other, key)));
        rows.extend(alone.map(|(_, id)| (None, Some(*id))));
    }
    rows.sort();
    rows
}

fn check(kind: JoinType) {
    let semi = matches!(kind, JoinType::LeftSemi | JoinType::LeftAnti);
    for strategy in STRATEGIES {
        Matrix::default().answers(&known(kind), |context, n| {
            let (left, right) = sides(&frame(context, n)?);
            let joined = left.join_with(&right, ["key"], kind, strategy);
            match semi {
                true => {
                    let rows = joined
                        .select(["left"])
                        .sort([col("left")])
                        .collect_rows::<(Option<i64>,)>()?;
                    Ok(rows.into_iter().map(|(left,)| (left, None)).collect())
                }
                false => joined
                    .select(["left", "right"])
                    .sort([col("left"), col("right")])
                    .collect_rows::<Row>(),
            }
        });
    }
}

#[test]
fn inner() {
    check(JoinType::Inner);
}

#[test]
fn left() {
    check(JoinType::Left);
}

#[test]
fn right() {
    check(JoinType::Right);
}

#[test]
fn full() {
    check(JoinType::Full);
}

#[test]
fn semi() {
    check(JoinType::LeftSemi);
}

#[test]
fn anti() {
    check(JoinType::LeftAnti);
}

#[test]
fn a_condition_is_part_of_the_match() {
    let mut known: Vec<Row> = Vec::new();
    for (key, id) in left_rows() {
        let found: Vec<i64> = right_rows()
            .into_iter()
            .filter(|(other, right)| key.is_some() && *other == key && *right > id)
            .map(|(_, right)| right)
            .collect();
        match found.is_empty() {
            true => known.push((Some(id), None)),
            false => known.extend(found.into_iter().map(|right| (Some(id), Some(right)))),
        }
    }
    known.sort();
    for strategy in STRATEGIES {
        Matrix::default().answers(&known, |context, n| {
            let (left, right) = sides(&frame(context, n)?);
            let condition = col("l.key").eq(col("r.key")).and(col("right").gt(col("left")));
            left.alias("l")
                .join_on_with(&right.alias("r"), condition, JoinType::Left, strategy)
                .select(["left", "right"])
                .sort([col("left"), col("right")])
                .collect_rows::<Row>()
        });
    }
}

#[test]
fn pairs_of_all_rows_are_made() {
    let known: Vec<(i64, i64)> = (0..5).flat_map(|a| (0..7).map(move |b| (a, b))).collect();
    Matrix::default().answers(&known, |context, n| {
        let items = frame(context, n)?;
        let ids = |below: i64, name: &str| {
            items.filter(col("id").lt(below)).select([col("id").alias(name)])
        };
        ids(5, "a").cross_join(&ids(7, "b")).sort([col("a"), col("b")]).collect_rows()
    });
}

#[test]
fn a_side_larger_than_memory_is_joined() {
    Matrix::spilling().answers(&60_000u64, |context, n| {
        let context = context.with_partitions(n);
        let (left, right) = (context.frame_range(0, 60_000, n), context.frame_range(0, 60_000, n));
        let right =
            right.select([(col("id") * 7919 % 60_000).alias("id"), col("id").alias("other")]);
        left.join_with(&right, ["id"], JoinType::Inner, Some(JoinStrategy::Hash)).count()
    });
}

/// Left: ids 20,000 to 39,999, each twice. Right: ids 0 to 39,999, with a text.
fn large_sides(context: &Context, n: u32) -> (DataFrame, DataFrame) {
    let context = context.with_partitions(n);
    let left = context.frame_range(0, 40_000, n).select([
        (col("id").int_div(2i64) + 20_000i64).alias("id"),
        repeat(lit("l"), 20).alias("other"),
    ]);
    let right = context
        .frame_range(0, 40_000, n)
        .select([(col("id") * 7919 % 40_000).alias("id"), repeat(lit("r"), 20).alias("text")]);
    (left, right)
}

#[test]
fn kinds_whose_sides_exceed_memory_keep_their_order() {
    let twice = || (20_000..40_000i64).flat_map(|id| [Some(id); 2]);
    let alone = || (0..20_000i64).map(|_| None);
    let known: [(JoinType, Vec<Option<i64>>); 6] = [
        (JoinType::Inner, twice().collect()),
        (JoinType::Left, twice().collect()),
        (JoinType::Right, twice().chain(alone()).collect()),
        (JoinType::Full, twice().chain(alone()).collect()),
        (JoinType::LeftSemi, twice().collect()),
        (JoinType::LeftAnti, Vec::new()),
    ];
    for (kind, rows) in known {
        Matrix::spilling().rows(rows.into_iter().map(|id| (id,)), |context, n| {
            let (left, right) = large_sides(context, n);
            let condition = col("l.id").eq(col("r.id"));
            let strategy = Some(JoinStrategy::Hash);
            let joined = left.alias("l").join_on_with(&right.alias("r"), condition, kind, strategy);
            joined.select([col("l.id").alias("id")]).to_rdd::<(Option<i64>,)>()
        });
    }
}

#[test]
fn one_broadcast_is_the_table_of_joins_by_different_keys_in_different_stages() {
    // By `a` a row of the table is found for each id below 10, by `b` for each from 995 to 999.
    let known = vec![("a".to_owned(), 10), ("b".to_owned(), 5)];
    Matrix::default().answers(&known, |context, n| {
        let items = frame(context, n)?;
        let ids = items.select(["id"]);
        let table = items
            .filter(col("id").lt(10))
            .select([col("id").alias("a"), (col("id") + 995).alias("b")]);
        let count = |key: &str| {
            let broadcast = Some(JoinStrategy::Broadcast);
            ids.join_on_with(&table, col("id").eq(col(key)), JoinType::Inner, broadcast)
                .group_by([(col("a") - col("a") + col("b") - col("b")).alias("zero")])
                .agg([count_star().alias("rows")])
                .select([lit(key).alias("key"), col("rows")])
        };
        count("a").union(&count("b")).sort([col("key")]).collect_rows::<(String, i64)>()
    });
}

#[test]
fn a_condition_of_null_holds_nowhere() {
    let context = Context::local("null").unwrap();
    let null = || lit(Scalar::Null(DataType::Null));
    let (left, right) = (context.frame_range(0, 3, 2), context.frame_range(0, 4, 2));
    let kinds = [
        (JoinType::Inner, 0),
        (JoinType::Left, 3),
        (JoinType::Right, 4),
        (JoinType::Full, 7),
        (JoinType::LeftSemi, 0),
        (JoinType::LeftAnti, 3),
    ];
    for (kind, rows) in kinds {
        let joined = left.alias("l").join_on(&right.alias("r"), null(), kind);
        assert_eq!(joined.count().unwrap(), rows, "{kind:?}");
        let keyed = col("l.id").eq(col("r.id")).and(null());
        let joined = left.alias("l").join_on(&right.alias("r"), keyed, kind);
        assert_eq!(joined.count().unwrap(), rows, "{kind:?} by keys");
    }
    assert_eq!(left.filter(null()).count().unwrap(), 0);
    let sums = left.agg([sum("id").filter(null()), count_star().filter(null())]);
    assert_eq!(sums.collect_rows::<(Option<i64>, i64)>().unwrap(), [(None, 0)]);
    let known = left.agg([bool_and(null()).alias("all"), bool_or(null()).alias("any")]);
    assert_eq!(known.collect_rows::<(Option<bool>, Option<bool>)>().unwrap(), [(None, None)]);
    let chosen = left.limit(1).select([when(null(), 1i64).otherwise(2i64).alias("n")]);
    assert_eq!(chosen.collect_rows::<(i64,)>().unwrap(), [(2,)]);
}
