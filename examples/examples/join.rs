//! What did each order bring in? Joins the orders and the line items of TPC-H, and adds up by priority of the order,
//! or writes the joined rows as files.
//!
//! `cargo run --release --example join -- --scale 1 --strategy shuffle --output joined`

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use millstream::functions::{col, count_star, lit, sum};
use millstream::{JoinStrategy, JoinType};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::options::CommonOptions;
use millstream_examples::tpch::{generate, path_of};

#[derive(Parser)]
#[command(about = "Joins the orders of TPC-H with their line items")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// Scale factor of the data: at 1 there are 6 million line items
    #[arg(long, default_value_t = 0.1)]
    scale: f64,

    /// Where the data is, and is generated if it is not there yet
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// How the join is done
    #[arg(long, value_enum, default_value_t = Strategy::Auto)]
    strategy: Strategy,

    /// Print the plan instead of running it
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Strategy {
    /// As the planner sees fit
    Auto,
    /// Both sides to partitions by key, then a hash table of each partition
    Shuffle,
    /// The orders to every task
    Broadcast,
    /// Both sides to partitions by key, in order, then merged
    Merge,
}

impl Strategy {
    fn hint(self) -> Option<JoinStrategy> {
        match self {
            Self::Auto => None,
            Self::Shuffle => Some(JoinStrategy::Hash),
            Self::Broadcast => Some(JoinStrategy::Broadcast),
            Self::Merge => Some(JoinStrategy::Merge),
        }
    }
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let default = || std::env::temp_dir().join(format!("millstream-tpch-{}", options.scale));
    let data = options.data.clone().unwrap_or_else(default);
    generate(&data, options.scale, &["lineitem", "orders"])
        .map_err(|error| ExampleError::Unfit(error.to_string()))?;
    let context = options.common.context("join")?;
    let table = |name: &str| {
        let path = path_of(&data, name).unwrap_or_else(|| data.join(name));
        context.read().parquet(path.as_path())
    };

    let started = Instant::now();
    let joined = table("lineitem")?.join_on_with(
        &table("orders")?,
        col("l_orderkey").eq(col("o_orderkey")),
        JoinType::Inner,
        options.strategy.hint(),
    );
    let revenue = col("l_extendedprice") * (lit(1) - col("l_discount"));
    let by_priority = joined
        .group_by(["o_orderpriority"])
        .agg([count_star().alias("items"), sum(revenue).alias("revenue")])
        .sort([col("o_orderpriority")]);
    if options.explain {
        writeln!(stdout(), "{}", by_priority.explain()?)?;
        return Ok(());
    }
    match &options.common.output {
        Some(dir) => {
            let wanted = [
                "o_orderkey",
                "o_custkey",
                "o_orderdate",
                "l_linenumber",
                "l_partkey",
                "l_extendedprice",
            ];
            let written = joined.select(wanted).write().parquet(dir)?;
            writeln!(stdout(), "{} rows in {} files", written.rows, written.files.len())?;
        }
        None => by_priority.show()?,
    }
    writeln!(stdout(), "{:.2} s", started.elapsed().as_secs_f64())?;
    Ok(())
}
