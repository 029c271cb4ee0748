//! Input files in memory, and their division into pieces of whole words or lines.

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;

use memmap2::Mmap;

use crate::error::BenchError;

/// A file's bytes, mapped read-only.
#[derive(Debug)]
pub struct Input(Mmap);

impl Input {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// [`BenchError::Read`].
    pub fn open(path: &Path) -> Result<Self, BenchError> {
        let file = File::open(path).map_err(BenchError::read(path))?;
        #[expect(unsafe_code, reason = "memory mapping")]
        // SAFETY: the mapping is private and never written here. That no one truncates a benchmark's
        // input while it runs is the caller's part, as for every program that maps its input.
        let map = unsafe { Mmap::map(&file) };
        map.map(Self).map_err(BenchError::read(path))
    }
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Divides `data` into pieces of about `piece_len` bytes, each of which starts at the start of the data or just after
/// a separator. Together they are the data, in order; none is empty.
pub fn pieces(
    data: &[u8],
    piece_len: usize,
    is_separator: impl Fn(u8) -> bool,
) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < data.len() {
        let wanted = (start + piece_len.max(1)).min(data.len());
        let rest = data[wanted - 1..].iter().position(|&b| is_separator(b));
        let end = rest.map_or(data.len(), |at| wanted + at);
        pieces.push(start..end);
        start = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_after_separators_and_cover_the_data() {
        let data = b"aa bbb c  dddddddd e";
        for piece_len in 1..25 {
            let pieces = pieces(data, piece_len, |b| b == b' ');
            let joined: Vec<u8> = pieces.iter().flat_map(|p| data[p.clone()].to_vec()).collect();
            assert_eq!(joined, data);
            for piece in &pieces {
                assert!(piece.end == data.len() || data[piece.end - 1] == b' ');
                assert!(!piece.is_empty());
            }
        }
        assert_eq!(pieces(data, 4, |b| b == b' '), [0..7, 7..19, 19..20]);
        assert!(pieces(b"", 4, |b| b == b' ').is_empty());
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Input::open(Path::new("/nowhere/input")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/input"));
    }
}
