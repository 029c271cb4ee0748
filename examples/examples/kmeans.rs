//! What groups do these measurements fall into? k-means over lines of numbers: points are parsed once
//! and kept, and each round broadcasts the centres and adds up the points nearest to each.
//!
//! `cargo run --release --example kmeans -- --clusters 10 --rounds 5 points.txt`

use std::io::{Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use millstream::{Broadcast, Rdd, Text};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::Points;
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;
use serde::{Deserialize, Serialize};

#[derive(Parser)]
#[command(about = "Finds clusters of points, given as lines of numbers with blanks in between")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How many clusters to find
    #[arg(short = 'k', long, value_name = "K", default_value_t = 10,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    clusters: usize,

    /// How often centres are moved
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: u32,
}

/// Shared, so that a round reads the kept points without a copy.
type Point = Arc<[f64]>;

/// The points nearest to one centre, added up.
#[derive(Clone, Serialize, Deserialize)]
struct Cluster {
    points: u64,
    sum: Vec<f64>,
    /// The sum of the squared distances to the centre.
    cost: f64,
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let paths = paths_or(&options.common, "points", 16, || Points::new(SEED))?;
    let context = options.common.context("kmeans")?;
    let lines = context.text_files(&paths, &Default::default())?;
    let points = lines.filter(|line| !line.trim().is_empty()).map(|line| point(&line)).cache();

    let mut centres = points.take(options.clusters)?;
    if centres.len() < options.clusters {
        let (k, n) = (options.clusters, centres.len());
        return Err(ExampleError::Unfit(format!(
            "{k} clusters need at least {k} points, and there are {n}: give more input or a smaller --clusters"
        )));
    }
    let mut clusters = Vec::new();
    for round in 1..=options.rounds {
        clusters = assign(&points, &context.broadcast(centres.clone()))?;
        centres = centres.iter().zip(&clusters).map(moved).collect();
        let cost: f64 = clusters.iter().map(|cluster| cluster.cost).sum();
        writeln!(stdout(), "round {round}: cost {cost:.3}")?;
    }
    for (centre, cluster) in centres.iter().zip(&clusters) {
        let centre: Vec<String> = centre.iter().map(|x| format!("{x:.2}")).collect();
        writeln!(stdout(), "{}\t{}", cluster.points, centre.join(" "))?;
    }
    if let Some(dir) = &options.common.output {
        let line = |centres: &Broadcast<Vec<Point>>, point: Point| {
            let numbers: Vec<String> = point.iter().map(f64::to_string).collect();
            format!("{}\t{}", nearest(centres, &point).0, numbers.join(" "))
        };
        points.map_with(context.broadcast(centres), line).save_as_text(dir)?;
    }
    Ok(())
}

/// Adds up the points by the nearest of the centres: one table a partition, then the sum of the tables.
fn assign(
    points: &Rdd<Point>,
    centres: &Broadcast<Vec<Point>>,
) -> Result<Vec<Cluster>, ExampleError> {
    let tables = points.map_partitions_with(centres.clone(), |centres, _, points| {
        let mut table: Vec<Cluster> = centres.iter().map(empty).collect();
        for point in points {
            let (nearest, distance) = nearest(centres, &point);
            add(&mut table[nearest], 1, &point, distance);
        }
        [table]
    });
    let sum = tables.reduce(|mut total, table| {
        for (total, part) in total.iter_mut().zip(&table) {
            add(total, part.points, &part.sum, part.cost);
        }
        total
    })?;
    Ok(sum.unwrap_or_default())
}

/// The index of the nearest centre, and the square of the distance to it.
#[expect(
    clippy::panic,
    reason = "a panic is how a closure refuses a record; the job names its place"
)]
fn nearest(centres: &[Point], point: &[f64]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (i, centre) in centres.iter().enumerate() {
        if centre.len() != point.len() {
            panic!("a point has {} numbers, the first one has {}", point.len(), centre.len());
        }
        let distance = centre.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum();
        if distance < best.1 {
            best = (i, distance);
        }
    }
    best
}

fn empty(centre: &Point) -> Cluster {
    Cluster { points: 0, sum: vec![0.0; centre.len()], cost: 0.0 }
}

fn add(cluster: &mut Cluster, points: u64, sum: &[f64], cost: f64) {
    cluster.points += points;
    cluster.cost += cost;
    for (total, x) in cluster.sum.iter_mut().zip(sum) {
        *total += x;
    }
}

/// The mean of the points of a cluster; a centre without points stays where it is.
fn moved((centre, cluster): (&Point, &Cluster)) -> Point {
    match cluster.points {
        0 => Arc::clone(centre),
        n => cluster.sum.iter().map(|sum| sum / n as f64).collect(),
    }
}

#[expect(
    clippy::panic,
    reason = "a panic is how a closure refuses a record; the job names its place"
)]
fn point(line: &Text) -> Point {
    line.as_str()
        .split_ascii_whitespace()
        .map(|field| match field.parse::<f64>() {
            Ok(x) if x.is_finite() => x,
            _ => panic!("`{field}` is not a number: a point is a line of numbers, blanks between"),
        })
        .collect()
}
