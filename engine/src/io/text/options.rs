//! The settings of text input.

use serde::{Deserialize, Serialize};

/// What to do with bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum InvalidUtf8 {
    /// Fail, naming the file and the byte.
    #[default]
    Fail,
    /// Replace each bad sequence by U+FFFD.
    Lossy,
    /// Leave out the record (line or whole file) and count it.
    Skip,
}

/// How text is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextOptions {
    /// What to do with bytes that are not UTF-8.
    pub invalid_utf8: InvalidUtf8,
    /// The longest line, or whole file, in bytes; a bound on the memory that input which is not
    /// text can take. A pipeline refuses records of more than a quarter of its memory limit, too.
    pub record_bytes_max: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { invalid_utf8: InvalidUtf8::Fail, record_bytes_max: 1 << 30 }
    }
}
