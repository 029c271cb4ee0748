//! The scheduler's books: plain structures without decisions that span more than one of them.

mod executor;
mod job;
mod run;
mod stage;
mod tasks;

pub(super) use executor::{ExecutorKey, ExecutorState};
pub(super) use job::{JobState, Pool, QueueKey};
pub(super) use run::{Run, RunKey};
pub(super) use stage::{Held, Input, Phase, Pick, StageKey, StageState};
pub(super) use tasks::{NONE, TaskTable};
