//! Directory outputs: part files that appear all together or not at all.
//!
//! ```text
//!  out/_temporary/lock                  held by the driver while the job lives
//!  out/_temporary/JOB/attempts/*        what task attempts write, under unique names
//!  out/_temporary/JOB/committed/00007   which attempt's file is partition 7: created if absent
//!  out/_temporary/JOB/intent            the files being published
//!  out/part-00007.txt                   moved there by the job commit
//!  out/_SUCCESS                         the manifest, created last: the output is complete
//! ```
//!
//! One attempt a partition wins, however many commit. A job that is aborted leaves nothing; one
//! that is killed leaves `_temporary`, which readers skip and the next job clears, undoing a
//! publication that was under way. Files are not synced: this protects from crashed processes, not
//! from power loss.

mod error;
mod job;
mod parquet;
mod publish;
mod staging;
mod text;

pub use error::OutputError;
pub use job::OutputJob;
pub use parquet::{ParquetCompression, ParquetSchema, ParquetWriter};
pub use publish::{Manifest, ManifestFile};
pub use staging::{Part, Staging};
pub use text::{TextCompression, TextWriter};

/// The name of the manifest.
pub const MANIFEST_NAME: &str = "_SUCCESS";
/// The name of the folder for everything that is not published.
const TEMPORARY_NAME: &str = "_temporary";

#[cfg(test)]
mod tests;
