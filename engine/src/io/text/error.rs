//! What can go wrong with text input. Each error names the file and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::io::store::StoreError;

/// A failure to find or read text input.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The list of inputs was empty.
    #[error("no input paths were given; name at least one file, directory or glob")]
    NoPaths,

    /// A path that does not exist.
    #[error("input {} does not exist{}", path.display(), hint(nearest))]
    Missing {
        /// The path as given.
        path: PathBuf,
        /// Names in the nearest existing directory that look most like it.
        nearest: Vec<String>,
    },

    /// A glob that matched no file.
    #[error(
        "input pattern {pattern} matches no file; quote it from the shell and check its folder"
    )]
    NoMatch {
        /// The pattern as given.
        pattern: String,
    },

    /// A glob that is not well formed.
    #[error("input pattern {pattern} is malformed: {reason}")]
    BadPattern {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A file that was there when the job was planned and is no longer.
    #[error("input file {} vanished after the job was planned; run the job again", path.display())]
    Vanished {
        /// The file.
        path: PathBuf,
    },

    /// A file whose size is not the one that its splits were planned for.
    #[error(
        "input file {} changed after the job was planned: {planned} bytes then, {found} now; \
         run the job again once nothing writes to it", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// Its size in bytes when planned.
        planned: u64,
        /// Its size in bytes when read.
        found: u64,
    },

    /// Bytes that are not UTF-8, where the options say to fail.
    #[error(
        "input file {} is not UTF-8 at byte {offset}; convert it, or choose InvalidUtf8::Lossy or \
         InvalidUtf8::Skip", path.display()
    )]
    InvalidUtf8 {
        /// The file.
        path: PathBuf,
        /// Offset of the first bad byte, in the decompressed content.
        offset: u64,
    },

    /// A record longer than the options allow.
    #[error(
        "input file {} has a record of more than {limit} bytes at byte {offset}; is it text? \
         Otherwise raise record_bytes_max, or the memory limit, of which a record may take a quarter",
        path.display()
    )]
    RecordTooLong {
        /// The file.
        path: PathBuf,
        /// Offset of the record, in the decompressed content.
        offset: u64,
        /// The limit in bytes.
        limit: usize,
    },

    /// A compressed file that does not decompress.
    #[error("input file {} is damaged or not {format}: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The compression its name announces.
        format: &'static str,
        /// What the decompressor says.
        source: io::Error,
    },

    /// An object store that cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// The operating system refused.
    #[error("cannot {action} input {}: {source}", path.display())]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl InputError {
    /// Whether reading again has a chance. What a file holds, or that it is another one by now, does
    /// not change by reading it again; a failing disk or network may recover.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Store(_) | Self::Io { .. })
    }

    /// Adds the path and the action to an error of the operating system.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

fn hint(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return "; check the path".to_owned();
    }
    format!("; did you mean {}?", nearest.join(" or "))
}
