//! What do buyers look at? Joins the page views of a web log with the users who have bought something
//! (sent a POST), and says for each page how many of its views were by buyers. Lines that are no requests are left out.
//!
//! `cargo run --release --example rdd_join -- --top 5 access.log`

use std::cmp::Reverse;
use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Parser;
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::Logs;
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;
use millstream_examples::weblog::Request;

#[derive(Parser)]
#[command(about = "Joins the views and the purchases of a web log by user")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How many of the most viewed pages to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let paths = paths_or(&options.common, "visits", 16, || Logs::new(SEED, 100_000))?;
    let context = options.common.context("rdd_join")?;
    let lines = context.text_files(&paths, &Default::default())?;
    let requests = lines.flat_map(|line| Request::parse(&line));

    let views = requests.filter(|r| r.method == "GET").map(|r| (r.user, r.path));
    let buyers =
        requests.filter(|r| r.method == "POST").map(|r| (r.user, ())).reduce_by_key(|(), ()| ());
    // A user has many views and at most one row in `buyers`: each view comes out once.
    let pages = views
        .left_outer_join(&buyers)
        .map(|(_, (page, buyer))| (page, (1_u64, u64::from(buyer.is_some()))))
        .reduce_by_key(|a, b| (a.0 + b.0, a.1 + b.1));

    if let Some(dir) = &options.common.output {
        pages
            .map(|(page, (views, by_buyers))| format!("{page}\t{views}\t{by_buyers}"))
            .save_as_text(dir)?;
    }
    let by_views = pages.map(|(page, (views, by_buyers))| (Reverse(views), page, by_buyers));
    for (Reverse(views), page, by_buyers) in by_views.take_ordered(options.top)? {
        let share = 100.0 * by_buyers as f64 / views as f64;
        writeln!(stdout(), "{views}\t{page}\t{share:.1} % by buyers")?;
    }
    Ok(())
}
