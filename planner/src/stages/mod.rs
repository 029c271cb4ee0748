//! The stage DAG: what the planner hands to the scheduler.
//!
//! A stage is described by what the scheduler needs to know of it and no more: how many partitions,
//! which shuffles it reads, what it leaves behind, what it asks of an executor. What its tasks *do*
//! stays with the front end that built it.

mod cut;
mod explain;
mod graph;

pub use cut::{CutError, StagePlan, cut};
pub use explain::explain;
pub use graph::{
    Determinism, Locality, Need, ResourceRequest, Stage, StageGraph, StageInput, StageOutput,
};
