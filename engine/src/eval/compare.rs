//! Comparisons: NaN equals NaN and is the largest number, -0.0 equals 0.0, and in lists and structs NULL equals
//! NULL and is the smallest value.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, make_comparator};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::SortOptions;
use arrow::compute::kernels::cmp;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float32Type, Float64Type};
use millstream_planner::expr::BinaryOp;

use super::canonical::canonical_floats;
use super::error::EvalError;
use super::value::Value;

/// A comparison of two values of one type.
pub(super) fn compare(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, EvalError> {
    let mask = match left.data_type() {
        DataType::Float32 => floats::<Float32Type>(op, left, right),
        DataType::Float64 => floats::<Float64Type>(op, left, right),
        other if other.is_nested() => nested(op, left, right)?,
        _ => match op {
            BinaryOp::Eq => cmp::eq(left, right)?,
            BinaryOp::NotEq => cmp::neq(left, right)?,
            BinaryOp::Lt => cmp::lt(left, right)?,
            BinaryOp::LtEq => cmp::lt_eq(left, right)?,
            BinaryOp::Gt => cmp::gt(left, right)?,
            BinaryOp::GtEq => cmp::gt_eq(left, right)?,
            BinaryOp::NullSafeEq => cmp::not_distinct(left, right)?,
            other => return Err(EvalError::unsupported(format!("comparison {other:?}"))),
        },
    };
    // Two values for all rows have one answer for all rows.
    match left.is_constant() && right.is_constant() {
        true => Ok(Value::Constant(Arc::new(mask))),
        false => Ok(Value::of(mask)),
    }
}

/// A floating-point type, with the order of SQL.
trait Float: ArrowPrimitiveType {
    fn equal(left: Self::Native, right: Self::Native) -> bool;
    fn less(left: Self::Native, right: Self::Native) -> bool;
}

macro_rules! float {
    ($arrow:ty) => {
        impl Float for $arrow {
            #[inline]
            fn equal(left: Self::Native, right: Self::Native) -> bool {
                (left == right) | (left.is_nan() & right.is_nan())
            }

            #[inline]
            fn less(left: Self::Native, right: Self::Native) -> bool {
                (left < right) | (!left.is_nan() & right.is_nan())
            }
        }
    };
}

float!(Float32Type);
float!(Float64Type);

fn floats<T: Float>(op: BinaryOp, left: &Value, right: &Value) -> BooleanArray {
    let test = |negated: bool, test: fn(T::Native, T::Native) -> bool, a: &Value, b: &Value| {
        let mask = zip_bits::<T>(a, b, test);
        if negated { !&mask } else { mask }
    };
    let mask = match op {
        BinaryOp::NotEq => test(true, T::equal, left, right),
        BinaryOp::Lt => test(false, T::less, left, right),
        BinaryOp::LtEq => test(true, T::less, right, left),
        BinaryOp::Gt => test(false, T::less, right, left),
        BinaryOp::GtEq => test(true, T::less, left, right),
        _ => test(false, T::equal, left, right),
    };
    with_nulls(op, mask, left, right)
}

fn zip_bits<T: ArrowPrimitiveType>(
    left: &Value,
    right: &Value,
    test: impl Fn(T::Native, T::Native) -> bool,
) -> BooleanBuffer {
    let (a, b) =
        (left.array().as_primitive::<T>().values(), right.array().as_primitive::<T>().values());
    match (left, right) {
        (Value::Constant(_), Value::Array(_)) => {
            let a = a[0];
            BooleanBuffer::collect_bool(b.len(), |row| test(a, b[row]))
        }
        (Value::Array(_), Value::Constant(_)) => {
            let b = b[0];
            BooleanBuffer::collect_bool(a.len(), |row| test(a[row], b))
        }
        _ => {
            let rows = a.len().min(b.len());
            let (a, b) = (&a[..rows], &b[..rows]);
            BooleanBuffer::collect_bool(rows, |row| test(a[row], b[row]))
        }
    }
}

/// The answer for rows with NULLs, of a mask that holds for rows without.
fn with_nulls(op: BinaryOp, mask: BooleanBuffer, left: &Value, right: &Value) -> BooleanArray {
    let rows = mask.len();
    let nulls = |value: &Value| {
        let nulls = value.array().logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
        Some(if value.is_constant() { NullBuffer::new_null(rows) } else { nulls })
    };
    let (left, right) = (nulls(left), nulls(right));
    if op != BinaryOp::NullSafeEq {
        return BooleanArray::new(mask, NullBuffer::union(left.as_ref(), right.as_ref()));
    }
    let valid = |nulls: Option<NullBuffer>| {
        nulls.map_or_else(|| BooleanBuffer::new_set(rows), NullBuffer::into_inner)
    };
    let (left, right) = (valid(left), valid(right));
    let equal = &(&mask & &left) & &right;
    let both_null = !&(&left | &right);
    BooleanArray::new(&equal | &both_null, None)
}

fn nested(op: BinaryOp, left: &Value, right: &Value) -> Result<BooleanArray, EvalError> {
    let (a, b) = (canonical_floats(left.array())?, canonical_floats(right.array())?);
    let nulls_first = SortOptions { descending: false, nulls_first: true };
    let order = make_comparator(&a, &b, nulls_first)?;
    let rows = if left.is_constant() { b.len() } else { a.len() };
    let mask = BooleanBuffer::collect_bool(rows, |row| {
        let order = order(left.index(row), right.index(row));
        match op {
            BinaryOp::NotEq => order.is_ne(),
            BinaryOp::Lt => order.is_lt(),
            BinaryOp::LtEq => order.is_le(),
            BinaryOp::Gt => order.is_gt(),
            BinaryOp::GtEq => order.is_ge(),
            _ => order.is_eq(),
        }
    });
    Ok(with_nulls(op, mask, left, right))
}
