//! Batches on disk: what an operator over columns puts away by partition and reads again.
//!
//! What is spilled when, and by which partitions, is the operator's decision.

use std::rc::Rc;

use arrow::array::RecordBatch;
use millstream_shuffle::budget::SpillCause;
use millstream_shuffle::read::{BlockReader, Segment};
use millstream_shuffle::write::SegmentWriter;

use super::batch::Batch;
use super::stream::{BatchStream, BoxBatches};
use crate::executor::{BlockBuilder, Task, TaskError};

/// Writes batches to one file by partition. Batches of one partition come back in the order in which they were
/// written. Nothing is buffered but one block a batch.
pub(crate) struct SpillWriter {
    task: Task,
    name: String,
    writer: SegmentWriter,
    /// Bytes that the task has been told of.
    told: u64,
}

/// Batches that were written.
#[derive(Clone)]
pub(crate) struct Spilled {
    segment: Segment,
}

impl SpillWriter {
    /// A file of so many partitions.
    pub(crate) fn new(task: &Task, partitions: u32) -> Result<Self, TaskError> {
        let name = task.file_name("spill");
        let mut writer =
            SegmentWriter::create(&task.runtime.dirs, &name, partitions, task.runtime.codec)?;
        writer.keep_runs();
        Ok(Self { task: Rc::clone(task), name, writer, told: 0 })
    }

    /// Adds a batch to a partition. Partitions come in increasing order within a run; [`Self::begin_run`] starts over.
    pub(crate) fn write(&mut self, partition: u32, batch: RecordBatch) -> Result<(), TaskError> {
        self.task.check()?;
        let mut block = BlockBuilder::new(0);
        block.push(&Batch(batch))?;
        block.flush(|payload, rows| self.writer.write_block(partition, payload, rows, None))
    }

    /// Lets partitions start over from the first.
    pub(crate) fn begin_run(&mut self) {
        self.tell();
        self.writer.begin_run();
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<Spilled, TaskError> {
        self.tell();
        Ok(Spilled { segment: self.writer.finish(&self.name)? })
    }

    /// Tells what has been spilled since the last time: once a run, not once a block.
    fn tell(&mut self) {
        let written = self.writer.bytes_written();
        if written > self.told {
            self.task.spilled(SpillCause::Refused, written - self.told);
            self.told = written;
        }
    }
}

impl Spilled {
    /// The batches of a partition, as often as one likes.
    pub(crate) fn read(&self, task: &Task, partition: u32) -> Result<BoxBatches, TaskError> {
        let reader = self.segment.read(partition)?;
        let (task, payload, _file) = (Rc::clone(task), Vec::new(), self.segment.clone());
        Ok(Box::new(SpillReader { task, reader, payload, _file }))
    }

    /// Encoded bytes of a partition.
    pub(crate) fn bytes(&self, partition: u32) -> u64 {
        self.segment.bytes(partition)
    }
}

struct SpillReader {
    task: Task,
    reader: BlockReader,
    /// Of the block last read: memory for the next.
    payload: Vec<u8>,
    /// Keeps the file for as long as it is read.
    _file: Segment,
}

impl BatchStream for SpillReader {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        self.task.check()?;
        let Some(rows) = self.reader.next_into(&mut self.payload)? else { return Ok(None) };
        match (rows, postcard::take_from_bytes(&self.payload)) {
            (1, Ok((Batch(batch), []))) => Ok(Some(batch)),
            _ => Err(TaskError::internal("a spilled block is not one batch")),
        }
    }
}
