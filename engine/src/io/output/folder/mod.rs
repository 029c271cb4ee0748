//! Outputs in a folder of a file system.
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
//! A job that is killed leaves `_temporary`, which readers skip and the next job clears, undoing a publication that
//! was under way. Files are not synced: this protects from crashed processes, not from power loss.

mod claim;
mod publish;
mod staging;

pub(super) use claim::FolderTarget;
#[cfg(test)]
pub(super) use publish::{publish, published_names};
pub(super) use staging::FolderStaging;
