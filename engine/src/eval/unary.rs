//! Operations on one value.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::boolean;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit, TimeUnit, i256,
};
use millstream_planner::expr::UnaryOp;

use super::error::{EvalError, type_name};
use super::logic::truth;
use super::scalar::describe;
use super::value::Value;

pub(super) fn apply(op: UnaryOp, value: &Value) -> Result<Value, EvalError> {
    value.map(|array| {
        Ok(match op {
            UnaryOp::Not => Arc::new(boolean::not(&truth(array)?)?),
            UnaryOp::IsNull => Arc::new(boolean::is_null(array)?),
            UnaryOp::IsNotNull => Arc::new(boolean::is_not_null(array)?),
            UnaryOp::IsNan => Arc::new(is_nan(array)?),
            UnaryOp::Negate => negate(array)?,
        })
    })
}

fn is_nan(array: &ArrayRef) -> Result<BooleanArray, EvalError> {
    fn of<T: ArrowPrimitiveType>(
        array: &ArrayRef,
        is_nan: impl Fn(T::Native) -> bool,
    ) -> BooleanArray {
        let values = array.as_primitive::<T>().values();
        let mask = BooleanBuffer::collect_bool(values.len(), |row| is_nan(values[row]));
        BooleanArray::new(mask, array.nulls().cloned())
    }
    Ok(match array.data_type() {
        DataType::Float32 => of::<Float32Type>(array, f32::is_nan),
        DataType::Float64 => of::<Float64Type>(array, f64::is_nan),
        _ => BooleanArray::new(BooleanBuffer::new_unset(array.len()), array.logical_nulls()),
    })
}

fn negate(array: &ArrayRef) -> Result<ArrayRef, EvalError> {
    macro_rules! checked {
        ($arrow:ty) => {
            checked::<$arrow>(array, "-", |value| value.checked_neg())
        };
    }
    match array.data_type() {
        DataType::Null => Ok(Arc::clone(array)),
        DataType::Int8 => checked!(Int8Type),
        DataType::Int16 => checked!(Int16Type),
        DataType::Int32 => checked!(Int32Type),
        DataType::Int64 => checked!(Int64Type),
        DataType::Float32 => {
            Ok(Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|x| -x)))
        }
        DataType::Float64 => {
            Ok(Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|x| -x)))
        }
        DataType::Decimal128(..) => checked!(Decimal128Type),
        DataType::Decimal256(..) => checked::<Decimal256Type>(array, "-", i256::checked_neg),
        DataType::Duration(TimeUnit::Microsecond) => checked!(DurationMicrosecondType),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            checked::<IntervalMonthDayNanoType>(array, "-", |value| {
                Some(IntervalMonthDayNano::new(
                    value.months.checked_neg()?,
                    value.days.checked_neg()?,
                    value.nanoseconds.checked_neg()?,
                ))
            })
        }
        other => Err(EvalError::unsupported(format!("negative of {}", type_name(other)))),
    }
}

/// A function of each value that is not NULL; where it has no value, an error names it.
pub(super) fn checked<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    name: &str,
    of: impl Fn(T::Native) -> Option<T::Native>,
) -> Result<ArrayRef, EvalError> {
    let values = array.as_primitive::<T>();
    let mut failed = None;
    let results = values.values().iter().enumerate().map(|(row, value)| {
        of(*value).unwrap_or_else(|| {
            if failed.is_none() && values.is_valid(row) {
                failed = Some(row);
            }
            *value
        })
    });
    let results = PrimitiveArray::<T>::new(results.collect(), values.nulls().cloned());
    match failed {
        None => Ok(Arc::new(results.with_data_type(array.data_type().clone()))),
        Some(row) => Err(EvalError::Overflow {
            operation: format!("{name}({})", describe(array, row)),
            data_type: array.data_type().clone(),
            instead: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array};

    use super::*;

    #[test]
    fn the_smallest_integer_has_no_negative_but_under_a_null_it_does_not_matter() {
        let value = Value::of(Int64Array::from(vec![Some(1), None, Some(i64::MIN)]));
        let error = apply(UnaryOp::Negate, &value).unwrap_err().to_string();
        assert_eq!(error, "-(-9223372036854775808) does not fit into bigint");
        let nulls = Some(vec![true, false].into());
        let value = Value::of(Int64Array::new(vec![7, i64::MIN].into(), nulls));
        let negative = apply(UnaryOp::Negate, &value).unwrap();
        assert_eq!(
            negative.array().as_primitive::<Int64Type>(),
            &Int64Array::from(vec![Some(-7), None])
        );
    }

    #[test]
    fn nan_is_found() {
        let value = Value::of(Float64Array::from(vec![Some(f64::NAN), Some(1.0), None]));
        let found = apply(UnaryOp::IsNan, &value).unwrap();
        assert_eq!(
            found.array().as_boolean(),
            &BooleanArray::from(vec![Some(true), Some(false), None])
        );
    }
}
