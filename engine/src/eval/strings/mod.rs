//! Functions of strings.

use arrow::datatypes::DataType;
use millstream_planner::expr::{Scalar, ScalarFn};

use super::error::EvalError;
use super::value::Value;

pub(crate) enum Prepared {}

pub(crate) fn prepare(
    _function: ScalarFn,
    _constants: &[Option<&Scalar>],
) -> Result<Option<Prepared>, EvalError> {
    Ok(None)
}

pub(crate) fn call(
    function: ScalarFn,
    _args: &[Value],
    _rows: usize,
    _result: &DataType,
    _prepared: Option<&Prepared>,
) -> Result<Value, EvalError> {
    Err(EvalError::unsupported(function.name()))
}
