//! How long do visitors stay? The sessions of `log_sessions`, with window functions: a request that comes more than half
//! an hour after the one before it begins a session, and a running count of such beginnings numbers the sessions.
//!
//! `cargo run --release --example sessions_window -- --top 5 access.log`

use std::process::ExitCode;

use arrow::datatypes::DataType;
use clap::Parser;
use millstream::functions::{
    FrameBound, coalesce, col, count_star, lag, lit, max, min, sum, when, window,
};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::Logs;
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;
use millstream_examples::weblog::Request;

#[derive(Parser)]
#[command(about = "Cuts a web log into sessions with window functions")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How long without a request ends a session
    #[arg(long, value_name = "N", default_value_t = 30)]
    gap_minutes: i64,

    /// How many of the longest sessions to print
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: u64,
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let paths = paths_or(&options.common, "log", 64, || Logs::new(SEED, 20_000))?;
    let context = options.common.context("sessions_window")?;
    let lines = context.text_files(&paths, &Default::default())?;
    let requests = lines.flat_map(|line| Request::parse(&line)).to_frame()?;

    let of_user = window().partition_by([col("user")]).order_by([col("time_ms")]);
    let gap_ms = options.gap_minutes * 60_000;
    let since_last = col("time") - lag(col("time"), 1).over(of_user.clone());
    let up_to_here = of_user.rows(FrameBound::UnboundedPreceding, FrameBound::CurrentRow);
    let sessions = requests
        .with_column("time", col("time_ms").cast(DataType::Int64))
        .with_column("gap", coalesce([since_last, lit(i64::MAX)]))
        .with_column("begins", when(col("gap").gt(gap_ms), 1).otherwise(0))
        .with_column("session", sum(col("begins")).over(up_to_here))
        .group_by(["user", "session"])
        .agg([
            count_star().alias("requests"),
            ((max(col("time_ms")) - min(col("time_ms"))) / 1000.0).alias("seconds"),
        ]);
    sessions
        .sort([col("seconds").desc(), col("user").asc(), col("session").asc()])
        .limit(options.top)
        .show()?;
    Ok(())
}
