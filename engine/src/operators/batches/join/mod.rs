//! Joins: all kinds, by hash, by merge and by trying every pair.
//!
//! A join gives the same rows in the same order whatever memory there is. What holds for NULL, NaN and -0.0 in keys
//! is in [`keys`]; which strategy is used, and which side is built, is the planner's decision.

mod aside;
mod bits;
mod build;
mod columns;
mod filter;
mod groups;
mod hash;
mod hybrid;
mod keys;
mod kind;
mod merge;
mod nested;
mod partition;
mod passes;
mod plan;
mod probe;
mod recut;
mod runs;
mod side;
mod table;
#[cfg(test)]
mod tests;

use arrow::datatypes::SchemaRef;
use millstream_planner::physical::{Join, JoinKind, JoinStrategy};

use self::plan::Plan;
use super::stream::BoxBatches;
use crate::executor::{TableKey, Task, TaskError};

/// Where the right side of a join comes from.
pub(crate) enum Build {
    /// This task's own rows.
    Stream(BoxBatches),
    /// Rows that are the same for all tasks of a stage: those of one executor share the table made of them.
    Shared {
        /// What they share it by.
        key: TableKey,
        /// Opens the rows, if this task has to make the table.
        load: Box<dyn FnOnce() -> Result<BoxBatches, TaskError>>,
    },
}

impl Build {
    fn stream(self) -> Result<BoxBatches, TaskError> {
        match self {
            Self::Stream(stream) => Ok(stream),
            Self::Shared { load, .. } => load(),
        }
    }
}

/// Joins two sides. Nothing is read before the first batch is asked for.
///
/// `RIGHT` and `FULL` joins with a right side that several tasks have whole would give its unmatched rows once a
/// task; so would [`JoinKind::NullAwareAnti`](millstream_planner::physical::JoinKind) miss a NULL in a part of the
/// right side. Nor can a mirrored join be a broadcast or one without keys. The planner does not ask for these.
pub(crate) fn open(
    spec: &Join,
    schema: SchemaRef,
    left: BoxBatches,
    left_schema: SchemaRef,
    right: Build,
    right_schema: SchemaRef,
    task: &Task,
) -> Result<BoxBatches, TaskError> {
    let plan = Plan::new(spec, schema, left_schema, right_schema, task.id.partition)?;
    match (spec.kind, spec.strategy) {
        (JoinKind::Cross, _) | (_, JoinStrategy::NestedLoop) => {
            Ok(nested::open(task, plan, left, right))
        }
        // Whether there is a NULL on the right is a question to all of it.
        (JoinKind::NullAwareAnti, _) => Ok(hash::open(task, plan, left, right)),
        (_, JoinStrategy::Merge) => merge::open(task, plan, left, right),
        (_, JoinStrategy::Hash | JoinStrategy::Broadcast) => {
            Ok(hash::open(task, plan, left, right))
        }
    }
}
