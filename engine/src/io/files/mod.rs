//! Tables of files: which files a path means, what columns they have, how they are divided into partitions,
//! and reading a partition with a projection and a condition.
//!
//! ```text
//!  options    kinds of files and how they are read
//!  listing    paths, directories, globs, objects; sizes and times
//!  hive       columns in names of directories
//!  types      the types of columns in tables, and what is widened to what
//!  splits     files to partitions, by their sizes alone
//!  table      all of this as one value that travels to executors
//!  scan       one partition, file by file
//!  condition  the condition of a scan over one file; prune: whether rows can pass it
//!  bad        records of text that cannot be read; plain: lines as they are
//!  input      the bytes of a file; lines: those of a text file by whole lines
//! ```
//!
//! The formats themselves are `parquet`, `csv`, `json` and `ipc`, which give the rows of a piece of one file
//! as `FileRows`.

mod bad;
mod condition;
mod error;
mod hive;
mod input;
mod lines;
mod listing;
mod options;
mod plain;
mod prune;
mod scan;
mod splits;
mod table;
mod types;

pub(crate) use bad::BadRows;
pub(crate) use condition::Condition;
pub use error::FileError;
pub(crate) use hive::directory as hive_directory;
pub(crate) use input::{Cursor, Input};
pub(crate) use lines::{Lines, head};
pub use options::{BadRecords, CsvOptions, Format, Ragged, ReadOptions};
pub(crate) use prune::{Bounds, compare};
pub(crate) use scan::{FileRows, Rows};
pub(crate) use table::{FileTable, Policy, TableFile};
pub(crate) use types::{cast_column, common, merge, table_schema, table_type, widens};

#[cfg(test)]
pub(crate) mod tests;
