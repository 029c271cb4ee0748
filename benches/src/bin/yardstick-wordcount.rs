//! `yardstick-wordcount FILE… [--top N] [--output DIR] [--threads 2]`: counts words, by hand.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use millstream_benches::error::{BenchError, finish};
use millstream_benches::input::Input;
use millstream_benches::threads::on_threads;
use millstream_benches::wordcount::{Counts, count_words};

/// Counts the whitespace-separated words of text files.
#[derive(Debug, Parser)]
struct Arguments {
    /// Text files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print the most frequent words.
    #[arg(long, default_value_t = 0)]
    top: usize,
    /// Write every `word<TAB>count` to files of this directory, one a thread.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
}

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let inputs =
        arguments.files.iter().map(|path| Input::open(path)).collect::<Result<Vec<_>, _>>()?;
    let texts: Vec<&[u8]> = inputs.iter().map(|input| &**input).collect();
    let parts = count_words(&texts, arguments.threads.into());
    if let Some(directory) = &arguments.output {
        write_parts(&parts, directory)?;
    }
    Ok(report(&parts, arguments.top))
}

fn write_parts(parts: &[Counts], directory: &Path) -> Result<(), BenchError> {
    fs::create_dir_all(directory).map_err(BenchError::write(directory))?;
    let write = |part: usize| {
        let path = directory.join(format!("part-{part:05}"));
        File::create(&path)
            .and_then(|file| parts[part].write(file))
            .map_err(BenchError::write(&path))
    };
    on_threads(parts.len(), write).into_iter().collect()
}

fn report(parts: &[Counts], top: usize) -> String {
    let (mut words, mut text) = (0, String::new());
    parts.iter().for_each(|part| part.for_each(|_, count| words += count));
    let distinct: usize = parts.iter().map(Counts::distinct).sum();
    let _ = writeln!(text, "RESULT words {words} distinct {distinct}");
    if top > 0 {
        for (word, count) in Counts::top(parts, top) {
            let _ = writeln!(text, "{}\t{count}", String::from_utf8_lossy(&word));
        }
    }
    text
}
