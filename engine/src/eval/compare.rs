//! Comparisons: NaN equals NaN and is the largest number, -0.0 equals 0.0, and in lists and structs NULL equals
//! NULL and is the smallest value.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, LargeListArray, ListArray,
    MapArray, PrimitiveArray, StructArray, make_comparator,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::SortOptions;
use arrow::compute::kernels::cmp;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};
use millstream_planner::expr::BinaryOp;

use super::error::{EvalError, type_name};
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
pub(super) trait Float: ArrowPrimitiveType {
    fn equal(left: Self::Native, right: Self::Native) -> bool;
    fn less(left: Self::Native, right: Self::Native) -> bool;
    /// The one number that stands for all that are equal to it.
    fn canonical(value: Self::Native) -> Self::Native;
}

macro_rules! float {
    ($arrow:ty, $nan:expr) => {
        impl Float for $arrow {
            #[inline]
            fn equal(left: Self::Native, right: Self::Native) -> bool {
                (left == right) | (left.is_nan() & right.is_nan())
            }

            #[inline]
            fn less(left: Self::Native, right: Self::Native) -> bool {
                (left < right) | (!left.is_nan() & right.is_nan())
            }

            #[inline]
            fn canonical(value: Self::Native) -> Self::Native {
                // Adding zero makes -0.0 into 0.0 and changes no other number.
                if value.is_nan() { $nan } else { value + Self::default_value() }
            }
        }
    };
}

float!(Float32Type, f32::NAN);
float!(Float64Type, f64::NAN);

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
    let (a, b) = (canonical(left.array())?, canonical(right.array())?);
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

/// The column with one number for all that are equal: one NaN, and 0.0 for -0.0, within lists and structs too.
/// What is encoded or hashed for grouping and joins must be made so before.
pub(crate) fn canonical(array: &ArrayRef) -> Result<ArrayRef, EvalError> {
    if !has_floats(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    Ok(match array.data_type() {
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>();
            let one = |value: <Float16Type as ArrowPrimitiveType>::Native| {
                if value.is_nan() {
                    <Float16Type as ArrowPrimitiveType>::Native::NAN
                } else {
                    value + Float16Type::default_value()
                }
            };
            Arc::new(values.unary::<_, Float16Type>(one))
        }
        DataType::Float32 => Arc::new(of_floats::<Float32Type>(array)),
        DataType::Float64 => Arc::new(of_floats::<Float64Type>(array)),
        DataType::List(field) => {
            let (_, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::try_new(Arc::clone(field), offsets, canonical(&values)?, nulls)?)
        }
        DataType::LargeList(field) => {
            let (_, offsets, values, nulls) = array.as_list::<i64>().clone().into_parts();
            Arc::new(LargeListArray::try_new(
                Arc::clone(field),
                offsets,
                canonical(&values)?,
                nulls,
            )?)
        }
        DataType::FixedSizeList(field, size) => {
            let (_, _, values, nulls) = array.as_fixed_size_list().clone().into_parts();
            let values = canonical(&values)?;
            Arc::new(FixedSizeListArray::try_new(Arc::clone(field), *size, values, nulls)?)
        }
        DataType::Struct(_) => Arc::new(of_struct(array.as_struct())?),
        DataType::Map(field, sorted) => {
            let (_, offsets, entries, nulls, _) = array.as_map().clone().into_parts();
            let entries = of_struct(&entries)?;
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
        }
        other => {
            let what = format!("order of floating-point numbers in {}", type_name(other));
            return Err(EvalError::unsupported(what));
        }
    })
}

fn of_floats<T: Float>(array: &ArrayRef) -> PrimitiveArray<T> {
    array.as_primitive::<T>().unary(T::canonical)
}

fn of_struct(array: &StructArray) -> Result<StructArray, EvalError> {
    let (fields, columns, nulls) = array.clone().into_parts();
    let columns = columns.iter().map(canonical).collect::<Result<_, _>>()?;
    Ok(StructArray::try_new(fields, columns, nulls)?)
}

fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_floats(field.data_type()),
        DataType::Dictionary(_, values) => has_floats(values),
        other => other.is_floating(),
    }
}
