//! The disk roofline: what the disk of a directory gives to plain sequential I/O, in this run.
//!
//! A figure of a shuffle's disk throughput says little without it, since disks differ, and so does the same
//! virtual disk from hour to hour.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{Advice, fadvise, fdatasync};

use crate::error::BenchError;

/// Bytes of one write or read.
const CHUNK_BYTES: usize = 1 << 20;

/// Sequential throughput, in millions of bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Of writing in chunks of 1 MiB, `fdatasync` at the end included.
    pub write_mb_s: f64,
    /// Of reading back in chunks of 1 MiB, the page cache dropped before.
    pub read_mb_s: f64,
}

impl Roofline {
    /// The seconds that this disk takes to write and to read so many bytes, one after the other.
    #[must_use]
    pub fn seconds(&self, written: u64, read: u64) -> f64 {
        (written as f64 / self.write_mb_s + read as f64 / self.read_mb_s) / 1e6
    }
}

/// Measures the disk of `directory` with a file of `size` bytes (in whole MiB, at least one), which is gone afterwards.
///
/// # Errors
/// [`BenchError::Write`] or [`BenchError::Read`], naming the directory.
pub fn measure(directory: &Path, size: u64) -> Result<Roofline, BenchError> {
    let chunks = (size / CHUNK_BYTES as u64).max(1);
    let mut file = tempfile::tempfile_in(directory).map_err(BenchError::write(directory))?;
    let write_mb_s =
        rate(chunks, || write(&mut file, chunks)).map_err(BenchError::write(directory))?;
    let read_mb_s = drop_pages(&mut file)
        .and_then(|()| rate(chunks, || read(&mut file, chunks)))
        .map_err(BenchError::read(directory))?;
    Ok(Roofline { write_mb_s, read_mb_s })
}

fn rate(chunks: u64, work: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let start = Instant::now();
    work()?;
    Ok((chunks * CHUNK_BYTES as u64) as f64 / 1e6 / start.elapsed().as_secs_f64())
}

fn write(file: &mut File, chunks: u64) -> io::Result<()> {
    // Not zeros: a file system or disk may store those for nothing.
    let chunk: Vec<u8> =
        (0..CHUNK_BYTES as u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    for _ in 0..chunks {
        file.write_all(&chunk)?;
    }
    Ok(fdatasync(&*file)?)
}

fn drop_pages(file: &mut File) -> io::Result<()> {
    file.rewind()?;
    Ok(fadvise(&*file, 0, None, Advice::DontNeed)?)
}

fn read(file: &mut File, chunks: u64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    for _ in 0..chunks {
        file.read_exact(&mut chunk)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_and_reading_add_up() {
        let disk = Roofline { write_mb_s: 100.0, read_mb_s: 200.0 };
        assert!((disk.seconds(300_000_000, 400_000_000) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn measures_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let Roofline { write_mb_s, read_mb_s } = measure(directory.path(), 4 << 20).unwrap();
        assert!(write_mb_s > 0.0 && read_mb_s > 0.0);
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = measure(Path::new("/nowhere"), 1).unwrap_err();
        assert!(error.to_string().contains("/nowhere"));
    }
}
