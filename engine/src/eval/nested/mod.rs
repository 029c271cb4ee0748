//! Functions of nested.

use arrow::datatypes::DataType;
use millstream_planner::expr::ScalarFn;

use super::error::EvalError;
use super::value::Value;

pub(crate) fn call(
    function: ScalarFn,
    _args: &[Value],
    _rows: usize,
    _result: &DataType,
) -> Result<Value, EvalError> {
    Err(EvalError::unsupported(function.name()))
}
