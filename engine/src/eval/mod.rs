//! Evaluation of expressions: a [`Program`](millstream_planner::physical::Program) over batches of columns.
//!
//! An operator makes one [`Evaluator`] and asks it for the columns, or the filter mask, of each batch. The
//! semantics are those of Spark 4 in ANSI mode. Aggregates and windows are operators of their own and not here.

mod arguments;
mod arith;
mod calendar;
mod canonical;
mod case;
mod cast;
mod compare;
mod cost;
mod dates;
mod decimal;
mod error;
mod evaluator;
mod functions;
mod in_set;
mod like;
mod logic;
mod math;
mod merge;
mod nested;
mod position;
mod rows;
mod scalar;
mod selection;
mod strings;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod udf;
mod unary;
mod value;
mod zone;

pub(crate) use canonical::{Canonical, canonical_floats};
pub(crate) use error::EvalError;
pub(crate) use evaluator::{Evaluator, RowOrigin, constant};
pub(crate) use logic::truth;
pub(crate) use scalar::{from_array, to_array};
