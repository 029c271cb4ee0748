//! Functions of lists, structs and maps. A NULL argument gives NULL, except for those that make a list or struct of
//! their arguments.
//!
//! Elements are compared as values are in grouping: NaN equals NaN and is the largest, -0.0 equals 0.0, and
//! NULL is smaller than all.

mod elements;
mod lists;
mod make;
mod maps;
mod sequence;
mod sum;
#[cfg(test)]
mod tests;

use arrow::datatypes::DataType;
use millstream_planner::expr::ScalarFn;

use super::arguments::Arguments;
use super::error::EvalError;
use super::strings::list_join;
use super::value::Value;

/// The value of a function for each row.
pub(crate) fn call(
    function: ScalarFn,
    args: &[Value],
    rows: usize,
    result: &DataType,
) -> Result<Value, EvalError> {
    use ScalarFn as F;
    let args = Arguments { function, values: args, rows };
    let array = match function {
        F::GetField => return make::get_field(args),
        F::MapKeys => return maps::part(args, 0),
        F::MapValues => return maps::part(args, 1),
        F::MakeList => make::make_list(args, result),
        F::MakeStruct => make::make_struct(args, result),
        F::ListLength => elements::length(args),
        F::ListGet => elements::get(args),
        F::ListContains => elements::contains(args),
        F::ListSort => elements::sort(args),
        F::ListDistinct => elements::distinct(args),
        F::ListReverse => elements::reverse(args),
        F::ListMax => elements::extreme(args, std::cmp::Ordering::Greater),
        F::ListMin => elements::extreme(args, std::cmp::Ordering::Less),
        F::ListJoin => list_join(args),
        F::ListSum => sum::sum(args, result),
        F::Sequence => sequence::sequence(args),
        F::MakeMap => maps::make_map(args, result),
        F::MapGet => maps::get(args),
        other => Err(EvalError::unsupported(format!("{} of lists", other.name()))),
    };
    array.map(Value::Array)
}
