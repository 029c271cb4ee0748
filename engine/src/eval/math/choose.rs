//! Functions that give one of their arguments.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::boolean::is_null;
use arrow::compute::nullif;
use arrow::datatypes::DataType;
use millstream_planner::expr::{BinaryOp, UnaryOp};

use crate::eval::cast::cast;
use crate::eval::compare::compare;
use crate::eval::error::EvalError;
use crate::eval::logic::is_true;
use crate::eval::merge::{Piece, merge};
use crate::eval::unary;
use crate::eval::value::Value;

pub(super) fn null_if(value: &Value, other: &Value, rows: usize) -> Result<Value, EvalError> {
    if value.data_type().is_null() || other.data_type().is_null() {
        return Ok(value.clone());
    }
    let equal = compare(BinaryOp::Eq, value, other)?.into_array(rows)?;
    let equal = BooleanArray::new(is_true(equal.as_boolean()), None);
    Ok(Value::Array(nullif(&value.clone().into_array(rows)?, &equal)?))
}

/// The largest or smallest argument, by which comparison replaces the one so far. NULLs are passed over.
pub(super) fn extreme(
    args: &[Value],
    replaces: BinaryOp,
    rows: usize,
    result: &DataType,
) -> Result<Value, EvalError> {
    let mut best = Value::null(result);
    for arg in args {
        let arg = arg.map(|array| cast(array, result, false))?;
        if arg.is_null_constant() {
            continue;
        }
        if best.is_null_constant() {
            best = arg;
            continue;
        }
        let mask = |value: Value| -> Result<BooleanBuffer, EvalError> {
            Ok(is_true(value.into_array(rows)?.as_boolean()))
        };
        let better = mask(compare(replaces, &arg, &best)?)?;
        let missing =
            mask(best.map(|array| Ok::<_, EvalError>(Arc::new(is_null(array)?) as ArrayRef))?)?;
        let taken = &better | &missing;
        best = pick(taken, arg, best, rows, result)?;
    }
    Ok(best)
}

pub(super) fn nan_vl(
    value: &Value,
    other: &Value,
    rows: usize,
    result: &DataType,
) -> Result<Value, EvalError> {
    let is_nan = unary::apply(UnaryOp::IsNan, value)?.into_array(rows)?;
    let value = value.map(|array| cast(array, result, false))?;
    let other = other.map(|array| cast(array, result, false))?;
    pick(is_true(is_nan.as_boolean()), other, value, rows, result)
}

/// One value where the mask is set and the other where it is not.
fn pick(
    mask: BooleanBuffer,
    set: Value,
    unset: Value,
    rows: usize,
    result: &DataType,
) -> Result<Value, EvalError> {
    let rest = !&mask;
    let pieces = [(set, mask), (unset, rest)];
    let pieces = pieces.into_iter().filter(|(_, mask)| mask.count_set_bits() > 0);
    let pieces = pieces.map(|(value, rows)| Piece { value, rows, by_rank: false });
    merge(pieces.collect(), rows, result)
}
