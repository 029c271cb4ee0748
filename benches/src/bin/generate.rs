//! `generate KIND --size 1g --out PATH [--seed N] [--long-words]`: writes a seeded benchmark input.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use millstream::parse_size;
use millstream_benches::error::{BenchError, finish};
use millstream_examples::generate::{
    Documents, Graph, Letters, Lines, Logs, Points, Records, VOCABULARY_LEN, Words, write_lines,
};

/// Users of a generated log.
const USERS: u32 = 1_000_000;

/// Writes a benchmark input: the same bytes for the same kind, size and seed, on every machine.
#[derive(Debug, Parser)]
struct Arguments {
    /// What to write.
    kind: Kind,
    /// Bytes to write, to the end of the line: 100m, 1g (powers of 1024).
    #[arg(long, value_parser = parse_size)]
    size: u64,
    /// The file to write.
    #[arg(long)]
    out: PathBuf,
    /// The seed.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// For words: 2 to 40 letters of several scripts, instead of 2 to 12 Latin ones.
    #[arg(long)]
    long_words: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Text under Zipf's law, ten words a line.
    Words,
    /// 100-byte records to sort: a 10-byte key, text, a newline.
    Records,
    /// The edges `source destination` of a power-law graph.
    Graph,
    /// Clustered points of ten dimensions.
    Points,
    /// Web-server log lines.
    Logs,
    /// Numbered documents, one a line.
    Documents,
}

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let mut file = File::create(&arguments.out).map_err(BenchError::write(&arguments.out))?;
    let mut lines = generator(arguments);
    let bytes = write_lines(&mut *lines, arguments.size, &mut file)
        .map_err(BenchError::write(&arguments.out))?;
    Ok(format!("{bytes} bytes in {}\n", arguments.out.display()))
}

fn generator(arguments: &Arguments) -> Box<dyn Lines> {
    let seed = arguments.seed;
    let letters = if arguments.long_words { Letters::ManyScripts } else { Letters::Latin };
    match arguments.kind {
        Kind::Words => Box::new(Words::new(seed, letters, VOCABULARY_LEN)),
        Kind::Records => Box::new(Records::new(seed)),
        Kind::Graph => Box::new(Graph::new(seed, Graph::vertices_for(arguments.size))),
        Kind::Points => Box::new(Points::new(seed)),
        Kind::Logs => Box::new(Logs::new(seed, USERS)),
        Kind::Documents => Box::new(Documents::new(seed, VOCABULARY_LEN)),
    }
}
