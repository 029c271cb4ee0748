//! `sort --size 4g --memory 512m [--input FILE] [--output DIR] [--json]`: sorts 100-byte records by key.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use millstream::{Context, Rdd, Text, parse_size};
use millstream_benches::error::{BenchError, finish};
use millstream_benches::figures::{Figures, Scale};
use millstream_benches::options::EngineOptions;
use millstream_benches::records::{made_once, summarize, summarize_parts};
use millstream_benches::report::Report;
use millstream_benches::roofline;
use millstream_benches::sorted::{Summary, check};
use millstream_benches::tally::key_len;

/// Bytes with which the disk is measured, at most.
const DISK_SAMPLE_MAX: u64 = 1 << 30;

/// Sorts lines by their first ten bytes and checks the order and that no line is lost or altered.
#[derive(Debug, Parser)]
struct Arguments {
    /// Bytes of the input that is made if none is given: 500m, 4g (powers of 1024).
    #[arg(long, default_value = "4g", value_parser = parse_size)]
    size: u64,
    /// The file to sort; by default one of records in the temporary directory, made once.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Write the sorted lines to part files of this directory, which must not exist. Without it they
    /// are checked as they come and not kept.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Partitions of the result; by default as many as the input has.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    partitions: Option<u32>,
    #[command(flatten)]
    engine: EngineOptions,
}

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let Arguments { engine, output, .. } = arguments;
    let input = match &arguments.input {
        Some(path) => path.clone(),
        None => made_once(&std::env::temp_dir(), arguments.size)?,
    };
    let input_bytes = std::fs::metadata(&input).map_err(BenchError::read(&input))?.len();
    let disk = roofline::measure(&engine.local_dir, input_bytes.min(DISK_SAMPLE_MAX))?;

    let context = engine.context("sort")?;
    let sorted = sorted(&context, &input, arguments.partitions)?;
    let start = Instant::now();
    let seen = match output {
        Some(directory) => write(&sorted, directory).map(|()| None)?,
        None => Some(summaries(&sorted)?),
    };
    let figures = Figures::take(start.elapsed(), context.metrics())?;
    let pieces = match (seen, output) {
        (None, Some(directory)) => summarize_parts(directory)?,
        (seen, _) => seen.unwrap_or_default(),
    };
    let tally = summarize(&input)?.tally;
    check(&tally, pieces)?;

    let mut report = Report::new("sort");
    report.add("records", "records", tally.records);
    report.add("partitions", "partitions", sorted.partitions());
    let output_bytes = if output.is_some() { input_bytes } else { 0 };
    let (data_bytes, threads) = (input_bytes, engine.threads());
    figures.add_to(&mut report, &Scale { data_bytes, threads, disk, input_bytes, output_bytes });
    Ok(report.render(engine.json))
}

fn sorted(
    context: &Context,
    input: &Path,
    partitions: Option<u32>,
) -> Result<Rdd<(Text, Text)>, BenchError> {
    let lines = context.text_file(input.to_string_lossy())?;
    let records = lines.map(|line| {
        let at = key_len(line.as_bytes());
        // The place is between characters, so that neither half is ever missing.
        (line.slice(..at).unwrap_or_default(), line.slice(at..).unwrap_or_default())
    });
    Ok(match partitions {
        Some(partitions) => records.with_partitions(partitions).sort_by_key(),
        None => records.sort_by_key(),
    })
}

fn write(sorted: &Rdd<(Text, Text)>, directory: &Path) -> Result<(), BenchError> {
    sorted.map(|(key, payload)| format!("{key}{payload}")).save_as_text(directory)?;
    Ok(())
}

/// What each partition comes to.
fn summaries(sorted: &Rdd<(Text, Text)>) -> Result<Vec<Summary>, BenchError> {
    let summaries = sorted.map_partitions(|rows| {
        let mut summary = Summary::default();
        rows.for_each(|(key, payload)| summary.add(key.as_bytes(), payload.as_bytes()));
        [summary]
    });
    Ok(summaries.collect()?)
}
