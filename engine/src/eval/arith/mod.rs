//! Arithmetic: checked, at exactly the result type of the program.

mod decimals;
mod integers;
mod lanes;
mod temporal;
#[cfg(test)]
mod tests;

use arrow::datatypes::{DataType, Float32Type, Float64Type, IntervalUnit};
use millstream_planner::expr::BinaryOp;

use self::lanes::Operation;
use super::cast;
use super::error::{EvalError, type_name};
use super::value::Value;

/// An operation that is no comparison. Rows in which it fails are an error.
pub(super) fn apply(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    result: &DataType,
) -> Result<Value, EvalError> {
    dispatch(&Operation { op, left, right, result, lenient: false })
}

/// The same, with NULL for rows in which it fails: the `try_` functions.
pub(super) fn apply_or_null(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    result: &DataType,
) -> Result<Value, EvalError> {
    dispatch(&Operation { op, left, right, result, lenient: true })
}

/// `pmod`: the remainder, with the divisor added once where it is negative.
pub(super) fn positive_remainder(
    left: &Value,
    right: &Value,
    result: &DataType,
) -> Result<Value, EvalError> {
    if left.data_type().is_null() || right.data_type().is_null() {
        return Ok(Value::null(result));
    }
    let operation = Operation { op: BinaryOp::Remainder, left, right, result, lenient: false };
    match result {
        DataType::Float32 => with_both(&operation, &DataType::Float32, |operation| {
            operation.checked::<Float32Type, Float32Type, Float32Type>(|a, b| {
                let rest = a % b;
                (if rest < 0.0 { (rest + b) % b } else { rest }, b == 0.0)
            })
        }),
        DataType::Float64 => with_both(&operation, &DataType::Float64, |operation| {
            operation.checked::<Float64Type, Float64Type, Float64Type>(|a, b| {
                let rest = a % b;
                (if rest < 0.0 { (rest + b) % b } else { rest }, b == 0.0)
            })
        }),
        integer if integer.is_integer() => integers::positive_remainder(&operation),
        _ => {
            let (left, right) = (decimals::of_integers(left)?, decimals::of_integers(right)?);
            decimals::positive_remainder(&Operation { left: &left, right: &right, ..operation })
        }
    }
}

fn dispatch(operation: &Operation<'_>) -> Result<Value, EvalError> {
    let Operation { left, right, result, .. } = *operation;
    let (a, b) = (left.data_type(), right.data_type());
    if a.is_null() || b.is_null() {
        return Ok(Value::null(result));
    }
    if is_temporal(a) || is_temporal(b) {
        return temporal::apply(operation);
    }
    if is_decimal(a) && is_decimal(b) {
        return decimals::apply(operation);
    }
    match result {
        DataType::Float32 => with_both(operation, &DataType::Float32, |operation| {
            floats::<Float32Type>(operation, |a, b| a % b)
        }),
        DataType::Float64 => with_both(operation, &DataType::Float64, |operation| {
            floats::<Float64Type>(operation, |a, b| a % b)
        }),
        integer if integer.is_integer() && a.is_floating() => {
            with_both(operation, &DataType::Float64, |operation| whole_quotient(operation, integer))
        }
        integer if integer.is_integer() => integers::apply(operation),
        DataType::Boolean if *a == DataType::Boolean && a == b => bits_of_truth(operation),
        DataType::Decimal128(..) | DataType::Decimal256(..) => {
            let (left, right) = (decimals::of_integers(left)?, decimals::of_integers(right)?);
            decimals::apply(&Operation { left: &left, right: &right, ..*operation })
        }
        _ => Err(unsupported(operation)),
    }
}

/// How an operation is written.
fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::IntegerDivide => "div",
        BinaryOp::Remainder => "%",
        BinaryOp::Eq => "=",
        BinaryOp::NotEq => "<>",
        BinaryOp::Lt => "<",
        BinaryOp::LtEq => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::GtEq => ">=",
        BinaryOp::NullSafeEq => "<=>",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
    }
}

fn unsupported(operation: &Operation<'_>) -> EvalError {
    let Operation { op, left, right, result, .. } = operation;
    EvalError::unsupported(format!(
        "{} {} {} that gives {}",
        type_name(left.data_type()),
        symbol(*op),
        type_name(right.data_type()),
        type_name(result)
    ))
}

fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
}

fn is_temporal(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Date32
            | DataType::Timestamp(..)
            | DataType::Interval(IntervalUnit::MonthDayNano)
            | DataType::Duration(_)
    )
}

/// An operation on both sides as one type.
fn with_both(
    operation: &Operation<'_>,
    data_type: &DataType,
    then: impl Fn(&Operation<'_>) -> Result<Value, EvalError>,
) -> Result<Value, EvalError> {
    let Operation { left, right, .. } = *operation;
    if left.data_type() == data_type && right.data_type() == data_type {
        return then(operation);
    }
    let left = left.map(|array| cast::cast(array, data_type, false))?;
    let right = right.map(|array| cast::cast(array, data_type, false))?;
    then(&Operation { left: &left, right: &right, ..*operation })
}

/// Division by zero is an error for floating-point numbers too.
fn floats<T>(
    operation: &Operation<'_>,
    remainder: impl Fn(T::Native, T::Native) -> T::Native,
) -> Result<Value, EvalError>
where
    T: arrow::array::ArrowPrimitiveType,
    T::Native: arrow::datatypes::ArrowNativeTypeOp,
{
    use arrow::datatypes::ArrowNativeTypeOp;
    match operation.op {
        BinaryOp::Add => operation.plain::<T, T, T>(|a, b| a.add_wrapping(b)),
        BinaryOp::Subtract => operation.plain::<T, T, T>(|a, b| a.sub_wrapping(b)),
        BinaryOp::Multiply => operation.plain::<T, T, T>(|a, b| a.mul_wrapping(b)),
        BinaryOp::Divide => operation.checked::<T, T, T>(|a, b| (a.div_wrapping(b), b.is_zero())),
        BinaryOp::Remainder => operation.checked::<T, T, T>(|a, b| (remainder(a, b), b.is_zero())),
        _ => Err(unsupported(operation)),
    }
}

/// `div` of doubles: the whole part of the quotient.
fn whole_quotient(operation: &Operation<'_>, integer: &DataType) -> Result<Value, EvalError> {
    if operation.op != BinaryOp::IntegerDivide {
        return Err(unsupported(operation));
    }
    let doubles = Operation { result: &DataType::Float64, ..*operation };
    let quotient = doubles
        .checked::<Float64Type, Float64Type, Float64Type>(|a, b| ((a / b).trunc(), b == 0.0))?;
    quotient.map(|array| cast::cast(array, integer, operation.lenient))
}

fn bits_of_truth(operation: &Operation<'_>) -> Result<Value, EvalError> {
    use arrow::array::AsArray;
    use arrow::compute::kernels::{boolean, cmp};
    let Operation { op, left, right, .. } = operation;
    let rows = if left.is_constant() { right.array().len() } else { left.array().len() };
    let column = |value: &Value| value.clone().into_array(rows);
    let (a, b) = (column(left)?, column(right)?);
    Ok(Value::of(match op {
        BinaryOp::BitAnd => boolean::and(a.as_boolean(), b.as_boolean())?,
        BinaryOp::BitOr => boolean::or(a.as_boolean(), b.as_boolean())?,
        BinaryOp::BitXor => cmp::neq(&a, &b)?,
        _ => return Err(unsupported(operation)),
    }))
}
