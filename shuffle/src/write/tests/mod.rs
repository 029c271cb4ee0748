//! Segments from end to end. Here is what the tests share.

mod damage;
mod partitioned;
mod segments;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tempfile::TempDir;

use super::*;
use crate::block::{BlockDecoder, Codec, FooterError};
use crate::digest::RowDigest;
use crate::read::{MergeIter, Segment, SegmentError, StoredBlock};
use crate::store::{DirSpec, DiskError, LocalDirs};

/// Rows are little-endian integers of eight bytes.
struct Integers;

impl RowCodec<u64> for Integers {
    fn encode(&self, row: &u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        if *row == u64::MAX {
            return Err(CodecError::new("the largest integer has no encoding"));
        }
        out.extend_from_slice(&row.to_le_bytes());
        Ok(())
    }
}

fn local_dirs() -> (TempDir, Arc<LocalDirs>) {
    let root = tempfile::tempdir().unwrap();
    let spec = DirSpec { path: root.path().to_owned(), quota_bytes: None };
    let dirs = LocalDirs::open(&[spec], "test").unwrap();
    (root, dirs)
}

fn config(dirs: &Arc<LocalDirs>, partitions: u32) -> WriterConfig {
    WriterConfig {
        block_bytes: 100,
        digest_memory: true,
        ..WriterConfig::new(Arc::clone(dirs), "out", partitions)
    }
}

fn rows_of(payload: &[u8]) -> impl Iterator<Item = u64> {
    payload.chunks(8).map(|row| u64::from_le_bytes(row.try_into().unwrap()))
}

fn read(segment: &Segment, partition: u32) -> Result<Vec<u64>, SegmentError> {
    let mut reader = segment.read(partition)?;
    let (mut payload, mut rows) = (Vec::new(), Vec::new());
    while let Some(count) = reader.next_into(&mut payload)? {
        assert_eq!(payload.len(), count as usize * 8);
        rows.extend(rows_of(&payload));
    }
    Ok(rows)
}

/// The same by way of blocks as they are stored: what a reader elsewhere does.
fn read_stored(segment: &Segment, partition: u32) -> Result<Vec<u64>, SegmentError> {
    let mut reader = segment.read(partition)?;
    let (mut stored, mut marks) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_stored_into(&mut stored)? {
        marks.push((block, stored.len()));
    }
    let (mut rows, mut start) = (Vec::new(), 0);
    let (mut decoder, mut payload) = (BlockDecoder::new(), Vec::new());
    for (i, (block, end)) in marks.iter().enumerate() {
        let damaged =
            |source| SegmentError::Block { path: segment.path().to_owned(), partition, source };
        let header = decoder.decode_into(&stored[start..*end], 0, &mut payload).map_err(damaged)?;
        assert_eq!((header.rows, header.block_len()), (block.rows, end - start));
        assert_eq!(block.last, i + 1 == marks.len());
        rows.extend(rows_of(&payload));
        start = *end;
    }
    Ok(rows)
}

fn digest(rows: &[u64]) -> RowDigest {
    let mut digest = RowDigest::default();
    rows.iter().for_each(|row| digest.push(&row.to_le_bytes()));
    digest
}

/// Writes `runs` of `(partition, rows)` blocks by hand.
fn segment_of(dirs: &Arc<LocalDirs>, partitions: u32, runs: &[Vec<(u32, Vec<u64>)>]) -> Segment {
    let mut writer = SegmentWriter::create(dirs, "hand", partitions, Codec::Lz4).unwrap();
    for run in runs {
        writer.begin_run();
        for (partition, rows) in run {
            let payload: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
            let digest = Some(digest(rows));
            writer.write_block(*partition, &payload, rows.len() as u32, digest).unwrap();
        }
    }
    writer.finish("hand").unwrap()
}

fn files(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            names.extend(files(&entry.path()));
        } else {
            names.push(entry.file_name().into_string().unwrap());
        }
    }
    names.retain(|name| name.contains("hand") || name.contains("out"));
    names
}
