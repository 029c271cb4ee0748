//! Text input, from files and objects of a bucket: which files a pattern means ([`resolve_inputs`]), how they divide into splits
//! ([`plan_splits`]), and reading a split as lines ([`LineReader`]) or whole files
//! ([`WholeFileReader`]).
//!
//! Planning is a function of the files alone, never of threads or memory, so that the same program
//! over the same files has the same partitions everywhere. Reading owns no threads.

mod cut;
mod error;
mod lines;
mod objects;
mod options;
mod resolve;
mod source;
mod splits;
mod whole;

pub(crate) use cut::{BOM, Bytes, Cut, READ_BYTES, Regions};
pub use error::InputError;
pub use lines::LineReader;
pub(crate) use objects::{WILDCARDS, list_objects};
pub use options::{InvalidUtf8, TextOptions};
pub use resolve::{Compression, InputFile, resolve_inputs};
pub use splits::{Piece, Split, plan_splits, plan_whole_files};
pub use whole::WholeFileReader;

#[cfg(test)]
mod tests;
