//! The generic map-side writer: typed rows by partition, in memory for as long as they may be.

use std::sync::Arc;

use super::chunks::Chunks;
use super::{RowCodec, SegmentWriter};
use crate::block::Codec;
use crate::digest::RowDigest;
use crate::read::{Segment, SegmentError};
use crate::store::LocalDirs;

/// Rows that take few bytes, or none, fill a block by their number.
const BLOCK_ROWS_MAX: usize = 1 << 16;

/// How a [`PartitionedWriter`] writes.
#[derive(Clone)]
pub struct WriterConfig {
    /// Where spills go.
    pub dirs: Arc<LocalDirs>,
    /// The segment's final file name, used by this attempt alone.
    pub name: String,
    /// How many partitions there are.
    pub partitions: u32,
    /// How blocks are compressed.
    pub codec: Codec,
    /// A block is closed when its rows take this many bytes: 256 KiB by default.
    pub block_bytes: usize,
    /// Whether an output that stays in memory as a whole is encoded for its digests alone. What
    /// goes to a file, in part or as a whole, always has digests.
    pub digest_memory: bool,
}

impl WriterConfig {
    /// The defaults: lz4, blocks of 256 KiB, no digests of what stays in memory.
    #[must_use]
    pub fn new(dirs: Arc<LocalDirs>, name: impl Into<String>, partitions: u32) -> Self {
        let (codec, block_bytes, digest_memory) = (Codec::default(), 256 << 10, false);
        Self { dirs, name: name.into(), partitions, codec, block_bytes, digest_memory }
    }
}

/// What a map task hands over. A partition is its rows in `segment`, if there is one, followed by
/// its rows in `memory`: together in the order in which they were pushed.
#[derive(Debug)]
pub struct PartitionedOutput<T> {
    /// What was spilled; `None` if nothing was.
    pub segment: Option<Segment>,
    /// By partition, the rows that stayed in memory, in chunks.
    pub memory: Vec<Vec<Vec<T>>>,
    /// By partition, the digest of all its rows, wherever they are; see
    /// [`WriterConfig::digest_memory`].
    pub digests: Option<Vec<RowDigest>>,
}

impl<T> PartitionedOutput<T> {
    /// Rows of a partition, wherever they are; 0 if there is no such partition.
    #[must_use]
    pub fn rows(&self, partition: u32) -> u64 {
        let spilled = self.segment.as_ref().map_or(0, |segment| segment.rows(partition));
        let kept = self.memory.get(partition as usize).into_iter().flatten();
        spilled + kept.map(|chunk| chunk.len() as u64).sum::<u64>()
    }
}

/// Keeps rows by partition and spills them when told to. Not told, it encodes nothing.
///
/// The caller accounts for memory: it asks its budget as rows come in and calls
/// [`spill`](Self::spill) when it is refused. The writer needs about 3 MiB beside the rows while
/// it spills. After an error, rows may be lost to it: drop the writer and run the task again.
pub struct PartitionedWriter<T, C> {
    config: WriterConfig,
    rows: Vec<Chunks<T>>,
    buffered_bytes: u64,
    segment: Option<SegmentWriter>,
    encoding: Encoding<C>,
}

/// What turns rows into blocks.
struct Encoding<C> {
    codec: C,
    /// The block at hand, and where each of its rows ends.
    payload: Vec<u8>,
    ends: Vec<usize>,
    /// By partition, of all rows encoded so far.
    digests: Vec<RowDigest>,
}

impl<T, C: RowCodec<T>> PartitionedWriter<T, C> {
    /// A writer without rows. No file is created before the first spill.
    pub fn new(config: WriterConfig, codec: C) -> Self {
        let partitions = config.partitions as usize;
        let digests = vec![RowDigest::default(); partitions];
        let encoding = Encoding { codec, payload: Vec::new(), ends: Vec::new(), digests };
        let rows = (0..partitions).map(|_| Chunks::default()).collect();
        Self { config, rows, buffered_bytes: 0, segment: None, encoding }
    }

    /// Adds a row at the end of a partition.
    ///
    /// # Errors
    /// If there is no such partition.
    #[inline]
    pub fn push(&mut self, partition: u32, row: T) -> Result<(), SegmentError> {
        let Some(rows) = self.rows.get_mut(partition as usize) else {
            let partitions = self.config.partitions;
            return Err(SegmentError::NoSuchPartition { partition, partitions });
        };
        if rows.is_full() {
            self.buffered_bytes += rows.grow();
        }
        rows.push(row);
        Ok(())
    }

    /// Bytes of memory that hold rows. What rows own on the heap is not included: that is known
    /// to the caller's account alone.
    #[must_use]
    pub fn buffered_bytes(&self) -> u64 {
        self.buffered_bytes
    }

    /// Encodes all rows in memory as one run, freeing them as it goes, and returns the bytes it
    /// added to the file.
    ///
    /// # Errors
    /// If a row cannot be encoded, or the local directories fail.
    pub fn spill(&mut self) -> Result<u64, SegmentError> {
        self.spill_run(0..self.config.partitions)
    }

    /// As [`spill`](Self::spill), of only the partitions that take the most memory, as many
    /// as free `want_bytes` (of [`buffered_bytes`](Self::buffered_bytes)): fewer, longer extents.
    ///
    /// # Errors
    /// As [`spill`](Self::spill).
    pub fn spill_largest(&mut self, want_bytes: u64) -> Result<u64, SegmentError> {
        let sizes: Vec<u64> = self.rows.iter().map(Chunks::bytes).collect();
        self.spill_run(largest(&sizes, want_bytes))
    }

    /// Ends the task's output. `keep` is told [`buffered_bytes`](Self::buffered_bytes) and says
    /// whether those rows stay in memory; if not, they are spilled.
    ///
    /// # Errors
    /// If a row cannot be encoded, or the local directories fail.
    pub fn finish(
        mut self,
        keep: impl FnOnce(u64) -> bool,
    ) -> Result<PartitionedOutput<T>, SegmentError> {
        if self.rows.iter().any(|rows| !rows.is_empty()) && !keep(self.buffered_bytes) {
            self.spill()?;
        }
        let in_memory = self.segment.is_none() && self.rows.iter().any(|rows| !rows.is_empty());
        let segment = self.segment.map(|writer| writer.finish(&self.config.name)).transpose()?;
        let digests = match in_memory && !self.config.digest_memory {
            true => None,
            false => Some(self.encoding.digest_rest(&self.rows)?),
        };
        let memory = self.rows.into_iter().map(Chunks::into_vecs).collect();
        Ok(PartitionedOutput { segment, memory, digests })
    }

    /// Spills these partitions, which are in increasing order.
    fn spill_run(
        &mut self,
        partitions: impl IntoIterator<Item = u32>,
    ) -> Result<u64, SegmentError> {
        let before = self.segment.as_ref().map_or(0, SegmentWriter::bytes_written);
        if let Some(writer) = &mut self.segment {
            writer.begin_run();
        }
        for partition in partitions {
            let rows = std::mem::take(&mut self.rows[partition as usize]);
            if rows.is_empty() {
                continue;
            }
            self.buffered_bytes -= rows.bytes();
            let writer = match &mut self.segment {
                Some(writer) => writer,
                none => none.insert(create(&self.config)?),
            };
            self.encoding.write(partition, rows, self.config.block_bytes, writer)?;
        }
        (self.encoding.payload, self.encoding.ends) = (Vec::new(), Vec::new());
        Ok(self.segment.as_ref().map_or(0, SegmentWriter::bytes_written) - before)
    }
}

fn create(config: &WriterConfig) -> Result<SegmentWriter, SegmentError> {
    SegmentWriter::create(&config.dirs, &config.name, config.partitions, config.codec)
}

impl<C> Encoding<C> {
    /// Writes one partition's rows as blocks; each chunk is freed once it is encoded.
    fn write<T>(
        &mut self,
        partition: u32,
        rows: Chunks<T>,
        block_bytes: usize,
        writer: &mut SegmentWriter,
    ) -> Result<(), SegmentError>
    where
        C: RowCodec<T>,
    {
        for row in rows.into_vecs().into_iter().flatten() {
            self.encode(partition, &row)?;
            self.ends.push(self.payload.len());
            if self.payload.len() >= block_bytes || self.ends.len() >= BLOCK_ROWS_MAX {
                self.close(partition, writer)?;
            }
        }
        self.close(partition, writer)
    }

    /// Writes the block at hand and begins another.
    fn close(&mut self, partition: u32, writer: &mut SegmentWriter) -> Result<(), SegmentError> {
        let digest = RowDigest::of_rows(&self.payload, &self.ends);
        writer.write_block(partition, &self.payload, self.ends.len() as u32, Some(digest))?;
        self.pass(partition, digest);
        Ok(())
    }

    /// Adds the digest of the block at hand and begins another.
    fn pass(&mut self, partition: u32, digest: RowDigest) {
        let whole = &mut self.digests[partition as usize];
        *whole = whole.then(digest);
        self.payload.clear();
        self.ends.clear();
    }

    /// The digests with the rows that stay in memory added.
    fn digest_rest<T>(mut self, rows: &[Chunks<T>]) -> Result<Vec<RowDigest>, SegmentError>
    where
        C: RowCodec<T>,
    {
        /// As much as stays in the first cache until it is read.
        const PIECE_BYTES: usize = 16 << 10;
        for (partition, rows) in (0..).zip(rows) {
            for row in rows.chunks().flatten() {
                self.encode(partition, row)?;
                self.ends.push(self.payload.len());
                if self.payload.len() >= PIECE_BYTES {
                    self.pass(partition, RowDigest::of_rows(&self.payload, &self.ends));
                }
            }
            self.pass(partition, RowDigest::of_rows(&self.payload, &self.ends));
        }
        Ok(self.digests)
    }

    /// Appends a row to the block at hand.
    #[inline]
    fn encode<T>(&mut self, partition: u32, row: &T) -> Result<(), SegmentError>
    where
        C: RowCodec<T>,
    {
        self.codec
            .encode(row, &mut self.payload)
            .map_err(|source| SegmentError::Row { partition, source })
    }
}

/// The indices of the largest sizes, as few as add up to `want`, in increasing order.
fn largest(sizes: &[u64], want: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sizes.len() as u32).filter(|i| sizes[*i as usize] > 0).collect();
    // Stable: among equals, the lower partition.
    order.sort_by_key(|i| std::cmp::Reverse(sizes[*i as usize]));
    let mut freed = 0u64;
    let count = order
        .iter()
        .take_while(|i| {
            let take = freed < want;
            freed += sizes[**i as usize];
            take
        })
        .count();
    order.truncate(count);
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use super::largest;

    #[test]
    fn the_largest_partitions_are_as_few_as_suffice() {
        assert_eq!(largest(&[5, 90, 0, 40, 40], 100), [1, 3]);
        assert_eq!(largest(&[5, 90, 0, 40, 40], 90), [1]);
        assert_eq!(largest(&[5, 90, 0, 40, 40], 1000), [0, 1, 3, 4]);
        assert_eq!(largest(&[5, 90], 0), [0u32; 0]);
        assert_eq!(largest(&[], 10), [0u32; 0]);
    }
}
