//! Which vertices of a graph matter? PageRank over an edge list: links are grouped once and kept, and
//! ranks come to them, so that only contributions move.
//!
//! A vertex keeps a rank as long as it receives contributions: `0.15 + 0.85 × their sum`.
//!
//! `cargo run --release --example pagerank -- --iterations 10 --explain edges.txt`

use std::cmp::Reverse;
use std::io::{Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use millstream::{Rdd, Text};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::Graph;
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;

#[derive(Parser)]
#[command(about = "Ranks the vertices of a graph, given as lines `source destination`")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How often ranks are passed on
    #[arg(long, value_name = "N", default_value_t = 10)]
    iterations: u32,

    /// How many of the highest ranks to print
    #[arg(long, value_name = "N", default_value_t = 0)]
    top: usize,

    /// Print the stages of an iteration instead of running
    #[arg(long)]
    explain: bool,
}

/// A vertex and where its edges go. Shared, so that an iteration reads the kept links without a copy.
type Links = Rdd<(u64, Arc<[u64]>)>;

/// A vertex and its rank.
type Ranks = Rdd<(u64, f64)>;

/// Size of the generated graph.
const GRAPH_MIB: u64 = 4;

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let graph = || Graph::new(SEED, Graph::vertices_for(GRAPH_MIB << 20));
    let paths = paths_or(&options.common, "graph", GRAPH_MIB, graph)?;
    let context = options.common.context("pagerank")?;
    let lines = context.text_files(&paths, &Default::default())?;
    let links = lines.flat_map(|line| edge(&line)).group_by_key().map_values(Arc::from).cache();

    let mut ranks = links.map_values(|_| 1.0);
    if options.explain {
        ranks = pass_on(&links, &ranks);
        return Ok(write!(stdout(), "{}", pass_on(&links, &ranks).explain()?)?);
    }
    for _ in 0..options.iterations {
        ranks = pass_on(&links, &ranks);
    }
    let ranks = ranks.cache();
    print(&ranks, options)
}

/// One iteration. Links and ranks lie by the same hash in the same partitions: the join moves nothing.
fn pass_on(links: &Links, ranks: &Ranks) -> Ranks {
    links
        .join(ranks)
        .flat_map(|(_, (targets, rank))| {
            let share = rank / targets.len() as f64;
            (0..targets.len()).map(move |i| (targets[i], share))
        })
        .with_partitions(links.partitions())
        .reduce_by_key(|a, b| a + b)
        .map_values(|sum| 0.15 + 0.85 * sum)
}

fn print(ranks: &Ranks, options: &Options) -> Result<(), ExampleError> {
    let (vertices, sum, max) = ranks.aggregate(
        (0_u64, 0.0, 0.0_f64),
        |(n, sum, max), (_, rank)| (n + 1, sum + rank, max.max(rank)),
        |a, b| (a.0 + b.0, a.1 + b.1, a.2.max(b.2)),
    )?;
    writeln!(stdout(), "vertices {vertices} sum {sum:.4} max {max:.6}")?;

    // The bits of positive numbers are in the order of the numbers.
    let by_rank = ranks.map(|(vertex, rank)| (Reverse(rank.to_bits()), vertex));
    for (Reverse(bits), vertex) in by_rank.take_ordered(options.top)? {
        writeln!(stdout(), "{:.6}\t{vertex}", f64::from_bits(bits))?;
    }
    if let Some(dir) = &options.common.output {
        ranks.map(|(vertex, rank)| format!("{vertex}\t{rank}")).save_as_text(dir)?;
    }
    Ok(())
}

/// The edge of a line; none if it is blank or a comment.
#[expect(
    clippy::panic,
    reason = "a panic is how a closure refuses a record; the job names its place"
)]
fn edge(line: &Text) -> Option<(u64, u64)> {
    let mut rest = line.as_bytes();
    match (number(&mut rest), number(&mut rest), rest.trim_ascii()) {
        (Some(from), Some(to), []) => Some((from, to)),
        _ if line.trim().is_empty() || line.starts_with("#") => None,
        _ => panic!("`{line}` is not an edge: two vertex numbers below 2^64"),
    }
}

/// Takes a decimal number, and blanks before it, off the front of `text`.
#[inline]
fn number(text: &mut &[u8]) -> Option<u64> {
    let start = text.trim_ascii_start();
    let (mut rest, mut number) = (start, 0_u64);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        rest = after;
    }
    *text = rest;
    match start.len() - rest.len() {
        0 => None,
        1..=19 => Some(number),
        // It may be too large.
        digits => str::from_utf8(&start[..digits]).ok()?.parse().ok(),
    }
}
