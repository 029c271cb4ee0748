//! Running tasks: slots, the task's view of its executor, and what is kept between tasks.
//!
//! An executor runs what it is told to; which task runs where is the scheduler's decision, carried out
//! by the driver.

mod blocks;
mod error;
mod exchange;
mod meter;
mod panics;
mod persisted;
mod place;
mod program;
mod remote;
mod run;
mod runtime;
mod slots;
mod tables;
mod task;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use blocks::BlockBuilder;
pub(crate) use error::TaskError;
pub(crate) use exchange::{Chunk, MapWriter, ReduceReader, read_rows};
pub(crate) use meter::{Figures, Meter, Metering, TaskFigures};
pub(crate) use place::{Place, PlaceRows};
pub(crate) use program::{MapResult, Output, Program, SentProgram, StageProgram};
pub(crate) use remote::{Role, run as run_as_executor};
pub(crate) use run::{Outcome, Report, in_task, message};
pub(crate) use runtime::{CommitGate, Runtime};
pub(crate) use slots::{Launch, Slots};
pub(crate) use tables::TableKey;
pub(crate) use task::{Metrics, Task, TaskContext};
