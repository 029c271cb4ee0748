//! Directory outputs: part files that appear all together or not at all.
//!
//! ```text
//!  out/_temporary/lock                  held by the driver while the job lives
//!  out/_temporary/JOB/attempts/*        what task attempts write, under unique names
//!  out/_temporary/JOB/intent            the files being published
//!  out/part-00007.txt                   moved there by the job commit
//!  out/year=2024/part-00007-1.parquet   the second file of the partition, in the folder of a column
//!  out/_SUCCESS                         the manifest, created last: the output is complete
//! ```
//!
//! Which attempts count the driver decides, when it accepts their results: a file says nothing about that, as its
//! attempt may have been given up with what it had read. A job that is aborted leaves nothing; one that is killed leaves `_temporary`, which readers skip and the next job clears, undoing a
//! publication that was under way. Files are not synced: this protects from crashed processes, not
//! from power loss.

mod csv;
mod error;
mod formats;
mod job;
mod parquet;
mod publish;
mod spread;
mod staging;
mod table;
mod text;

pub use error::OutputError;
pub use formats::{CsvOutput, OutputFormat, ParquetOutput};
pub use job::{OutputJob, WriteMode};
pub use parquet::{ParquetCompression, ParquetSchema, ParquetWriter};
pub use publish::{Manifest, ManifestFile};
pub use staging::{Part, Staging};
pub(crate) use table::{WriteSpec, write_partition};
pub use text::{TextCompression, TextWriter};

/// The name of the manifest.
pub const MANIFEST_NAME: &str = "_SUCCESS";
/// The name of the folder for everything that is not published.
const TEMPORARY_NAME: &str = "_temporary";

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
