//! On which lines is a word? Builds the index that answers it: each word with the numbers of its lines,
//! in ascending order.
//!
//! `cargo run --release --example inverted_index -- --word engine README.md`

use std::cmp::Reverse;
use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Parser;
use millstream::{Rdd, Text};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::{Letters, Words};
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;

#[derive(Parser)]
#[command(about = "Indexes text files by word: on which lines is it?")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// A word to look up; by default the words on most lines are printed
    #[arg(long, value_name = "WORD")]
    word: Option<String>,

    /// How many words to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

/// A word, and the numbers of its lines over all files, from 1.
type Index = Rdd<(Text, Vec<u64>)>;

/// How many line numbers are printed.
const LINES_SHOWN: usize = 10;

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let text = || Words::new(SEED, Letters::Latin, 20_000);
    let paths = paths_or(&options.common, "book", 8, text)?;
    let context = options.common.context("inverted_index")?;
    let index = index(&context.text_files(&paths, &Default::default())?);

    if let Some(dir) = &options.common.output {
        index.map(|(word, lines)| format!("{word}\t{}", numbers(&lines))).save_as_text(dir)?;
    }
    let found = match &options.word {
        Some(word) => {
            let word = Text::from(word).to_lowercase();
            index.lookup(&word)?.into_iter().map(|lines| shown(word.clone(), lines)).collect()
        }
        None => most_lines(&index, options.top)?,
    };
    if let (Some(word), []) = (&options.word, found.as_slice()) {
        writeln!(stdout(), "`{word}` is on no line")?;
    }
    for (Reverse(count), word, lines) in found {
        let more = if count > LINES_SHOWN { " …" } else { "" };
        writeln!(stdout(), "{word}\ton {count} lines: {}{more}", numbers(&lines))?;
    }
    Ok(())
}

fn index(lines: &Rdd<Text>) -> Index {
    lines
        .zip_with_index()
        .flat_map(|(line, at)| {
            let mut words: Vec<Text> =
                line.to_lowercase().words().map(|word| bare(&word)).collect();
            words.sort_unstable();
            words.dedup();
            words.into_iter().filter(|word| !word.is_empty()).map(move |word| (word, at + 1))
        })
        // The values of a key come in the order of the input, which is that of the lines.
        .group_by_key()
}

/// A word without the punctuation around it.
fn bare(word: &Text) -> Text {
    let text = word.as_str();
    let start = text.find(char::is_alphanumeric).unwrap_or(text.len());
    let end = text
        .rfind(char::is_alphanumeric)
        .map_or(start, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    word.slice(start..end).unwrap_or_default()
}

/// The words on most lines, with the first of them.
fn most_lines(
    index: &Index,
    top: usize,
) -> Result<Vec<(Reverse<usize>, Text, Vec<u64>)>, ExampleError> {
    Ok(index.map(|(word, lines)| shown(word, lines)).take_ordered(top)?)
}

fn shown(word: Text, mut lines: Vec<u64>) -> (Reverse<usize>, Text, Vec<u64>) {
    let count = lines.len();
    lines.truncate(LINES_SHOWN);
    (Reverse(count), word, lines)
}

fn numbers(lines: &[u64]) -> String {
    lines.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}
