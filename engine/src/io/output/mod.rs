//! Outputs: part files that appear all together or not at all, in a directory or under a prefix of a bucket.
//!
//! ```text
//!  job        one job's claim on a location, from the driver's side
//!  target     where it publishes; there are two:
//!  folder       a directory: files of attempts, moved into place
//!  bucket       a prefix: uploads of attempts, completed in place
//!  staging    where the tasks write
//!  part       a file of an attempt
//!  manifest   `_SUCCESS`, created last: the output is complete
//!  table      the rows of a partition in files; spread over folders; formats, csv, parquet, text
//! ```
//!
//! Which attempts count the driver decides, when it accepts their results: a file says nothing about that, as its
//! attempt may have been given up with what it had read. A job that is aborted leaves nothing; one that is killed
//! leaves what no reader sees, and the next job ends.

mod bucket;
mod csv;
mod error;
mod folder;
mod formats;
mod job;
mod manifest;
mod parquet;
mod part;
mod spread;
mod staging;
mod table;
mod target;
mod text;

pub use error::OutputError;
pub use formats::{CsvOutput, OutputFormat, ParquetOutput};
pub use job::{OutputJob, WriteMode};
pub use manifest::{Manifest, ManifestFile};
pub use parquet::{ParquetCompression, ParquetSchema, ParquetWriter};
pub use part::Part;
pub use staging::Staging;
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
