//! Turns CSV files into Parquet files, with the types that are found in them, and says what is in them. Without a path
//! it makes a small CSV file of orders first.
//!
//! `cargo run --release --example csv_to_parquet -- --output out 'data/*.csv'`

use std::fs;
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::options::CommonOptions;

#[derive(Parser)]
#[command(about = "Turns CSV files into Parquet files")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// What is between fields
    #[arg(long, default_value_t = ',')]
    delimiter: char,

    /// Columns by whose values the files are put into directories
    #[arg(long, value_delimiter = ',')]
    partition_by: Vec<String>,
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let context = options.common.context("csv_to_parquet")?;
    let scratch = tempfile::tempdir()?;
    let paths = match options.common.inputs.is_empty() {
        true => vec![orders(scratch.path())?],
        false => options.common.inputs.clone(),
    };
    let rows = context.read().delimiter(options.delimiter).csv(paths)?;
    rows.show_rows(5)?;
    rows.describe()?.show()?;

    let default = scratch.path().join("parquet");
    let output = options.common.output.as_deref().unwrap_or(&default);
    let written = rows.write().partition_by(&options.partition_by).parquet(output)?;
    writeln!(
        stdout(),
        "{} rows in {} Parquet files of {} bytes",
        written.rows,
        written.files.len(),
        written.bytes
    )?;

    // What was written is what was read.
    let again = context.read().parquet(output)?;
    if again.count()? != rows.count()? {
        return Err(ExampleError::Unfit("the files written hold other rows".to_owned()));
    }
    Ok(())
}

/// A CSV file as people have them: with quotes, line breaks in a field and missing values.
fn orders(dir: &Path) -> Result<String, ExampleError> {
    let mut text = String::from("id,day,customer,amount,note\n");
    for id in 0..1000 {
        let day = format!("2026-{:02}-{:02}", id % 12 + 1, id % 28 + 1);
        let note = match id % 50 {
            0 => "\"said \"\"later\"\",\ncall again\"",
            _ => "",
        };
        text.push_str(&format!(
            "{id},{day},c{},{}.{:02},{note}\n",
            id % 37,
            id * 7 % 500,
            id % 100
        ));
    }
    let path = dir.join("orders.csv");
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}
