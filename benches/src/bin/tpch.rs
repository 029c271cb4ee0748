//! TPC-H: runs the 22 queries, checks their answers where they are known, and prints what each took.
//!
//! ```text
//! cargo run --release -p millstream-benches --bin tpch -- --scale 1 --queries 1,3 --runs 3
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use millstream::Adaptive;
use millstream_benches::options::FrameOptions;
use millstream_benches::rss::peak_rss_bytes;
use millstream_benches::tpch::queries::QUERIES;
use millstream_benches::tpch::{Answers, Tables};
use millstream_examples::tpch::{TABLES, generate};
use serde::Serialize;

/// Runs TPC-H.
#[derive(Parser)]
struct Options {
    /// Scale factor: 1 is about 1 GB as text
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Where the tables are; generated there if they are not [default: a directory for temporary files]
    #[arg(long)]
    data: Option<PathBuf>,
    /// These queries only
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=22))]
    queries: Vec<u32>,
    /// How often each is run; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    #[command(flatten)]
    frames: FrameOptions,
    /// Keep plans as they were made
    #[arg(long)]
    no_adaptive: bool,
    /// Known answers, `q1.csv` and so on [default: those of scale 1 that come with this program]
    #[arg(long)]
    answers: Option<PathBuf>,
    /// Print the plans instead of running them
    #[arg(long)]
    explain: bool,
    /// Run each query once and print its plan with what every operator took
    #[arg(long)]
    analyze: bool,
    /// Print one JSON object a query
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Figures {
    query: u32,
    median_ms: f64,
    rows: usize,
    answer: String,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln_error(&*error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "errors go there")]
fn eprintln_error(error: &dyn std::error::Error) {
    eprintln!("error: {error}");
}

fn run(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    millstream::become_executor_if_asked()?;
    let default = || std::env::temp_dir().join(format!("millstream-tpch-{}", options.scale));
    let data = options.data.clone().unwrap_or_else(default);
    generate(&data, options.scale, &TABLES)?;
    let mut builder = options.frames.builder("tpch");
    if options.no_adaptive {
        builder = builder.adaptive(Adaptive::off());
    }
    let context = builder.build()?;
    let tables = Tables::open(&context, &data, options.scale)?;
    let answers = match (&options.answers, options.scale) {
        (Some(dir), _) => Some(Answers::new(dir)),
        (None, 1.0) => Some(Answers::new(concat!(env!("CARGO_MANIFEST_DIR"), "/answers/tpch-1"))),
        (None, _) => None,
    };
    let queries = match options.queries.is_empty() {
        true => (1..=22).collect(),
        false => options.queries.clone(),
    };
    let (mut total_ms, mut right) = (0.0, true);
    for query in queries {
        let frame = QUERIES[query as usize - 1](&tables);
        if options.explain {
            println!("Q{query}\n{}", frame.explain()?);
            continue;
        }
        if options.analyze {
            println!("Q{query}\n{}", frame.explain_analyze()?);
            continue;
        }
        let mut times = Vec::new();
        let mut rows = None;
        for _ in 0..options.runs {
            let started = Instant::now();
            rows = Some(frame.collect_batch()?);
            times.push(started.elapsed());
        }
        let Some(rows) = rows else { continue };
        let answer = match answers.as_ref().map(|answers| answers.check(query as usize, &rows)) {
            None => "unknown".to_owned(),
            Some(Ok(())) => "right".to_owned(),
            Some(Err(difference)) => {
                right = false;
                format!("WRONG: {difference}")
            }
        };
        let median_ms = median(&mut times).as_secs_f64() * 1e3;
        total_ms += median_ms;
        let figures = Figures { query, median_ms, rows: rows.num_rows(), answer };
        match options.json {
            true => println!("{}", serde_json::to_string(&figures)?),
            false => println!(
                "Q{:<3} {:>9.1} ms  {:>6} rows  {}",
                figures.query, figures.median_ms, figures.rows, figures.answer
            ),
        }
    }
    if !(options.json || options.explain || options.analyze) {
        let rss_mib = peak_rss_bytes().unwrap_or(0) >> 20;
        println!("sum of medians {:.3} s, peak RSS {rss_mib} MiB", total_ms / 1e3);
    }
    Ok(right)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
