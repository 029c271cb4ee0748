//! How an example ends: with success, or with one line that says why not.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thiserror::Error;

/// Why an example could not do its work.
#[derive(Debug, Error)]
pub enum ExampleError {
    /// The engine says so.
    #[error(transparent)]
    Engine(#[from] millstream::Error),
    /// A generated input cannot be written.
    #[error("cannot write the generated input {}: {source}; give a path to read instead", path.display())]
    Generate {
        /// Where it was to be.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The input is well-formed, but not what the example needs.
    #[error("{0}")]
    Unfit(String),
    /// The result cannot be printed.
    #[error("cannot print the result: {0}")]
    Print(#[from] io::Error),
}

impl ExampleError {
    /// For `map_err` on writes of a generated input.
    pub(crate) fn generate(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Generate { path, source }
    }
}

/// Runs a program and ends it: an error is told in one line on standard error, with exit code 1. A
/// reader of standard output that has seen enough, such as `head`, is no error.
///
/// In the executors of a cluster the program does not come to run: what it does before it builds its
/// context, such as making its input, the driver has done.
#[must_use]
pub fn finish(program: impl FnOnce() -> Result<(), ExampleError>) -> ExitCode {
    let result = millstream::become_executor_if_asked().map_err(ExampleError::from);
    match result.and_then(|()| program()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ExampleError::Print(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            // There is nobody left to tell if this fails.
            let _ = writeln!(io::stderr(), "error: {}", one_line(&error));
            ExitCode::FAILURE
        }
    }
}

fn one_line(error: &impl fmt::Display) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line() {
        let error = ExampleError::Unfit("too few\n  points".into());
        assert_eq!(one_line(&error), "too few points");
    }

    #[test]
    fn a_reader_that_leaves_is_no_error() {
        let ended = |kind: io::ErrorKind| finish(|| Err(ExampleError::Print(kind.into())));
        assert_eq!(ended(io::ErrorKind::BrokenPipe), ExitCode::SUCCESS);
        assert_eq!(ended(io::ErrorKind::StorageFull), ExitCode::FAILURE);
    }
}
