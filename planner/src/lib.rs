//! What to compute: identities, lineage and the stage DAG, as pure data and pure functions.
//!
//! This crate does no I/O, starts no threads and reads no clock. It answers one question, *what is to
//! be computed*; how data moves is `millstream-shuffle`'s, and who runs it where is `millstream`'s.
//!
//! - [`ids`]: the identities of jobs, stages, shuffles and lineage nodes.
//! - [`expr`]: expressions over columns, as a program writes them.
//! - [`types`]: which types expressions take and give.
//! - [`logical`]: plans of `DataFrame` programs, with names and types resolved.
//! - [`optimizer`]: plans that give the same rows at less cost.
//! - [`physical`]: operators and expressions as they are run.
//! - [`lineage`]: the graph of operations a program has built.
//! - [`stages`]: that graph cut at its exchanges into stages.
//! - [`error`]: what can be wrong with a plan.

pub mod error;
pub mod expr;
pub mod ids;
pub mod lineage;
pub mod logical;
pub mod optimizer;
pub mod physical;
pub mod stages;
pub mod types;
