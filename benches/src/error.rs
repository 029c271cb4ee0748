//! What can go wrong in a benchmark program, and how it says so.

use std::error::Error;
use std::fmt::Debug;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a benchmark program could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file could not be opened, sized, mapped or read.
    #[error("cannot read {}: {source}; check that it exists and is a readable regular file", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A file or directory could not be created or written.
    #[error("cannot write {}: {source}; check the directory, its permissions and its free space", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A line is not of the form that the program reads.
    #[error("{}, byte {offset}: expected {expected}, found `{found}`", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Where the line starts in the file.
        offset: usize,
        /// The form wanted.
        expected: &'static str,
        /// The start of the line.
        found: String,
    },
    /// An input has more distinct things than the program can number.
    #[error("{what}: more than {limit}; split the input")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
    /// Data did not get from one end to the other.
    #[error("sending over loopback failed: {0}")]
    Network(#[source] Box<dyn Error + Send + Sync>),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] millstream::Error),
    /// A thread of the benchmark panicked, and has said why.
    #[error("the benchmark panicked")]
    Panicked,
    /// The engine's answer is not the right one.
    #[error("wrong answer: {what} should be {expected} and is {found}")]
    Wrong {
        /// What was checked.
        what: &'static str,
        /// What it must be.
        expected: String,
        /// What it was.
        found: String,
    },
    /// An option has a value that the benchmark cannot use.
    #[error("{option}: {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong with it and what would do.
        why: String,
    },
}

impl BenchError {
    /// Demands that an answer is the expected one.
    ///
    /// # Errors
    /// [`BenchError::Wrong`] if it is not.
    pub fn check<T: PartialEq + Debug>(
        what: &'static str,
        expected: &T,
        found: &T,
    ) -> Result<(), Self> {
        if expected == found {
            return Ok(());
        }
        let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
        Err(Self::Wrong { what, expected, found })
    }

    /// For `map_err` on what is sent.
    pub fn network(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Network(source.into())
    }

    /// For `map_err` on reads of `path`.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }

    /// For `map_err` on writes of `path`.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}

/// Runs a program and ends it: prints its report to standard output, or its error to standard error.
/// A process that is an executor of it runs tasks instead.
#[must_use]
pub fn finish(program: impl FnOnce() -> Result<String, BenchError>) -> ExitCode {
    let asked = millstream::become_executor_if_asked().map_err(BenchError::from);
    let (printed, code) = match asked.and_then(|()| program()) {
        Ok(text) => (io::stdout().write_all(text.as_bytes()), ExitCode::SUCCESS),
        Err(error) => (writeln!(io::stderr(), "error: {error}"), ExitCode::FAILURE),
    };
    if printed.is_ok() { code } else { ExitCode::FAILURE }
}
