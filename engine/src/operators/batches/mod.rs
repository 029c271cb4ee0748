//! Operators over batches of columns: what the stages of a `DataFrame` run inside a task.
//!
//! An operator pulls batches from its inputs and gives batches. Those that hold state ask the task's
//! budget once a batch and spill when they are refused. Which operators there are, and in which order, is
//! the planner's decision; what expressions compute is `eval`'s.

mod batch;
pub(crate) mod keys;
mod spill;
mod stream;

pub(crate) use batch::{BATCH_ROWS, Batch, batch_of, compact, take};
pub(crate) use spill::{SpillWriter, Spilled};
pub(crate) use stream::{AsBatches, AsRecords, BatchStream, BoxBatches};
