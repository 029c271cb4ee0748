//! Word count for those who come from MapReduce: a mapper, a combiner, a reducer, and counters that say
//! what the job has seen.
//!
//! `cargo run --release --example wordcount_mapreduce -- --output counts README.md`

use std::cmp::Reverse;
use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Parser;
use millstream::Text;
use millstream::mapreduce::{Combiner, MapReduceJob, Mapper, Output, Reducer, Values};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::{Letters, VOCABULARY_LEN, Words};
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;
use serde::{Deserialize, Serialize};

#[derive(Parser)]
#[command(about = "Counts the words of text files as a MapReduce job")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How many of the most frequent words to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Leave out words that occur less often
    #[arg(long, value_name = "N", default_value_t = 1)]
    at_least: u64,
}

/// Emits each word of a line with a count of one.
#[derive(Clone, Serialize, Deserialize)]
struct SplitWords;

impl Mapper for SplitWords {
    type In = Text;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, line: Text, out: &mut Output<(Text, u64)>) {
        out.count("lines", 1);
        let mut words = 0;
        for word in line.words() {
            words += 1;
            out.emit((word, 1));
        }
        match words {
            0 => out.count("blank lines", 1),
            words => out.count("words", words),
        }
    }
}

/// Adds up the counts of a word.
#[derive(Clone, Serialize, Deserialize)]
struct Sum {
    at_least: u64,
}

impl Combiner<Text, u64> for Sum {
    fn combine(&self, _word: &Text, a: u64, b: u64) -> u64 {
        a + b
    }
}

impl Reducer for Sum {
    type Key = Text;
    type Value = u64;
    type Out = (Text, u64);

    fn reduce(
        &mut self,
        word: &Text,
        counts: &mut Values<'_, Text, u64>,
        out: &mut Output<(Text, u64)>,
    ) {
        let count = counts.sum();
        if count < self.at_least {
            out.count("rare words left out", 1);
        } else {
            out.emit((word.clone(), count));
        }
    }
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let text = || Words::new(SEED, Letters::Latin, VOCABULARY_LEN);
    let paths = paths_or(&options.common, "words", 100, text)?;
    let context = options.common.context("wordcount_mapreduce")?;
    let lines = context.text_files(&paths, &Default::default())?;

    let sum = Sum { at_least: options.at_least };
    let result = MapReduceJob::new(SplitWords, sum.clone()).combiner(sum).run(&lines);
    // Two actions may follow; kept, the reducers run and count once.
    let counts = result.rows.cache();
    if let Some(dir) = &options.common.output {
        result.save_as_text(dir)?;
    }
    let by_count = counts.map(|(word, count)| (Reverse(count), word));
    let top = by_count.take_ordered(options.top)?;

    let mut out = stdout().lock();
    for (Reverse(count), word) in top {
        writeln!(out, "{count}\t{word}")?;
    }
    for (name, total) in result.counters.all() {
        writeln!(out, "{name}: {total}")?;
    }
    Ok(())
}
