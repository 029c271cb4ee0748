//! Grouping and aggregating, within any memory.
//!
//! Groups are numbered as they come, and what aggregates keep of them lies in vectors by these numbers. When
//! memory is refused, all states are spilled by a hash of their key, and merged partition by partition in the end; what
//! is still too large for memory then is merged in several passes over it.
//!
//! The order of the rows given is a function of the input alone: by the hash partition of the key, and in
//! the order in which the keys have come in each. Results are too: float sums are exact, sketches do not depend
//! on the order of merging. So are the cuts between batches.
//!
//! What must fit in memory is one group: a list of all values of one key is an error that names the key where
//! it does not.

mod accumulator;
mod approx_distinct;
mod approx_quantile;
mod bools;
mod cells;
mod collect;
mod count;
mod distinct;
mod double;
mod exact;
mod extreme;
mod fold;
mod groups;
mod hll;
mod judge;
mod lists;
mod make;
mod merge;
mod moments;
mod output;
mod part;
mod pick;
mod stream;
mod sum;
mod wide;

#[cfg(test)]
mod tests;

use std::rc::Rc;

use arrow::datatypes::SchemaRef;
use millstream_planner::physical::Aggregate;

pub(super) use self::accumulator::Accumulator;
pub(super) use self::make::accumulator;
use self::part::Shape;
use self::stream::Grouping;
use super::BoxBatches;
use crate::executor::{Task, TaskError};

/// The rows of an aggregation over those of `input`, whose columns are `input_schema`. Columns given have the
/// types of `schema`.
pub(crate) fn open(
    spec: &Aggregate,
    schema: SchemaRef,
    input_schema: SchemaRef,
    input: BoxBatches,
    task: &Task,
) -> Result<BoxBatches, TaskError> {
    let shape = Shape::new(spec, schema, &input_schema)?;
    Ok(Box::new(Grouping::new(Rc::new(shape), input, task)?))
}
