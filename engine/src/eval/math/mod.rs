//! Functions of numbers, and those that choose among values.

mod choose;
mod real;
mod round;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use millstream_planner::expr::{BinaryOp, ScalarFn};
use millstream_shuffle::partition::hash_columns;

use self::round::Rounding;
use super::arguments::Arguments;
use super::arith;
use super::error::{EvalError, type_name};
use super::unary::checked;
use super::value::Value;

/// The value of a function of this family.
pub(crate) fn call(
    function: ScalarFn,
    args: &[Value],
    rows: usize,
    result: &DataType,
) -> Result<Value, EvalError> {
    use ScalarFn as F;
    let arguments = Arguments { function, values: args, rows };
    let arg = |position| arguments.get(position);
    let by_operator = |op| arith::apply_or_null(op, arg(0)?, arg(1)?, result);
    match function {
        F::NullIf => choose::null_if(arg(0)?, arg(1)?, rows),
        F::Greatest => choose::extreme(args, BinaryOp::Gt, rows, result),
        F::Least => choose::extreme(args, BinaryOp::Lt, rows, result),
        F::NanVl => choose::nan_vl(arg(0)?, arg(1)?, rows, result),
        F::Abs => arg(0)?.map(absolute),
        F::Floor => round::whole(arg(0)?, Rounding::Down, result),
        F::Ceil => round::whole(arg(0)?, Rounding::Up, result),
        F::Round => round::to_digits(&arguments, Rounding::HalfUp, result),
        F::BRound => round::to_digits(&arguments, Rounding::HalfEven, result),
        F::Trunc => round::to_digits(&arguments, Rounding::ToZero, result),
        F::PMod => arith::positive_remainder(arg(0)?, arg(1)?, result),
        F::TryAdd => by_operator(BinaryOp::Add),
        F::TrySubtract => by_operator(BinaryOp::Subtract),
        F::TryMultiply => by_operator(BinaryOp::Multiply),
        F::TryDivide => by_operator(BinaryOp::Divide),
        F::BitNot => arg(0)?.map(turned),
        F::WidthBucket => real::width_bucket(&arguments),
        F::Hash => hash(args, rows),
        F::Pow | F::Atan2 => real::of_two(function, arg(0)?, arg(1)?),
        _ => real::of_one(function, arg(0)?),
    }
}

fn absolute(array: &ArrayRef) -> Result<ArrayRef, EvalError> {
    macro_rules! absolute {
        ($arrow:ty) => {
            checked::<$arrow>(array, "abs", |value| value.checked_abs())
        };
    }
    match array.data_type() {
        DataType::Int8 => absolute!(Int8Type),
        DataType::Int16 => absolute!(Int16Type),
        DataType::Int32 => absolute!(Int32Type),
        DataType::Int64 => absolute!(Int64Type),
        DataType::Decimal128(..) => absolute!(Decimal128Type),
        DataType::Decimal256(..) => checked::<Decimal256Type>(array, "abs", |value| {
            if value.is_negative() { i256::checked_neg(value) } else { Some(value) }
        }),
        DataType::Float32 => {
            Ok(Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::abs)))
        }
        DataType::Float64 => {
            Ok(Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::abs)))
        }
        other if other.is_unsigned_integer() || other.is_null() => Ok(Arc::clone(array)),
        other => Err(EvalError::unsupported(format!("abs of {}", type_name(other)))),
    }
}

fn turned(array: &ArrayRef) -> Result<ArrayRef, EvalError> {
    macro_rules! turned {
        ($arrow:ty) => {
            Ok(Arc::new(array.as_primitive::<$arrow>().unary::<_, $arrow>(|bits| !bits)))
        };
    }
    match array.data_type() {
        DataType::Int8 => turned!(Int8Type),
        DataType::Int16 => turned!(Int16Type),
        DataType::Int32 => turned!(Int32Type),
        DataType::Int64 => turned!(Int64Type),
        DataType::UInt8 => turned!(UInt8Type),
        DataType::UInt16 => turned!(UInt16Type),
        DataType::UInt32 => turned!(UInt32Type),
        DataType::UInt64 => turned!(UInt64Type),
        other => Err(EvalError::unsupported(format!("bits of {}", type_name(other)))),
    }
}

/// The hash by which rows are spread over partitions.
fn hash(args: &[Value], rows: usize) -> Result<Value, EvalError> {
    let columns = args.iter().map(|arg| arg.clone().into_array(rows));
    let hashes = hash_columns(&columns.collect::<Result<Vec<_>, _>>()?, rows)?;
    Ok(Value::of(Int64Array::from_iter_values(hashes.into_iter().map(|hash| hash as i64))))
}
