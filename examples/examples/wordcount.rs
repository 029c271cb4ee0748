//! Counts the words of text files: the smallest whole pipeline.
//!
//! `cargo run --release --example wordcount -- --top 5 README.md`

use clap::Parser;
use millstream::{Context, Error, Rdd, Text};
use millstream_examples::options::CommonOptions;

#[derive(Parser)]
#[command(about = "Counts the words of text files")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How many of the most frequent words to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

fn main() -> Result<(), Error> {
    let options = Options::parse();
    let context = options.common.context("wordcount")?;
    let counts = count_words(&context, &options.common.inputs)?;

    if let Some(dir) = &options.common.output {
        counts.map(|(word, count)| format!("{word}\t{count}")).save_as_text(dir)?;
    }
    for (std::cmp::Reverse(count), word) in
        counts.map(|(word, count)| (std::cmp::Reverse(count), word)).take_ordered(options.top)?
    {
        println!("{count}\t{word}");
    }
    Ok(())
}

fn count_words(context: &Context, inputs: &[String]) -> Result<Rdd<(Text, u64)>, Error> {
    let lines = context.text_files(inputs, &Default::default())?;
    Ok(lines.flat_map(|line| line.words()).map(|word| (word, 1)).reduce_by_key(|a, b| a + b))
}
