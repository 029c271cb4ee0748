//! Running a plan: planned, cut into stages, each an operation of the lineage that `Rdd`s are made of, so that
//! scheduling, shuffles, recovery and executors in other processes are theirs.

mod bounds;
mod exchange;
mod fold;
mod lower;
mod stage;

pub(super) use lower::{Ready, TableSource, lower, lower_measured, planned};
