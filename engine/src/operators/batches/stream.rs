//! Streams of batches: how columns pass from one operator to the next inside a task. Pulled, on one thread.

use arrow::array::RecordBatch;

use super::batch::Batch;
use crate::executor::TaskError;
use crate::rdd::{BoxStream, ChunkStream};

/// Batches; `None` is the end. Batches may be empty, and of any length.
pub(crate) trait BatchStream {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError>;
}

/// A stream of any origin.
pub(crate) type BoxBatches = Box<dyn BatchStream>;

impl<F: FnMut() -> Result<Option<RecordBatch>, TaskError>> BatchStream for F {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        self()
    }
}

/// Batches as the records of a node.
pub(crate) struct AsRecords(pub(crate) BoxBatches);

impl ChunkStream<Batch> for AsRecords {
    fn next_chunk(&mut self) -> Result<Option<Vec<Batch>>, TaskError> {
        Ok(self.0.next()?.map(|batch| vec![Batch(batch)]))
    }
}

/// The records of a node as batches.
pub(crate) struct AsBatches {
    records: BoxStream<Batch>,
    chunk: std::vec::IntoIter<Batch>,
}

impl AsBatches {
    pub(crate) fn new(records: BoxStream<Batch>) -> Self {
        Self { records, chunk: Vec::new().into_iter() }
    }
}

impl BatchStream for AsBatches {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if let Some(Batch(batch)) = self.chunk.next() {
                return Ok(Some(batch));
            }
            match self.records.next_chunk()? {
                Some(chunk) => self.chunk = chunk.into_iter(),
                None => return Ok(None),
            }
        }
    }
}
