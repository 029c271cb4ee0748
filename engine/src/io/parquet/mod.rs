//! Reading Parquet: footers, what of a file can be passed over, and decoding the rest.
//!
//! ```text
//!  chunks     the bytes of a file, for the decoder
//!  footer     what files consist of, kept for the process
//!  columns    wanted columns by name; differences of types
//!  pruning    row groups and pages without rows that pass
//!  windows    columns of the condition first, the others for rows that pass
//!  scan       the row groups of one partition's piece of a file
//!  shape      what footers say of a whole table; distinct: and its dictionaries
//! ```
//!
//! Decoding itself is the `parquet` crate's. Which files there are is `files`'.

mod chunks;
mod columns;
mod distinct;
mod footer;
mod pruning;
mod scan;
mod shape;
mod windows;

use parquet::errors::ParquetError;

use super::files::FileError;

pub(crate) use distinct::distinct;
pub(crate) use scan::ParquetRows;
pub(crate) use shape::{FileShape, shape, statistics};

/// The error of a file that does not decode, unless it is one of ours that came through the decoder.
fn damaged(path: &str) -> impl FnOnce(ParquetError) -> FileError {
    let path = path.to_owned();
    move |error| match error {
        ParquetError::External(source) if source.is::<FileError>() => match source.downcast() {
            Ok(own) => *own,
            Err(source) => {
                FileError::Damaged { path, format: "parquet", reason: source.to_string() }
            }
        },
        error => FileError::Damaged { path, format: "parquet", reason: error.to_string() },
    }
}

#[cfg(test)]
mod tests;
