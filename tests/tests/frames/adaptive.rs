//! Plans that change while they run: the rules fire in every cell, and the rows and their order are the same in all.

use std::sync::Arc;

use millstream::events::{AdaptiveRule, Event};
use millstream::functions::{col, count_star, lit, sum, when};
use millstream::{Adaptive, Context, DataFrame, Error, JoinType};
use millstream_tests::matrix::Matrix;
use millstream_tests::watch::Watch;

use super::{Item, items};

/// The items, of a number that the planner does not know: it makes 8 partitions of what is exchanged.
fn unknown(context: &Context, parts: u32) -> Result<DataFrame, Error> {
    context.parallelize(items(), parts).to_frame()
}

type Total = (Option<String>, Option<i64>, i64);

fn totals(items: &DataFrame) -> DataFrame {
    items
        .group_by(["kind"])
        .agg([sum(col("size")).alias("size"), count_star().alias("items")])
        .sort([col("kind")])
}

fn known_totals() -> Vec<Total> {
    let mut kinds: Vec<Option<String>> = items().into_iter().map(|item| item.kind).collect();
    kinds.sort();
    kinds.dedup();
    let total = |kind: Option<String>| {
        let of_kind: Vec<Item> = items().into_iter().filter(|item| item.kind == kind).collect();
        (kind, Some(of_kind.iter().filter_map(|item| item.size).sum()), of_kind.len() as i64)
    };
    kinds.into_iter().map(total).collect()
}

#[test]
fn small_partitions_are_read_together() {
    let proof = |event: &Event| {
        matches!(
            event,
            Event::PlanAdapted {
                rule: AdaptiveRule::Coalesce,
                partitions: 8,
                read_as: 1,
                bytes: 1..,
                ..
            }
        )
    };
    Matrix::default().proven_by(proof).answers(&known_totals(), |context, n| {
        totals(&unknown(context, n + 1)?).collect_rows::<Total>()
    });
}

type Pair = (i64, Option<i64>);

/// Each item with the others of its number modulo 50 of which there are few.
fn pairs(context: &Context, parts: u32, kind: JoinType) -> Result<DataFrame, Error> {
    let left = unknown(context, parts)?.select([col("id"), (col("id") % 50).alias("key")]);
    let right = unknown(context, parts)?
        .filter(col("id").lt(40))
        .select([(col("id") % 20).alias("key"), col("id").alias("other")]);
    Ok(left.join_with(&right, ["key"], kind, None).select(["id", "other"]))
}

fn known_pairs(outer: bool) -> Vec<Pair> {
    let pairs = |id: i64| -> Vec<Pair> {
        match id % 50 {
            key @ 0..20 => vec![(id, Some(key)), (id, Some(key + 20))],
            _ if outer => vec![(id, None)],
            _ => Vec::new(),
        }
    };
    (0..1000).flat_map(pairs).collect()
}

#[test]
fn a_join_whose_right_side_is_small_becomes_a_broadcast() {
    let proof = |event: &Event| {
        matches!(
            event,
            Event::PlanAdapted { rule: AdaptiveRule::Broadcast, partitions: 8, read_as: 1, .. }
        )
    };
    for (kind, outer) in [(JoinType::Inner, false), (JoinType::Left, true)] {
        Matrix::default().proven_by(proof).rows(known_pairs(outer), |context, n| {
            let rows = pairs(context, n + 1, kind)?.collect_rows::<Pair>()?;
            Ok(context.parallelize(rows, 1))
        });
    }
}

/// Nothing is small enough for a broadcast, and little makes a partition large.
fn splitting() -> Adaptive {
    Adaptive {
        broadcast_bytes_max: 0,
        skew_factor: 2,
        skew_bytes_min: 4_000,
        ..Adaptive::default()
    }
}

/// Items of which most have one key, with two others of each key.
fn skewed(context: &Context, parts: u32, kind: JoinType) -> Result<DataFrame, Error> {
    let context = context.with_adaptive(splitting());
    let key = when((col("id") % 5).eq(0), col("id")).otherwise(lit(7));
    let left = unknown(&context, parts)?.select([col("id"), key.alias("key")]);
    let right = unknown(&context, parts)?
        .filter(col("id").lt(200))
        .select([(col("id") % 100).alias("key"), col("id").alias("other")]);
    Ok(left.join_with(&right, ["key"], kind, None).select(["id", "other"]))
}

fn known_skewed(outer: bool) -> Vec<Pair> {
    let pairs = |id: i64| -> Vec<Pair> {
        match if id % 5 == 0 { id } else { 7 } {
            key @ 0..100 => vec![(id, Some(key)), (id, Some(key + 100))],
            _ if outer => vec![(id, None)],
            _ => Vec::new(),
        }
    };
    (0..1000).flat_map(pairs).collect()
}

#[test]
fn a_large_partition_of_a_join_is_read_by_several_tasks() {
    let proof = |event: &Event| {
        matches!(event, Event::PlanAdapted { rule: AdaptiveRule::Split, partitions: 8, .. })
    };
    for (kind, outer) in [(JoinType::Inner, false), (JoinType::Left, true)] {
        Matrix::default().proven_by(proof).rows(known_skewed(outer), |context, n| {
            let rows = skewed(context, n + 3, kind)?.collect_rows::<Pair>()?;
            Ok(context.parallelize(rows, 1))
        });
    }
}

fn adapted(event: &Event) -> bool {
    matches!(event, Event::PlanAdapted { .. })
}

fn watched(watch: &Arc<Watch>) -> Context {
    let builder = Context::builder().app_name("adaptive").master("local[2]").quiet(true);
    builder.listener(Arc::clone(watch) as _).build().unwrap()
}

#[test]
fn plans_stay_as_they_are_where_that_was_asked_for() {
    let watch = Watch::new();
    let context = watched(&watch);
    let jobs = || watch.count(|event| matches!(event, Event::JobSubmitted { .. }));
    let rows =
        |context: &Context| totals(&unknown(context, 3).unwrap()).collect_rows::<Total>().unwrap();
    assert_eq!(rows(&context.with_adaptive(Adaptive::off())), known_totals());
    assert_eq!((watch.count(adapted), jobs()), (0, 2), "the bounds of the sort, and the rows");
    assert_eq!(rows(&context.with_partitions(5)), known_totals());
    assert_eq!((watch.count(adapted), jobs()), (0, 4), "no decision, no job");
    let spread = unknown(&context, 3).unwrap().repartition(6).select(["id"]);
    let dir = tempfile::tempdir().unwrap();
    let written = spread.write().parquet(dir.path().join("out")).unwrap();
    assert_eq!((written.files.len(), watch.count(adapted)), (6, 0));
}

#[test]
fn what_has_been_written_for_its_size_is_not_written_again() {
    let watch = Watch::new();
    let context = watched(&watch);
    let rows = pairs(&context, 3, JoinType::Left).unwrap().sort([col("id"), col("other")]);
    assert_eq!(rows.collect_rows::<Pair>().unwrap(), known_pairs(true));
    assert!(watch.count(adapted) > 0);
    let mut written: Vec<_> = watch
        .records()
        .into_iter()
        .filter_map(|record| match record.event {
            Event::TaskFinished { task, .. } => Some((task.stage, task.partition)),
            _ => None,
        })
        .collect();
    let tasks = written.len();
    written.sort();
    written.dedup();
    assert_eq!(written.len(), tasks, "no task has run twice");
}

#[test]
fn a_next_run_decides_by_the_figures_that_the_journal_has_kept() {
    let dir = tempfile::tempdir().unwrap();
    let run = |fails: bool| {
        let watch = Watch::new();
        let context = Context::builder()
            .app_name("adaptive")
            .master("local[2]")
            .quiet(true)
            .journal(dir.path().join("journal"))
            .local_dir(dir.path(), None)
            .listener(Arc::clone(&watch) as _)
            .build()
            .unwrap();
        let items = unknown(&context, 3).unwrap();
        let counts = items.group_by(["kind"]).agg([count_star().alias("items")]);
        let rows = match fails {
            true => counts.select([(col("items") % (col("items") - col("items"))).alias("items")]),
            false => counts.select(["items"]),
        };
        let counts = rows.collect_rows::<(i64,)>();
        let is_measuring =
            |event: &Event| matches!(event, Event::JobSubmitted { name, .. } if name == "exchange");
        let sum = counts.ok().map(|counts| counts.into_iter().map(|(items,)| items).sum::<i64>());
        (sum, watch.count(is_measuring), watch.count(adapted))
    };
    // A journal is kept by a run that ends with a failed job.
    assert_eq!(run(true), (None, 1, 1));
    assert_eq!(run(false), (Some(1000), 0, 1));
}
