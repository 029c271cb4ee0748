//! Variables shared by the driver and its tasks: broadcasts go out, accumulators come back.

mod accumulator;
mod broadcast;

pub use accumulator::{Accumulate, Accumulator};
pub(crate) use accumulator::{AccumulatorTotals, AccumulatorUpdates, enter_task, leave_task};
pub use broadcast::Broadcast;
