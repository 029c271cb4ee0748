//! Where an output is published: a folder of a file system, or a prefix of a bucket.

use std::fmt::Debug;

use super::bucket::BucketTarget;
use super::folder::FolderTarget;
use super::{Manifest, OutputError, Part, Staging, WriteMode};
use crate::io::store::Location;

/// One job's claim on a location.
pub(super) trait Target: Debug + Send {
    /// Where the tasks of the job write.
    fn staging(&self) -> Staging;

    /// Makes parts visible as the mode says, all or none, and the manifest that tells so. In append, it is the one of
    /// all files.
    fn publish(&mut self, parts: &[Part], manifest: Manifest) -> Result<Manifest, OutputError>;

    /// Undoes a publication that has failed, and removes everything that is not published.
    fn abort(&mut self) -> Result<(), OutputError>;
}

/// Claims a location, and clears what a job that died left there.
pub(super) fn claim(location: &Location, mode: WriteMode) -> Result<Box<dyn Target>, OutputError> {
    Ok(match location {
        Location::Local(dir) => Box::new(FolderTarget::claim(dir, mode)?),
        Location::S3 { .. } => Box::new(BucketTarget::claim(location, mode)?),
    })
}

/// Ends what jobs have left that died at a location. Where another is at work in a folder, nothing is done.
pub(super) fn settle(location: &Location) -> Result<(), OutputError> {
    match location {
        Location::Local(dir) => FolderTarget::settle(dir),
        Location::S3 { .. } => BucketTarget::settle(location),
    }
}
