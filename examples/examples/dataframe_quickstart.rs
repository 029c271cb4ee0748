//! Ten minutes with frames: rows of a program become a table, columns are computed, grouped, joined and shown.
//!
//! `cargo run --release --example dataframe_quickstart`

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Parser;
use millstream::JoinType;
use millstream::functions::{avg, col, count_star, max, round, sum, upper, when};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::options::CommonOptions;
use serde::{Deserialize, Serialize};

#[derive(Parser)]
#[command(about = "A tour of frames over a few sales")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// Print the plan of the last table instead
    #[arg(long)]
    explain: bool,
}

#[derive(Serialize, Deserialize)]
struct Sale {
    shop: String,
    item: String,
    pieces: i64,
    price: f64,
}

fn sale(shop: &str, item: &str, pieces: i64, price: f64) -> Sale {
    Sale { shop: shop.to_owned(), item: item.to_owned(), pieces, price }
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let context = options.common.context("dataframe_quickstart")?;

    // Fields of a struct are columns.
    let sales = context.from_rows([
        sale("north", "tea", 3, 2.5),
        sale("north", "milk", 10, 1.0),
        sale("south", "tea", 7, 2.4),
        sale("south", "bread", 2, 3.2),
        sale("west", "tea", 1, 2.9),
    ])?;
    let shops =
        context.from_rows([("north", "Ada"), ("south", "Tim")])?.rename_all(["shop", "manager"]);

    // Expressions over columns. Nothing runs until a result is asked for.
    let worth = sales
        .with_column("worth", col("pieces") * col("price"))
        .with_column("size", when(col("pieces").gt_eq(5), "large").otherwise("small"));
    if !options.explain {
        worth.filter(col("item").eq("tea")).sort([col("worth").desc()]).show()?;
    }

    let by_shop = worth
        .group_by(["shop"])
        .agg([
            count_star().alias("sales"),
            sum(col("worth")).alias("worth"),
            round(avg(col("price")), 2).alias("mean_price"),
            max(col("pieces")).alias("largest"),
        ])
        .join(&shops, ["shop"], JoinType::Left)
        .with_column("shop", upper(col("shop")))
        .fill_null_in(["manager"], "nobody")
        .sort([col("worth").desc()]);
    match options.explain {
        true => writeln!(stdout(), "{}", by_shop.explain()?)?,
        false => by_shop.show()?,
    }

    // Rows come back as Rust values.
    let best: Vec<(String, f64)> = by_shop.select(["shop", "worth"]).limit(1).collect_rows()?;
    for (shop, worth) in best {
        writeln!(stdout(), "{shop} has sold most: {worth:.2}")?;
    }
    Ok(())
}
