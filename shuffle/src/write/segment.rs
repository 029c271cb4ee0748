//! Writing one segment: runs of blocks in partition order, then the footer.

use std::fs::File;
use std::sync::Arc;

use super::compact::{merge_runs, should_merge};
use super::sink::Sink;
use crate::block::{BlockEncoder, Codec, Extent, Footer, HEADER_BYTES};
use crate::digest::RowDigest;
use crate::read::{Segment, SegmentError};
use crate::store::{DiskError, LocalDirs};

/// Writes a segment under a temporary name; dropped before it is finished, it leaves nothing.
///
/// Several runs go into the one file, each with its partitions in order. What is written is not
/// written again: a partition is the list of its extents over the runs (but see
/// [`should_merge`]). Holds one file handle and, while blocks are written, about 1 MiB of buffer
/// and once more the size of a block.
///
/// After an error the file cannot be finished; drop the writer.
pub struct SegmentWriter {
    dirs: Arc<LocalDirs>,
    name: String,
    sink: Sink,
    encoder: BlockEncoder,
    partitions: u32,
    /// By run, then by partition. Offsets are left to the footer.
    extents: Vec<Extent>,
    /// The partition last written in the open run; `None` if no run is open.
    last: Option<u32>,
    written: u64,
    keep_runs: bool,
    /// `None` from the first block on that comes without.
    digests: Option<Vec<RowDigest>>,
}

impl SegmentWriter {
    /// Creates the temporary file; `name` is for people who look at the directory.
    ///
    /// # Errors
    /// If no local directory takes the file, or the codec cannot be set up.
    pub fn create(
        dirs: &Arc<LocalDirs>,
        name: &str,
        partitions: u32,
        codec: Codec,
    ) -> Result<Self, SegmentError> {
        let encoder = BlockEncoder::new(codec)
            .map_err(|source| SegmentError::Encode { partition: 0, source })?;
        Ok(Self {
            dirs: Arc::clone(dirs),
            name: name.to_owned(),
            sink: Sink::new(dirs.create(name)?),
            encoder,
            partitions,
            extents: Vec::new(),
            last: None,
            written: 0,
            keep_runs: false,
            digests: Some(vec![RowDigest::default(); partitions as usize]),
        })
    }

    /// Says that the runs mean something to the reader, such as that each is sorted: they are
    /// never merged, however small they are.
    pub fn keep_runs(&mut self) {
        self.keep_runs = true;
    }

    /// Begins another run, so that any partition may come next. Needless before the first.
    pub fn begin_run(&mut self) {
        self.last = None;
    }

    /// Writes `payload` as one block of `partition`. A block of no rows is left out.
    ///
    /// `digest` is of the block's rows. The segment has digests if every block comes with one.
    ///
    /// # Errors
    /// If the partition is out of range or comes before one already written in this run, the
    /// payload is too large for a block, or the local directories fail.
    pub fn write_block(
        &mut self,
        partition: u32,
        payload: &[u8],
        rows: u32,
        digest: Option<RowDigest>,
    ) -> Result<(), SegmentError> {
        self.check_order(partition)?;
        if rows == 0 {
            return Ok(());
        }
        let room = self.sink.room_for(HEADER_BYTES + payload.len())?;
        let header = self
            .encoder
            .encode(payload, rows, room)
            .map_err(|source| SegmentError::Encode { partition, source })?;
        self.written += header.block_len() as u64;
        self.extent_of(partition).push_block(header.block_len() as u64, rows, header.crc);
        self.add_digest(partition, digest);
        Ok(())
    }

    /// Bytes of all blocks so far.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Writes the footer and commits the file under `final_name`.
    ///
    /// # Errors
    /// If the local directories fail, or the name is taken. No file is left then.
    pub fn finish(mut self, final_name: &str) -> Result<Segment, SegmentError> {
        let mut footer = Footer::new(self.partitions, self.extents, self.digests);
        let extents = footer.extents().iter().filter(|extent| extent.len > 0).count() as u64;
        if !self.keep_runs && should_merge(footer.runs(), extents, self.written) {
            self.sink.flush()?;
            // Only reading gets better by it: if it fails, say for want of room, what there is will do.
            if let Ok((sink, merged)) = merged(&self.dirs, &self.name, &self.sink, &footer) {
                (self.sink, footer) = (sink, merged);
            }
        }
        let mut bytes = Vec::new();
        footer.encode(&mut bytes);
        self.sink.room_for(bytes.len())?.extend_from_slice(&bytes);
        let file = self.sink.into_file()?.commit(final_name)?;
        Ok(Segment::committed(file, footer))
    }

    fn check_order(&self, partition: u32) -> Result<(), SegmentError> {
        if partition >= self.partitions {
            let partitions = self.partitions;
            return Err(SegmentError::NoSuchPartition { partition, partitions });
        }
        match self.last {
            Some(last) if partition < last => Err(SegmentError::OutOfOrder { partition, last }),
            _ => Ok(()),
        }
    }

    /// The partition's extent in the open run; opens a run if none is.
    fn extent_of(&mut self, partition: u32) -> &mut Extent {
        let partitions = self.partitions as usize;
        if self.last.is_none() {
            self.extents.resize(self.extents.len() + partitions, Extent::default());
        }
        self.last = Some(partition);
        let run = self.extents.len() - partitions;
        &mut self.extents[run + partition as usize]
    }

    fn add_digest(&mut self, partition: u32, digest: Option<RowDigest>) {
        match (&mut self.digests, digest) {
            (Some(digests), Some(digest)) => {
                let whole = &mut digests[partition as usize];
                *whole = whole.then(digest);
            }
            (digests, _) => *digests = None,
        }
    }
}

/// A second temporary file with the runs of the first merged.
fn merged(
    dirs: &Arc<LocalDirs>,
    name: &str,
    sink: &Sink,
    footer: &Footer,
) -> Result<(Sink, Footer), SegmentError> {
    let path = sink.file().path();
    let source =
        File::open(path).map_err(|source| DiskError::Lost { path: path.to_owned(), source })?;
    let mut one_run = Sink::new(dirs.create(name)?);
    let footer = merge_runs(&source, footer, &mut one_run)?;
    Ok((one_run, footer))
}
