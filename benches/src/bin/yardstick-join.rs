//! `yardstick-join LEFT RIGHT --output DIR [--threads 2]`: joins two files by key, by hand.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use millstream_benches::error::{BenchError, finish};
use millstream_benches::input::Input;
use millstream_benches::join::{Side, join};

/// Inner join of two files with lines `key<TAB>value`.
#[derive(Debug, Parser)]
struct Arguments {
    /// The left file.
    left: PathBuf,
    /// The right file.
    right: PathBuf,
    /// Write the lines `key<TAB>left<TAB>right` to files of this directory, one a thread.
    #[arg(long)]
    output: PathBuf,
    /// Threads.
    #[arg(long, default_value = "2")]
    threads: NonZeroUsize,
}

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let Arguments { left, right, output, threads } = arguments;
    let (left_text, right_text) = (Input::open(left)?, Input::open(right)?);
    fs::create_dir_all(output).map_err(BenchError::write(output))?;
    let paths: Vec<PathBuf> =
        (0..threads.get()).map(|t| output.join(format!("part-{t:05}"))).collect();
    let mut outputs = Vec::new();
    for path in &paths {
        outputs.push((path.as_path(), File::create(path).map_err(BenchError::write(path))?));
    }
    let left = Side { path: left, text: &left_text };
    let right = Side { path: right, text: &right_text };
    Ok(format!("RESULT rows {}\n", join(left, right, outputs)?))
}
