//! Both ways of programming in one job: lines are taken apart by Rust code on an `Rdd`, the rows are grouped as a frame, and
//! what comes of it is gone through by Rust code again.
//!
//! `cargo run --release --example rdd_and_dataframe -- access.log`

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Parser;
use millstream::functions::{col, count_distinct, count_star};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::Logs;
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;
use millstream_examples::weblog::Request;
use serde::{Deserialize, Serialize};

#[derive(Parser)]
#[command(about = "Counts the visitors of pages, half as an Rdd and half as a frame")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How many pages to print
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,
}

/// A row of the frame, by the names of its columns.
#[derive(Clone, Serialize, Deserialize)]
struct Page {
    path: String,
    requests: i64,
    visitors: i64,
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let paths = paths_or(&options.common, "log", 64, || Logs::new(SEED, 20_000))?;
    let context = options.common.context("rdd_and_dataframe")?;

    // Rust code for what has no columns yet.
    let lines = context.text_files(&paths, &Default::default())?;
    let requests = lines.flat_map(|line| Request::parse(&line));

    // Columns for what is a question to a table.
    let pages = requests
        .to_frame()?
        .filter(col("method").eq("GET"))
        .group_by(["path"])
        .agg([count_star().alias("requests"), count_distinct(["user"]).alias("visitors")]);

    // And Rust code again.
    let loyal = pages
        .to_rdd::<Page>()?
        .map(|page| (page.requests * 1000 / page.visitors.max(1), page.path))
        .top(options.top)?;
    for (per_visitor, path) in loyal {
        writeln!(stdout(), "{:.3}\t{path}", per_visitor as f64 / 1e3)?;
    }
    Ok(())
}
