//! Rust functions in expressions: one of the values of a row, one of whole columns, and one that may fail.
//!
//! `cargo run --release --example udf`

use std::process::ExitCode;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Float64Type};
use clap::Parser;
use millstream::functions::{avg, col};
use millstream::{udf, udf_columns};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::options::CommonOptions;

#[derive(Parser)]
#[command(about = "Calls Rust functions in expressions")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let context = options.common.context("udf")?;
    let places = context
        .from_rows([
            ("Kyiv", "50.45 N", 30.5),
            ("Lagos", "6.45 N", 31.2),
            ("Lima", "12.05 S", 19.9),
        ])?
        .rename_all(["city", "latitude", "celsius"]);

    // Of the values of a row. An error fails the job and says what it was about.
    let degrees = udf("degrees", |text: String| -> Result<f64, String> {
        let (number, side) = text.split_once(' ').ok_or(format!("{text:?} is no latitude"))?;
        let degrees: f64 = number.parse().map_err(|_| format!("{number:?} is no number"))?;
        Ok(if side == "S" { -degrees } else { degrees })
    })?;
    // Of whole columns: one call for thousands of rows.
    let fahrenheit =
        udf_columns("fahrenheit", [DataType::Float64], DataType::Float64, |columns| {
            let celsius = columns[0].as_primitive::<Float64Type>();
            let fahrenheit: Float64Array = celsius.unary(|celsius| celsius * 1.8 + 32.0);
            Ok(Arc::new(fahrenheit) as ArrayRef)
        })?;

    let known = places
        .with_column("latitude", degrees.call(["latitude"]))
        .with_column("fahrenheit", fahrenheit.call(["celsius"]));
    known.sort([col("latitude")]).show()?;
    known.agg([avg(col("fahrenheit")).alias("mean_fahrenheit")]).show()?;
    Ok(())
}
