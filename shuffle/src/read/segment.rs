//! A committed segment: its footer in memory, its blocks in a file that never changes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{BlockReader, SegmentError};
use crate::block::{Footer, TRAILER_BYTES, Trailer};
use crate::digest::RowDigest;
use crate::store::{CommittedFile, DirId, DiskError, LocalDirs};

/// One map attempt's rows on disk, by partition. Cheap to clone; clones share the file.
///
/// A segment from a writer owns its file, which goes with the last clone and the last reader. One
/// from [`Segment::open`] leaves the file where it is.
///
/// An *empty* partition is known from the footer and read without touching the file; a file that is
/// *gone* makes the read of any other partition an error.
#[derive(Clone, Debug)]
pub struct Segment {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: Source,
    footer: Footer,
}

#[derive(Debug)]
enum Source {
    Owned(CommittedFile),
    Named(PathBuf),
}

impl Segment {
    /// Opens the segment at `path`, checking its footer (the blocks are checked as they are read).
    ///
    /// # Errors
    /// If the file cannot be read, or its footer is missing, damaged or of another version.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SegmentError> {
        let path = path.into();
        let footer = read_footer(&path)?;
        Ok(Self { inner: Arc::new(Inner { file: Source::Named(path), footer }) })
    }

    /// Takes over the segment that an earlier run has left in one of these directories under another name, checking
    /// its footer: the segment owns its file from now on; see [`LocalDirs::adopt`].
    ///
    /// # Errors
    /// As [`Self::open`], and if the file is not there. It is left where it is then.
    pub fn adopt(dirs: &Arc<LocalDirs>, path: &Path, name: &str) -> Result<Self, SegmentError> {
        let footer = read_footer(path)?;
        Ok(Self::committed(dirs.adopt(path, name)?, footer))
    }

    /// A segment just committed under this footer.
    pub(crate) fn committed(file: CommittedFile, footer: Footer) -> Self {
        Self { inner: Arc::new(Inner { file: Source::Owned(file), footer }) }
    }

    /// How many partitions there are, empty ones included.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        self.footer().partitions()
    }

    /// How many runs the file holds: the most extents a partition can have.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.footer().runs()
    }

    /// Rows of a partition; 0 if there is no such partition.
    #[must_use]
    pub fn rows(&self, partition: u32) -> u64 {
        self.footer().extents_of(partition).map(|extent| extent.rows).sum()
    }

    /// Stored bytes of a partition, block headers included; 0 if there is no such partition.
    #[must_use]
    pub fn bytes(&self, partition: u32) -> u64 {
        self.footer().extents_of(partition).map(|extent| extent.len).sum()
    }

    /// True if the partition has no rows.
    #[must_use]
    pub fn is_empty(&self, partition: u32) -> bool {
        self.footer().extents_of(partition).next().is_none()
    }

    /// The digest of a partition's rows, if the segment was written with digests.
    #[must_use]
    pub fn digest(&self, partition: u32) -> Option<RowDigest> {
        self.footer().digests()?.get(partition as usize).copied()
    }

    /// Reads a partition's blocks in the order in which they were written: by run, and in a run as
    /// they came.
    ///
    /// # Errors
    /// If there is no such partition. The file is opened at the first block.
    pub fn read(&self, partition: u32) -> Result<BlockReader, SegmentError> {
        let extents = self.count_extents(partition)?;
        Ok(BlockReader::new(self.clone(), partition, 0..extents))
    }

    /// Reads a partition's runs apart, in order, those left out that have none of it. Runs that
    /// were each written sorted are merged from these readers, which hold a file handle each.
    ///
    /// # Errors
    /// If there is no such partition. The file is opened at each reader's first block.
    pub fn read_runs(&self, partition: u32) -> Result<Vec<BlockReader>, SegmentError> {
        let extents = self.count_extents(partition)?;
        Ok((0..extents).map(|i| BlockReader::new(self.clone(), partition, i..i + 1)).collect())
    }

    fn count_extents(&self, partition: u32) -> Result<usize, SegmentError> {
        let partitions = self.partitions();
        if partition >= partitions {
            return Err(SegmentError::NoSuchPartition { partition, partitions });
        }
        Ok(self.footer().extents_of(partition).count())
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.inner.file {
            Source::Owned(file) => file.path(),
            Source::Named(path) => path,
        }
    }

    /// The local directory it is in, with which it is lost; `None` if it was opened by its path.
    #[must_use]
    pub fn dir(&self) -> Option<DirId> {
        match &self.inner.file {
            Source::Owned(file) => Some(file.dir()),
            Source::Named(_) => None,
        }
    }

    pub(super) fn footer(&self) -> &Footer {
        &self.inner.footer
    }

    /// A file handle of one's own: read-ahead is kept by the handle, and a segment that is not
    /// being read holds none.
    pub(super) fn open_file(&self) -> Result<File, SegmentError> {
        match &self.inner.file {
            Source::Owned(file) => Ok(file.open()?),
            Source::Named(path) => open(path),
        }
    }

    /// Tells the directories of an extent of `bytes` that is about to be read.
    pub(super) fn count_extent_read(&self, bytes: u64) {
        if let Source::Owned(file) = &self.inner.file {
            file.count_extent_read(bytes);
        }
    }

    /// An error met in reading the file, charged to its directory if it is one of ours.
    pub(super) fn read_failed(&self, source: io::Error) -> SegmentError {
        match &self.inner.file {
            Source::Owned(file) => SegmentError::Disk(file.read_failed(source)),
            Source::Named(path) => SegmentError::Io { path: path.clone(), source },
        }
    }
}

fn open(path: &Path) -> Result<File, SegmentError> {
    File::open(path).map_err(|source| {
        let path = path.to_owned();
        SegmentError::Disk(DiskError::Lost { path, source })
    })
}

fn read_footer(path: &Path) -> Result<Footer, SegmentError> {
    let file = open(path)?;
    let io = |source| SegmentError::Io { path: path.to_owned(), source };
    let corrupt = |source| SegmentError::Footer { path: path.to_owned(), source };
    let file_len = file.metadata().map_err(io)?.len();
    let tail = |len: u64| {
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, file_len - len).map(|()| bytes).map_err(io)
    };
    let trailer = tail(file_len.min(TRAILER_BYTES as u64))?;
    let trailer = Trailer::parse(&trailer, file_len).map_err(corrupt)?;
    Footer::decode(&tail(trailer.footer_len())?, file_len).map_err(corrupt)
}
