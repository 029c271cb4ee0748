//! Sorted runs on disk, and their merge.
//!
//! A run is a segment of one partition. Blocks are small enough that as many of them as there may be
//! runs fit into the task's floor: the merge of what was spilled can always be paid for.

use std::rc::Rc;

use millstream_shuffle::budget::SpillCause;
use millstream_shuffle::read::{BlockReader, MergeIter, Segment};
use millstream_shuffle::write::SegmentWriter;

use super::buckets::Sorted;
use super::order::RowOrder;
use crate::executor::{BlockBuilder, Task, TaskError};
use crate::rdd::decode_rows;

/// The most runs that are merged at once. Beyond it runs are merged into a longer one first.
const FAN_IN_MAX: usize = 64;

/// What one source of a merge holds, in blocks: the window of its file, the decoded block and its rows.
const BLOCKS_A_SOURCE: u64 = 4;

/// Sorted runs of one task.
pub(crate) struct Runs<O: RowOrder> {
    task: Task,
    runs: Vec<Segment>,
    order: std::marker::PhantomData<fn() -> O>,
}

/// The merged rows of runs.
pub(crate) type Merged<O> = Box<dyn Iterator<Item = Result<<O as RowOrder>::Item, TaskError>>>;

impl<O: RowOrder> Runs<O> {
    pub(crate) fn new(task: &Task) -> Self {
        Self { task: Rc::clone(task), runs: Vec::new(), order: std::marker::PhantomData }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Bytes that a merge of the runs takes.
    pub(crate) fn merge_bytes(&self) -> u64 {
        self.runs.len() as u64 * self.block_bytes() * BLOCKS_A_SOURCE
    }

    fn block_bytes(&self) -> u64 {
        let share = self.task.runtime.budget.floor() / (FAN_IN_MAX as u64 * BLOCKS_A_SOURCE);
        share.clamp(4 << 10, BlockBuilder::BLOCK_BYTES as u64)
    }

    /// Writes one run of items that come in order.
    pub(crate) fn write(&mut self, items: impl Iterator<Item = O::Item>) -> Result<(), TaskError> {
        let bytes = self.append(items.map(Ok))?;
        self.task.spilled(SpillCause::Refused, bytes);
        if self.runs.len() >= FAN_IN_MAX {
            let runs = std::mem::take(&mut self.runs);
            let merged = Self::merge_segments(runs, Sorted::of(Vec::new()))?;
            let bytes = self.append(merged)?;
            self.task.spilled(SpillCause::Merge, bytes);
        }
        Ok(())
    }

    fn append(
        &mut self,
        items: impl Iterator<Item = Result<O::Item, TaskError>>,
    ) -> Result<u64, TaskError> {
        let name = self.task.file_name("run");
        let codec = self.task.runtime.codec;
        let mut writer = SegmentWriter::create(&self.task.runtime.dirs, &name, 1, codec)?;
        let mut block = BlockBuilder::new(self.block_bytes() as usize);
        for item in items {
            block.push(O::row(&item?))?;
            if block.is_full() {
                self.task.check()?;
                block.flush(|payload, rows| writer.write_block(0, payload, rows, None))?;
            }
        }
        block.flush(|payload, rows| writer.write_block(0, payload, rows, None))?;
        let bytes = writer.bytes_written();
        self.runs.push(writer.finish(&name)?);
        Ok(bytes)
    }

    /// The rows of all runs and then of `rest`, merged. Equal rows come in the
    /// order of the runs, so that the merge of a stable sort is stable.
    pub(crate) fn merge(self, rest: Sorted<O>) -> Result<Merged<O>, TaskError> {
        Self::merge_segments(self.runs, rest)
    }

    fn merge_segments(runs: Vec<Segment>, rest: Sorted<O>) -> Result<Merged<O>, TaskError> {
        let mut sources: Vec<Source<O>> = Vec::with_capacity(runs.len() + 1);
        for run in runs {
            let reader = run.read(0)?;
            sources.push(Source::Run { _run: run, reader, rows: Vec::new().into_iter() });
        }
        sources.push(Source::Memory(rest));
        Ok(Box::new(MergeIter::new(sources, O::compare)))
    }
}

/// One source of a merge.
enum Source<O: RowOrder> {
    /// A run keeps its file for as long as it is read.
    Run {
        _run: Segment,
        reader: BlockReader,
        rows: std::vec::IntoIter<O::Row>,
    },
    Memory(Sorted<O>),
}

impl<O: RowOrder> Iterator for Source<O> {
    type Item = Result<O::Item, TaskError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Memory(items) => items.next().map(Ok),
            Self::Run { reader, rows, .. } => loop {
                if let Some(row) = rows.next() {
                    return Some(Ok(O::item(row)));
                }
                let mut payload = Vec::new();
                match reader.next_into(&mut payload) {
                    Ok(None) => return None,
                    Err(error) => return Some(Err(error.into())),
                    Ok(Some(count)) => match decode_rows(payload, count as usize) {
                        Ok(decoded) => *rows = decoded.into_iter(),
                        Err(error) => return Some(Err(error)),
                    },
                }
            },
        }
    }
}
