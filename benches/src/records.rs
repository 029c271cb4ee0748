//! Files of records to sort: made once, and read by plain code that shares nothing with the engine.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use millstream_examples::generate::{RECORD_LEN, Records, write_lines};

use crate::error::BenchError;
use crate::sorted::Summary;
use crate::tally::key_len;

/// The seed of `generate`, so that both make the same file.
const SEED: u64 = 42;
const READ_BYTES: usize = 1 << 20;

/// A file of at least `size` bytes of records in `directory`. One of an earlier run is taken as it is.
///
/// # Errors
/// [`BenchError::Write`] if it cannot be made.
pub fn made_once(directory: &Path, size: u64) -> Result<PathBuf, BenchError> {
    let size = size.next_multiple_of(RECORD_LEN as u64);
    let path = directory.join(format!("millstream-records-{size}.txt"));
    if fs::metadata(&path).is_ok_and(|file| file.len() == size) {
        return Ok(path);
    }
    // Under its name a file is whole.
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    File::create(&unfinished)
        .and_then(|mut file| write_lines(&mut Records::new(SEED), size, &mut file))
        .and_then(|_| fs::rename(&unfinished, &path))
        .map_err(|source| {
            let _ = fs::remove_file(&unfinished);
            BenchError::Write { path: path.clone(), source }
        })?;
    Ok(path)
}

/// What the lines of a file come to, in the order of the file.
///
/// # Errors
/// [`BenchError::Read`].
pub fn summarize(path: &Path) -> Result<Summary, BenchError> {
    let file = File::open(path).map_err(BenchError::read(path))?;
    let mut reader = BufReader::with_capacity(READ_BYTES, file);
    let (mut summary, mut line) = (Summary::default(), Vec::new());
    while reader.read_until(b'\n', &mut line).map_err(BenchError::read(path))? > 0 {
        let record = line.strip_suffix(b"\n").unwrap_or(&line);
        let (key, payload) = record.split_at(key_len(record));
        summary.add(key, payload);
        line.clear();
    }
    Ok(summary)
}

/// What the part files of a directory come to, file by file, in the order of their names.
///
/// # Errors
/// [`BenchError::Read`].
pub fn summarize_parts(directory: &Path) -> Result<Vec<Summary>, BenchError> {
    let mut parts: Vec<PathBuf> = fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(BenchError::read(directory))?;
    let is_part = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"part-"))
    };
    parts.retain(is_part);
    parts.sort();
    parts.iter().map(|part| summarize(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = made_once(directory.path(), 4_950).unwrap();
        let summary = summarize(&path).unwrap();
        assert_eq!((summary.tally.records, fs::metadata(&path).unwrap().len()), (50, 5_000));
        fs::write(&path, "x".repeat(5_000)).unwrap();
        assert_eq!(made_once(directory.path(), 5_000).unwrap(), path);
        assert_eq!(summarize(&path).unwrap().tally.records, 1);
    }

    #[test]
    fn parts_are_taken_in_order_and_nothing_else_is() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("part-00001", "b\n"), ("part-00000", "a\nc"), ("_SUCCESS", "d\n")] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let parts = summarize_parts(directory.path()).unwrap();
        let keys: Vec<_> =
            parts.iter().map(|part| (part.first.clone(), part.last.clone())).collect();
        assert_eq!(
            keys,
            [(Some(b"a".to_vec()), b"c".to_vec()), (Some(b"b".to_vec()), b"b".to_vec())]
        );
    }
}
