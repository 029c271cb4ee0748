//! Evaluation of expressions: a [`Program`](millstream_planner::physical::Program) over batches of columns.
//!
//! An operator makes one [`Evaluator`] and asks it for the columns, or the filter mask, of each batch. The
//! semantics are those of Spark 4 in ANSI mode. Aggregates and windows are operators of their own and not here.

mod arguments;
mod calendar;
mod cast;
mod dates;
mod error;
mod functions;
mod math;
mod nested;
mod scalar;
mod strings;
#[cfg(test)]
mod testing;
mod value;
mod zone;

pub(crate) use error::EvalError;
