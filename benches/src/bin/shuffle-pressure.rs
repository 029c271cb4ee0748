//! `shuffle-pressure --size 2g --memory 256m [--skew S] [--json]`: moves records through a shuffle
//! that does not fit into memory, and holds it against the disk.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use millstream::parse_size;
use millstream_benches::error::{BenchError, finish};
use millstream_benches::figures::{Figures, Scale};
use millstream_benches::options::EngineOptions;
use millstream_benches::pressure::Source;
use millstream_benches::report::Report;
use millstream_benches::roofline;
use millstream_benches::tally::Tally;
use millstream_examples::generate::RECORD_LEN;

/// Bytes that one map task makes.
const MAP_BYTES: u64 = 64 << 20;
/// Bytes of a reduce partition, where their number is not given.
const PARTITION_BYTES: u64 = 32 << 20;
/// Bytes with which the disk is measured, at most.
const DISK_SAMPLE_MAX: u64 = 1 << 30;

/// Shuffles seeded 100-byte records by their 10-byte keys and checks that all arrive.
#[derive(Debug, Parser)]
struct Arguments {
    /// Bytes of records: 500m, 2g (powers of 1024).
    #[arg(long, default_value = "2g", value_parser = parse_size)]
    size: u64,
    /// Partitions of the shuffle; by default one for each 32 MiB.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    partitions: Option<u32>,
    /// Draw the keys by Zipf's law with this exponent, instead of all over.
    #[arg(long)]
    skew: Option<f64>,
    #[command(flatten)]
    engine: EngineOptions,
}

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let Arguments { size, skew, engine, .. } = arguments;
    if let Some(skew) = skew.filter(|skew| !(0.0..=10.0).contains(skew)) {
        let why = format!("{skew} is not an exponent from 0 to 10");
        return Err(BenchError::Option { option: "--skew", why });
    }
    let records = size / RECORD_LEN as u64;
    let maps = pieces(*size, MAP_BYTES);
    let partitions = arguments.partitions.unwrap_or_else(|| pieces(*size, PARTITION_BYTES));
    let disk = roofline::measure(&engine.local_dir, (*size).min(DISK_SAMPLE_MAX))?;

    let context = engine.context("shuffle-pressure")?;
    let source = Source { skew: *skew, made: context.accumulator() };
    let start = Instant::now();
    let arrived = context
        .range(0..records as i64, maps)
        .map_partitions_with(source.clone(), |source, partition, numbers| {
            source.records(partition, numbers.count() as u64)
        })
        .partition_by(partitions)
        .map_partitions(|rows| {
            let mut tally = Tally::default();
            rows.for_each(|(key, payload)| tally.add(key.as_bytes(), payload.as_bytes()));
            [tally]
        })
        .collect()?;
    let figures = Figures::take(start.elapsed(), context.metrics())?;
    check(records, source.made.value(), &arrived)?;

    let mut report = Report::new("shuffle-pressure");
    report.add("records", "records", records);
    report.add("maps", "map tasks", maps);
    report.add("partitions", "partitions", partitions);
    let largest = arrived.iter().map(|tally| tally.records).max().unwrap_or(0);
    report.add("largest_partition_records", "records of the largest partition", largest);
    let data_bytes = records * RECORD_LEN as u64;
    let threads = engine.threads();
    let scale = Scale { data_bytes, threads, disk, input_bytes: 0, output_bytes: 0 };
    figures.add_to(&mut report, &scale);
    Ok(report.render(engine.json))
}

fn pieces(size: u64, piece: u64) -> u32 {
    u32::try_from(size.div_ceil(piece)).unwrap_or(u32::MAX)
}

/// All records were made, and all that were made have arrived.
fn check(records: u64, made: Tally, arrived: &[Tally]) -> Result<(), BenchError> {
    let mut all = Tally::default();
    arrived.iter().for_each(|tally| millstream::Accumulate::merge(&mut all, *tally));
    BenchError::check("the number of records made", &records, &made.records)?;
    BenchError::check("the tally of the records that arrived", &made, &all)
}
