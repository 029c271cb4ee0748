//! Which words does a text use most? The smallest whole pipeline: lines, words, counts.
//!
//! `cargo run --release --example wordcount -- --top 5 README.md`

use std::cmp::Reverse;
use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Parser;
use millstream::{Context, Rdd, Text};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::{Letters, VOCABULARY_LEN, Words};
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;

#[derive(Parser)]
#[command(about = "Counts the words of text files; with no path, of 100 MiB of generated text")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How many of the most frequent words to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let text = || Words::new(SEED, Letters::Latin, VOCABULARY_LEN);
    let paths = paths_or(&options.common, "words", 100, text)?;
    let context = options.common.context("wordcount")?;
    let counts = count_words(&context, &paths)?;

    if let Some(dir) = &options.common.output {
        counts.map(|(word, count)| format!("{word}\t{count}")).save_as_text(dir)?;
    }
    // The least pair is the highest count, and of equal counts the first word.
    let by_count = counts.map(|(word, count)| (Reverse(count), word));
    for (Reverse(count), word) in by_count.take_ordered(options.top)? {
        writeln!(stdout(), "{count}\t{word}")?;
    }
    Ok(())
}

fn count_words(context: &Context, paths: &[String]) -> Result<Rdd<(Text, u64)>, ExampleError> {
    let lines = context.text_files(paths, &Default::default())?;
    Ok(lines.flat_map(|line| line.words()).map(|word| (word, 1)).reduce_by_key(|a, b| a + b))
}
