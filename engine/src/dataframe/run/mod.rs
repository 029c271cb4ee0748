//! Running a plan: planned, cut into stages, each an operation of the lineage that `Rdd`s are made of, so that
//! scheduling, shuffles, recovery and executors in other processes are theirs.

mod adapt;
mod bounds;
mod exchange;
mod fold;
mod groups;
mod lower;
mod stage;

pub(super) use adapt::{adapt, lower};
pub(super) use lower::{TableSource, planned};
