//! `yardstick-pagerank EDGES [--iterations 10] [--threads 2]`: ranks the vertices of a graph, by hand.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use millstream_benches::error::{BenchError, finish};
use millstream_benches::input::Input;
use millstream_benches::pagerank::{Ranks, page_rank};

/// PageRank of an edge list with lines `source destination`.
#[derive(Debug, Parser)]
struct Arguments {
    /// The edge list.
    edges: PathBuf,
    /// Iterations.
    #[arg(long, default_value_t = 10)]
    iterations: usize,
    /// Threads.
    #[arg(long, default_value = "2")]
    threads: NonZeroUsize,
}

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let text = Input::open(&arguments.edges)?;
    let Ranks { count, sum, max } =
        page_rank(&arguments.edges, &text, arguments.iterations, arguments.threads)?;
    Ok(format!("RESULT n {count} sum {sum:.4} max {max:.6}\n"))
}
