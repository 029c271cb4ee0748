//! Operators over batches of columns: what the stages of a `DataFrame` run inside a task.
//!
//! An operator pulls batches from its inputs and gives batches. Those that hold state ask the task's
//! budget once a batch and spill when they are refused. Which operators there are, and in which order, is
//! the planner's decision; what expressions compute is `eval`'s.
//!
//! ```text
//!  open       from the plan of a stage to a running pipeline
//!  rowwise    filter, project, limit and others that hold nothing
//!  aggregate, join, sort, window    those that hold state
//!  keys       keys of rows, for tables
//!  scatter    the map side of an exchange
//!  batch, stream, spill             what all of them work on
//! ```

pub(crate) mod aggregate;
mod batch;
pub(crate) mod join;
pub(crate) mod keys;
mod open;
mod rowwise;
mod scatter;
pub(crate) mod sort;
mod spill;
mod stream;
pub(crate) mod window;

pub(crate) use batch::{BATCH_ROWS, Batch, batch_of, compact, take};
pub(crate) use open::{Opener, StagePlan, StageTable};
pub(crate) use scatter::{Scatter, give, row_bytes};
pub(crate) use spill::{SpillWriter, Spilled};
pub(crate) use stream::{AsBatches, AsRecords, BatchStream, BoxBatches};
