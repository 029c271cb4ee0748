//! Group-by over 50 million rows with few, many and nearly distinct keys: questions 1, 3 and 10 of the h2o.ai
//! database-like ops benchmark.
//!
//! ```text
//! cargo run --release -p millstream-benches --bin group-by -- --queries q1,q3,q10 --memory 512m
//! ```
//!
//! The groups are kept, in memory as far as the limit allows and on disk beyond, and then counted and summed: the
//! checksum. What is known without grouping is checked.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use arrow::datatypes::DataType;
use clap::{Parser, ValueEnum};
use millstream::functions::{
    Expr, avg, col, concat, count_star, floor, lit, lpad, rand, round, sum,
};
use millstream::{Context, DataFrame};
use millstream_benches::error::{BenchError, finish};
use millstream_benches::options::FrameOptions;
use millstream_benches::rss::peak_rss_bytes;

/// Groups rows by few, many and nearly distinct keys.
#[derive(Debug, Parser)]
struct Options {
    /// The rows as Parquet; generated there if there is nothing [default: a directory for temporary files]
    #[arg(long)]
    data: Option<PathBuf>,
    /// How many rows are generated
    #[arg(long, default_value_t = 50_000_000)]
    rows: i64,
    /// These questions only
    #[arg(long, value_delimiter = ',')]
    queries: Vec<Query>,
    /// How often each is run; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    #[command(flatten)]
    frames: FrameOptions,
    /// Print the plans instead of running them
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Query {
    /// 100 groups by a string
    Q1,
    /// A hundredth as many groups as rows, by a string
    Q3,
    /// About as many groups as rows, by six columns
    Q10,
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<String, BenchError> {
    millstream::become_executor_if_asked()?;
    let default = || std::env::temp_dir().join(format!("millstream-groups-{}", options.rows));
    let data = options.data.clone().unwrap_or_else(default);
    if !data.exists() {
        generate(&data, options.rows)?;
    }
    let context = options.frames.builder("group-by").build()?;
    let rows = context.read().parquet(data.as_path())?;
    let queries = match options.queries.as_slice() {
        [] => &[Query::Q1, Query::Q3, Query::Q10],
        some => some,
    };
    for &query in queries {
        if options.explain {
            println!("{query:?}\n{}", groups(query, &rows).explain()?);
            continue;
        }
        let mut seconds = Vec::new();
        for _ in 0..options.runs {
            let started = Instant::now();
            let checksum = checksum(&groups(query, &rows))?;
            seconds.push(started.elapsed().as_secs_f64());
            check(query, &rows, &checksum)?;
            if seconds.len() == 1 {
                print!(
                    "{query:?}: {} groups, sums {:.6e} {:.6e}",
                    checksum.0, checksum.1, checksum.2
                );
            }
        }
        seconds.sort_unstable_by(f64::total_cmp);
        println!(", {:.2} s", seconds[seconds.len() / 2]);
    }
    let rss_mib = peak_rss_bytes().unwrap_or(0) >> 20;
    Ok(format!("peak RSS {rss_mib} MiB\n"))
}

fn groups(query: Query, rows: &DataFrame) -> DataFrame {
    let zero = || sum(lit(0i64)).alias("b");
    match query {
        Query::Q1 => rows.group_by(["id1"]).agg([sum("v1").alias("a"), zero()]),
        Query::Q3 => rows.group_by(["id3"]).agg([sum("v1").alias("a"), avg("v3").alias("b")]),
        Query::Q10 => rows
            .group_by(["id1", "id2", "id3", "id4", "id5", "id6"])
            .agg([sum("v3").alias("a"), count_star().alias("b")]),
    }
}

/// Number of groups and the sums of both aggregates.
type Checksum = (u64, f64, f64);

fn checksum(groups: &DataFrame) -> Result<Checksum, BenchError> {
    let kept = groups.cache()?;
    let double = |name: &str| sum(col(name).cast(DataType::Float64));
    let sums = kept.agg([count_star().alias("n"), double("a").alias("a"), double("b").alias("b")]);
    Ok(sums.collect_rows()?.first().copied().unwrap_or_default())
}

/// The sums over all groups are those over all rows.
fn check(query: Query, rows: &DataFrame, found: &Checksum) -> Result<(), BenchError> {
    let (value, count) = match query {
        Query::Q1 | Query::Q3 => ("v1", None),
        Query::Q10 => ("v3", Some(found.2)),
    };
    let known =
        rows.agg([sum(col(value).cast(DataType::Float64)).alias("sum"), count_star().alias("n")]);
    let known: Vec<(f64, u64)> = known.collect_rows()?;
    let (sum, n) = known.first().copied().unwrap_or_default();
    let right =
        (sum - found.1).abs() <= sum.abs() * 1e-9 && count.is_none_or(|count| count == n as f64);
    match right {
        true => Ok(()),
        false => Err(BenchError::Wrong {
            what: "the sum over all groups",
            expected: format!("{sum} of {n} rows"),
            found: format!("{found:?}"),
        }),
    }
}

/// The benchmark's own data, seeded: keys of 100 and of `rows / 100` values as texts and as numbers.
fn generate(path: &Path, rows: i64) -> Result<(), BenchError> {
    let context = Context::builder().app_name("group-by-data").build()?;
    let number = |seed: i64, values: i64| -> Expr {
        floor(rand(seed) * values as f64).cast(DataType::Int64) + 1i64
    };
    let text = |seed: i64, values: i64, width: i64| {
        concat([lit("id"), lpad(number(seed, values).cast(DataType::Utf8View), width, "0")])
    };
    let many = (rows / 100).max(1);
    let table = context.frame_range(0, rows, 16).select([
        text(1, 100, 3).alias("id1"),
        text(2, 100, 3).alias("id2"),
        text(3, many, 10).alias("id3"),
        number(4, 100).alias("id4"),
        number(5, 100).alias("id5"),
        number(6, many).alias("id6"),
        number(7, 5).alias("v1"),
        number(8, 15).alias("v2"),
        round(rand(9) * 100.0, 6).alias("v3"),
    ]);
    table.write().parquet(path)?;
    Ok(())
}
