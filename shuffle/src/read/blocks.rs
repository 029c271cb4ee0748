//! Reading one partition of a segment, block by block.

use std::fs::File;
use std::ops::Range;

use super::window::{FillError, Window};
use super::{Segment, SegmentError};
use crate::block::{BlockDecoder, BlockError, BlockHeader, Extent, HEADER_BYTES};

/// The blocks of one partition, or of one run of it, in the order in which they were written. Holds one file handle, from the first block on, and a window of 256 KiB (more if a
/// block is larger).
#[derive(Debug)]
pub struct BlockReader {
    segment: Segment,
    partition: u32,
    file: Option<File>,
    window: Window,
    decoder: BlockDecoder,
    /// Which of the partition's extents are still to be begun.
    extents: Range<usize>,
    /// The extent being read, and the account of it so far, to be held against each other.
    promised: Extent,
    found: Extent,
}

/// A block read without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlock {
    /// Rows in it.
    pub rows: u32,
    /// True if no block follows.
    pub last: bool,
}

impl BlockReader {
    /// A reader of these of the partition's extents, counted without the empty ones.
    pub(super) fn new(segment: Segment, partition: u32, extents: Range<usize>) -> Self {
        Self {
            segment,
            partition,
            file: None,
            window: Window::default(),
            decoder: BlockDecoder::new(),
            extents,
            promised: Extent::default(),
            found: Extent::default(),
        }
    }

    /// Replaces `payload` with the next block's and returns its number of rows, or `None` after
    /// the last.
    ///
    /// # Errors
    /// If the file is gone, cut short or damaged. Rows of blocks returned before are sound, but
    /// the partition is complete only when `None` has been returned. After an error, the same
    /// error comes again.
    pub fn next_into(&mut self, payload: &mut Vec<u8>) -> Result<Option<u32>, SegmentError> {
        if !self.is_at_block()? {
            return Ok(None);
        }
        let at = self.window.offset();
        self.load(at)?;
        let header = self
            .decoder
            .decode_into(self.window.loaded(), at, payload)
            .map_err(|source| block_error(&self.segment, self.partition, source))?;
        self.pass(&header);
        Ok(Some(header.rows))
    }

    /// Appends the next block to `out` as it lies in the file, for a reader elsewhere; `None` after the last.
    /// The block's header is judged and the extent's account is kept, but the checksum is left to who decodes
    /// the block.
    ///
    /// # Errors
    /// As [`next_into`](Self::next_into). What was appended is then not to be used.
    pub fn next_stored_into(
        &mut self,
        out: &mut Vec<u8>,
    ) -> Result<Option<StoredBlock>, SegmentError> {
        if !self.is_at_block()? {
            return Ok(None);
        }
        let at = self.window.offset();
        let header = self.load(at)?;
        let (len, loaded) = (header.block_len(), self.window.loaded());
        let block = loaded.get(..len).ok_or_else(|| {
            let (needed, found) = (len as u64, loaded.len() as u64);
            block_error(&self.segment, self.partition, BlockError::Truncated { at, needed, found })
        })?;
        out.extend_from_slice(block);
        self.pass(&header);
        if self.window.is_done() {
            self.check_extent()?;
        }
        let last = self.window.is_done() && self.extents.is_empty();
        Ok(Some(StoredBlock { rows: header.rows, last }))
    }

    /// Moves to the next block; false if there is none.
    fn is_at_block(&mut self) -> Result<bool, SegmentError> {
        while self.window.is_done() {
            self.check_extent()?;
            if !self.begin_extent() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves past a block, and takes it into account.
    fn pass(&mut self, header: &BlockHeader) {
        self.window.consume(header.block_len());
        self.found.push_block(header.block_len() as u64, header.rows, header.crc);
    }

    /// Demands that the extent just read is the one that was written.
    fn check_extent(&self) -> Result<(), SegmentError> {
        let at = self.promised.offset;
        if (Extent { offset: at, ..self.found }) == self.promised {
            return Ok(());
        }
        let (path, partition) = (self.segment.path().to_owned(), self.partition);
        Err(SegmentError::Extent { path, partition, at })
    }

    /// Moves to the next extent; false if there is none.
    fn begin_extent(&mut self) -> bool {
        let Some(index) = self.extents.next() else { return false };
        let next = self.segment.footer().extents_of(self.partition).nth(index).copied();
        let Some(extent) = next else { return false };
        self.window.set_range(extent.offset, extent.end());
        self.segment.count_extent_read(extent.len);
        (self.promised, self.found) = (extent, Extent::default());
        true
    }

    /// Loads the block at `at` into the window, as much of it as its extent has.
    fn load(&mut self, at: u64) -> Result<BlockHeader, SegmentError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open_sequential(&self.segment)?),
        };
        let read = |error| read_error(&self.segment, self.promised.end(), error);
        let damaged = |source| block_error(&self.segment, self.partition, source);
        let head = self.window.peek(file, HEADER_BYTES).map_err(read)?;
        let header = BlockHeader::parse(head, at).map_err(damaged)?;
        self.window.peek(file, header.block_len()).map_err(read)?;
        Ok(header)
    }
}

fn open_sequential(segment: &Segment) -> Result<File, SegmentError> {
    let file = segment.open_file()?;
    // A hint: where it is not understood, reading is slower and no less right.
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
    Ok(file)
}

fn read_error(segment: &Segment, needed: u64, error: FillError) -> SegmentError {
    match error {
        FillError::Ended(found) => {
            SegmentError::Truncated { path: segment.path().to_owned(), needed, found }
        }
        FillError::Io(source) => segment.read_failed(source),
    }
}

fn block_error(segment: &Segment, partition: u32, source: BlockError) -> SegmentError {
    SegmentError::Block { path: segment.path().to_owned(), partition, source }
}
