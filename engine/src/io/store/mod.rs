//! Places where files are kept, and one way to use them all: a directory of a file system, or a prefix
//! of a bucket in an object store that speaks S3.
//!
//! ```text
//!  location   "/dir", "s3://bucket/prefix" as a value; decides nothing, opens nothing
//!  s3         the client of a bucket, from the usual environment variables
//!  runtime    the threads that do the requests; slots wait for them
//!  blocking   [`Store`]: get, put, create if absent, list, delete
//!  reader     an object as a stream, fetched a window ahead
//!  writer     an object of any size, visible when it is complete
//!  upload     the same, made visible by another process than the one that has written it
//!  parts      the pieces in which both are sent
//! ```
//!
//! What an object means is its user's business; nothing here knows of rows, tasks or jobs.

mod blocking;
mod error;
mod location;
mod parts;
mod reader;
mod runtime;
mod s3;
mod upload;
mod writer;

pub(crate) use blocking::Object;
pub use blocking::Store;
pub use error::StoreError;
pub use location::Location;
pub use reader::ObjectReader;
#[cfg(test)]
pub(crate) use s3::in_memory;
pub(crate) use upload::{Upload, Uploaded, Uploads};
pub use writer::ObjectWriter;

#[cfg(test)]
mod tests;
