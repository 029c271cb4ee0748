//! Logical plans: what a `DataFrame` program has asked for, with names and types resolved.
//!
//! Plans are trees of shared nodes. As with expressions, a program may build thousands of levels in a loop, so
//! that dropping is done in a loop and other walks grow the stack ([`crate::expr::deeper`]).

pub mod builder;
mod names;
mod plan;

pub use plan::{
    ColumnStatistics, Field, GroupingSets, JoinType, LogicalPlan, PlanRef, Schema, SetOperation,
    Source, Table,
};
