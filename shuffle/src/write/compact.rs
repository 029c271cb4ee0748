//! Merging the runs of a segment into one, when they have been cut too fine to be read well.
//!
//! Encoded blocks are copied and not decoded. It writes everything a second time, so it is the
//! exception: a reader takes a partition from many extents as well, as long as each is worth a seek.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::sink::{SINK_BYTES, Sink};
use crate::block::{Extent, Footer};
use crate::read::SegmentError;

/// Fewer runs are left as they are.
const RUNS_MAX: u32 = 4;
/// Extents of this mean size are worth a seek each.
const EXTENT_BYTES_MIN: u64 = 64 << 10;

/// True if `runs` runs, with `extents` extents that are not empty and `bytes` bytes in all, are
/// to be merged: there are more than four, and the mean extent is under 64 KiB.
#[must_use]
pub fn should_merge(runs: u32, extents: u64, bytes: u64) -> bool {
    runs > RUNS_MAX && bytes < extents.saturating_mul(EXTENT_BYTES_MIN)
}

/// Copies the blocks of `footer`'s file to `sink` in one run, and returns that run's footer.
pub(super) fn merge_runs(
    source: &File,
    footer: &Footer,
    sink: &mut Sink,
) -> Result<Footer, SegmentError> {
    let merged = (0..footer.partitions())
        .map(|partition| {
            let mut whole = Extent::default();
            for extent in footer.extents_of(partition) {
                copy(source, extent, sink)?;
                whole.append(extent);
            }
            Ok(whole)
        })
        .collect::<Result<_, SegmentError>>()?;
    let digests = footer.digests().map(<[_]>::to_vec);
    Ok(Footer::new(footer.partitions(), merged, digests))
}

fn copy(source: &File, extent: &Extent, sink: &mut Sink) -> Result<(), SegmentError> {
    let mut offset = extent.offset;
    while offset < extent.end() {
        let len = (extent.end() - offset).min(SINK_BYTES as u64 / 4) as usize;
        let buffer = sink.room_for(len)?;
        let start = buffer.len();
        buffer.resize(start + len, 0);
        let read = source.read_exact_at(&mut buffer[start..], offset);
        read.map_err(|source| unread(sink, source))?;
        offset += len as u64;
    }
    Ok(())
}

fn unread(sink: &Sink, source: io::Error) -> SegmentError {
    SegmentError::Io { path: sink.file().path().to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_many_runs_of_tiny_extents_are_merged() {
        assert!(should_merge(5, 1000, 1000 * (64 << 10) - 1));
        assert!(!should_merge(5, 1000, 1000 * (64 << 10)));
        assert!(!should_merge(4, 1000, 1000));
        assert!(!should_merge(100, 0, 0));
        assert!(!should_merge(100, u64::MAX, u64::MAX));
    }
}
