//! Values as values of another type, after Spark's ANSI rules: a value that does not fit is an error, or NULL where
//! the cast is lenient (`try_cast`).
//!
//! Numbers lose digits after the point without an error: towards zero where they become integers, rounded half
//! away from zero where they become decimals. Strings may have blanks around what they say.

mod nested;
mod numbers;
mod parse;
#[cfg(test)]
mod tests;
mod text;
mod time;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, IntervalUnit};

use super::error::EvalError;
use super::scalar::describe;

/// A column as another type. Values that do not fit are an error, or NULL where `lenient`.
pub(crate) fn cast(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    use DataType as D;
    let from = array.data_type();
    if from == to {
        return Ok(Arc::clone(array));
    }
    match (from, to) {
        (D::Null, to) => Ok(new_null_array(to, array.len())),
        (D::Dictionary(_, values), to) => cast(&by_arrow(array, values, lenient)?, to, lenient),
        (D::Utf8 | D::LargeUtf8, D::Utf8View) | (D::Binary | D::LargeBinary, D::BinaryView) => {
            by_arrow(array, to, lenient)
        }
        (D::Utf8 | D::LargeUtf8, to) => cast(&by_arrow(array, &D::Utf8View, lenient)?, to, lenient),
        (from, D::Utf8 | D::LargeUtf8) if *from != D::Utf8View => {
            by_arrow(&cast(array, &D::Utf8View, lenient)?, to, lenient)
        }
        (D::Utf8View, to) => parse::cast(array, to, lenient),
        (_, D::Utf8View) => text::cast(array, lenient),
        (D::Interval(IntervalUnit::MonthDayNano), D::Duration(_))
        | (D::Duration(_), D::Interval(_)) => time::spans(array, to, lenient),
        (from, to) if is_time(from) || is_time(to) => time::cast(array, to, lenient),
        (from, to) if is_number(from) && is_number(to) => numbers::cast(array, to, lenient),
        (from, to) if from.is_nested() && to.is_nested() => nested::cast(array, to, lenient),
        _ => by_arrow(array, to, lenient),
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || *data_type == DataType::Boolean
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Timestamp(..))
}

/// A cast that Arrow does as it has to be: what does not fit becomes NULL.
fn by_arrow(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let cast = cast_with_options(array, to, &options)?;
    let lost = || (0..array.len()).find(|row| cast.is_null(*row) && array.is_valid(*row));
    if lenient || cast.null_count() <= array.null_count() {
        return Ok(cast);
    }
    lost().map_or(Ok(cast), |row| Err(refused(array, row, to)))
}

/// Converts value by value; nothing stands for what does not fit.
pub(crate) fn convert<A: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    array: &ArrayRef,
    to: &DataType,
    lenient: bool,
    mut convert: impl FnMut(A::Native) -> Option<O::Native>,
) -> Result<ArrayRef, EvalError> {
    let values = array.as_primitive::<A>().values();
    collect::<O>(array, to, lenient, |row| convert(values[row]))
}

/// A column of what is made of each row that is not NULL.
fn collect<O: ArrowPrimitiveType>(
    array: &ArrayRef,
    to: &DataType,
    lenient: bool,
    mut value: impl FnMut(usize) -> Option<O::Native>,
) -> Result<ArrayRef, EvalError> {
    let nulls = array.nulls();
    let mut failed = Vec::new();
    let mut values = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        let known = if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            Some(O::default_value())
        } else {
            value(row)
        };
        values.push(known.unwrap_or_else(|| {
            failed.push(row);
            O::default_value()
        }));
        if !lenient && !failed.is_empty() {
            return Err(refused(array, row, to));
        }
    }
    let column = PrimitiveArray::<O>::new(values.into(), with_failed(array, &failed));
    Ok(Arc::new(column.with_data_type(to.clone())))
}

/// The NULLs of a column, and these rows.
fn with_failed(array: &ArrayRef, failed: &[usize]) -> Option<NullBuffer> {
    if failed.is_empty() {
        return array.nulls().cloned();
    }
    let mut valid = vec![true; array.len()];
    failed.iter().for_each(|row| valid[*row] = false);
    NullBuffer::union(array.nulls(), Some(&NullBuffer::from(valid)))
}

fn refused(array: &ArrayRef, row: usize, to: &DataType) -> EvalError {
    EvalError::Cast { value: describe(array, row), from: array.data_type().clone(), to: to.clone() }
}
