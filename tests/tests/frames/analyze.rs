//! What running a plan took: known numbers of rows, in this process and in others; spills and their causes.

use millstream::functions::{col, count_star};
use millstream::{Analysis, Context, DataFrame, JoinStrategy, JoinType, OperatorFigures};
use millstream_tests::executors;

const IDS: i64 = 30_000;
const GROUPS: i64 = 100;

fn context(master: &str, memory: u64) -> Context {
    let builder = Context::builder().app_name("analyze").quiet(true).master(master);
    builder.memory_limit(memory).executor_args(executors::ARGS).build().unwrap()
}

/// All ids joined with each second id, the pairs counted by the last two digits.
fn join_and_group(context: &Context) -> DataFrame {
    let context = context.with_partitions(4);
    let ids = context.frame_range(0, IDS, 4);
    let even = context.frame_range(0, IDS / 2, 3).select([(col("id") * 2).alias("id")]);
    ids.join_with(&even, ["id"], JoinType::Inner, Some(JoinStrategy::Hash))
        .group_by([(col("id") % GROUPS).alias("key")])
        .agg([count_star().alias("count")])
}

fn operators<'a>(
    analysis: &'a Analysis,
    name: &'a str,
) -> impl Iterator<Item = &'a OperatorFigures> {
    let all = analysis.stages.iter().flat_map(|stage| &stage.operators);
    all.filter(move |operator| operator.name == name)
}

fn rows(analysis: &Analysis, name: &str) -> Vec<u64> {
    let mut rows: Vec<u64> = operators(analysis, name).map(|operator| operator.rows).collect();
    rows.sort_unstable();
    rows
}

fn check_rows(analysis: &Analysis) {
    let (ids, even) = (IDS as u64, IDS as u64 / 2);
    assert_eq!(rows(analysis, "scan"), [even, ids], "{analysis}");
    assert_eq!(rows(analysis, "hash join"), [even], "{analysis}");
    // Of an even number, the last two digits are one of fifty. Each task makes groups of its own first.
    assert_eq!(rows(analysis, "final aggregate"), [50], "{analysis}");
    assert_eq!(rows(analysis, "partial aggregate"), [50 * 4], "{analysis}");
    let mut inputs = rows(analysis, "input");
    inputs.retain(|rows| *rows != 50 * 4);
    assert_eq!(inputs, [even, ids], "{analysis}");
    let result = &analysis.stages[0];
    assert_eq!((result.output.name, result.output.rows), ("result", 50), "{analysis}");
    assert!(analysis.stages.iter().all(|stage| stage.tasks > 0), "{analysis}");
    assert!(analysis.stages.iter().all(|stage| stage.task_max >= stage.task_median), "{analysis}");
    let scans = operators(analysis, "scan");
    assert!(scans.into_iter().all(|scan| scan.bytes == 8 * scan.rows), "{analysis}");
}

#[test]
fn figures_are_those_of_all_tasks() {
    let context = context("local[2]", 256 << 20);
    let analysis = join_and_group(&context).explain_analyze().unwrap();
    check_rows(&analysis);
}

#[test]
fn figures_come_from_other_processes() {
    let context = context("local-cluster[2,1,256m]", 256 << 20);
    check_rows(&join_and_group(&context).explain_analyze().unwrap());
}

#[test]
fn spills_are_told_with_their_cause() {
    let context = context("local[1]", 2 << 20).with_partitions(1);
    let numbers = context.frame_range(0, 200_000, 1);
    let sorted = numbers.select([(col("id") * 7919 % 200_000).alias("id")]).sort(["id"]);
    let analysis = sorted.explain_analyze().unwrap();
    let sort = operators(&analysis, "sort").next().unwrap();
    assert_eq!(sort.rows, 200_000, "{analysis}");
    assert!(sort.spilled_bytes > 0 && sort.spill_cause.is_some(), "{analysis}");
    assert!(sort.memory_peak > 0 && sort.memory_peak < 4 << 20, "{analysis}");
    assert!(analysis.to_string().contains("[spilled "), "{analysis}");
    let scan = operators(&analysis, "scan").next().unwrap();
    assert_eq!(scan.spilled_bytes, 0, "{analysis}");
}

#[test]
fn looking_for_bounds_is_told_apart() {
    let context = context("local[2]", 256 << 20).with_partitions(3);
    let sorted = context.frame_range(0, IDS, 2).sort([col("id").desc()]);
    let analysis = sorted.explain_analyze().unwrap();
    assert_eq!(rows(&analysis, "scan"), [IDS as u64], "{analysis}");
    assert_eq!(rows(&analysis, "sort"), [IDS as u64], "{analysis}");
    assert!(analysis.stages.iter().any(|stage| !stage.sampling.is_zero()), "{analysis}");
}
