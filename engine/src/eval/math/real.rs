//! Functions of real numbers, in double precision. Where one has no value it gives NaN, and a logarithm NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float64Type, Int64Type};
use millstream_planner::expr::ScalarFn;

use crate::eval::arguments::Arguments;
use crate::eval::cast::cast;
use crate::eval::error::EvalError;
use crate::eval::value::Value;

pub(super) fn of_one(function: ScalarFn, arg: &Value) -> Result<Value, EvalError> {
    use ScalarFn as F;
    let compute: fn(f64) -> f64 = match function {
        F::Signum => |x| if x == 0.0 || x.is_nan() { x } else { x.signum() },
        F::Sqrt => f64::sqrt,
        F::Cbrt => f64::cbrt,
        F::Exp => f64::exp,
        F::Ln => f64::ln,
        F::Log2 => f64::log2,
        F::Log10 => f64::log10,
        F::Sin => f64::sin,
        F::Cos => f64::cos,
        F::Tan => f64::tan,
        F::Asin => f64::asin,
        F::Acos => f64::acos,
        F::Atan => f64::atan,
        F::Degrees => f64::to_degrees,
        F::Radians => f64::to_radians,
        other => {
            return Err(EvalError::unsupported(format!("function {} of numbers", other.name())));
        }
    };
    let is_logarithm = matches!(function, F::Ln | F::Log2 | F::Log10);
    arg.map(|array| {
        let array = cast(array, &DataType::Float64, false)?;
        let numbers = array.as_primitive::<Float64Type>();
        let of: Float64Array = numbers.unary(compute);
        Ok(Arc::new(if is_logarithm { where_positive(numbers, of) } else { of }) as ArrayRef)
    })
}

/// The logarithms of what has one.
fn where_positive(numbers: &Float64Array, logarithms: Float64Array) -> Float64Array {
    let values = numbers.values();
    let positive =
        BooleanBuffer::collect_bool(values.len(), |row| values[row] > 0.0 || values[row].is_nan());
    if positive.count_set_bits() == positive.len() {
        return logarithms;
    }
    let (_, values, nulls) = logarithms.into_parts();
    Float64Array::new(values, NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(positive))))
}

pub(super) fn of_two(function: ScalarFn, left: &Value, right: &Value) -> Result<Value, EvalError> {
    let doubles = |value: &Value| value.map(|array| cast(array, &DataType::Float64, false));
    let values = [doubles(left)?, doubles(right)?];
    let rows = if left.is_constant() { right.array().len() } else { left.array().len() };
    let arguments = Arguments { function, values: &values, rows };
    let (a, b) = (Column::<Float64Type>::of(&values[0]), Column::<Float64Type>::of(&values[1]));
    let compute: fn(f64, f64) -> f64 = if function == ScalarFn::Pow { power } else { f64::atan2 };
    let of = arguments.primitives::<Float64Type>(|row| Ok(compute(a.get(row), b.get(row))))?;
    Ok(Value::of(of))
}

/// As Java has it: unlike in C, 1 to the power of NaN, and of infinity, is NaN.
fn power(x: f64, y: f64) -> f64 {
    if y.is_nan() || (x.abs() == 1.0 && y.is_infinite()) { f64::NAN } else { x.powf(y) }
}

/// In which of equal parts of a range a value is: 1 to `buckets`, 0 below the range and one more from its end on.
/// A range that runs downwards counts from its upper end. NULL where there is no such number: of no buckets, an
/// empty or infinite range, and NaN.
pub(super) fn width_bucket(arguments: &Arguments<'_>) -> Result<Value, EvalError> {
    let double = |position| {
        let arg: &Value = arguments.get(position)?;
        arg.map(|array| cast(array, &DataType::Float64, false))
    };
    let (value, from, to) = (double(0)?, double(1)?, double(2)?);
    let count = arguments.get(3)?.map(|array| cast(array, &DataType::Int64, false))?;
    let column = Column::<Float64Type>::of;
    let (x, low, high) = (column(&value), column(&from), column(&to));
    let buckets = Column::<Int64Type>::of(&count);
    let nulls = arguments.nulls();
    let of = |row: usize| match nulls.as_ref() {
        Some(nulls) if nulls.is_null(row) => None,
        _ => bucket(x.get(row), low.get(row), high.get(row), buckets.get(row)),
    };
    Ok(Value::of(Int64Array::from_iter((0..arguments.rows).map(of))))
}

fn bucket(x: f64, from: f64, to: f64, buckets: i64) -> Option<i64> {
    let after = buckets.checked_add(1).filter(|_| buckets > 0)?;
    if x.is_nan() || !from.is_finite() || !to.is_finite() || from == to {
        return None;
    }
    let (above_start, width) =
        if from < to { (x - from, to - from) } else { (from - x, from - to) };
    if above_start < 0.0 {
        return Some(0);
    }
    if above_start >= width {
        return Some(after);
    }
    Some((buckets as f64 * above_start / width) as i64 + 1)
}

/// The numbers of an argument by row.
struct Column<'a, T: ArrowPrimitiveType> {
    values: &'a PrimitiveArray<T>,
    value: &'a Value,
}

impl<'a, T: ArrowPrimitiveType> Column<'a, T> {
    fn of(value: &'a Value) -> Self {
        Self { values: value.array().as_primitive::<T>(), value }
    }

    fn get(&self, row: usize) -> T::Native {
        self.values.value(self.value.index(row))
    }
}
