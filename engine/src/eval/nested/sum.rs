//! Sums of the elements of lists.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, DecimalType, Float64Type, Int64Type,
};

use super::lists::Lists;
use crate::eval::arguments::Arguments;
use crate::eval::cast::cast;
use crate::eval::error::EvalError;
use crate::eval::scalar::describe;

/// The sum of the elements that are not NULL; NULL if there is none. Integers and decimals are checked, and what
/// doubles lose is kept until the end.
pub(super) fn sum(args: Arguments<'_>, result: &DataType) -> Result<ArrayRef, EvalError> {
    match result {
        DataType::Float64 => Ok(Arc::new(sums::<Float64Type>(args, result, |_| true)?)),
        DataType::Decimal128(precision, scale) => {
            let fits = |sum: i128| Decimal128Type::is_valid_decimal_precision(sum, *precision);
            let sums = sums::<Decimal128Type>(args, result, fits)?;
            Ok(Arc::new(sums.with_precision_and_scale(*precision, *scale)?))
        }
        _ => Ok(Arc::new(sums::<Int64Type>(args, &DataType::Int64, |_| true)?)),
    }
}

/// Numbers with a sum.
trait Summed: ArrowPrimitiveType {
    /// The sum; none if it overflows.
    fn sum(numbers: impl Iterator<Item = Self::Native>) -> Option<Self::Native>;
}

impl Summed for Int64Type {
    fn sum(mut numbers: impl Iterator<Item = i64>) -> Option<i64> {
        numbers.try_fold(0, i64::checked_add)
    }
}

impl Summed for Decimal128Type {
    fn sum(mut numbers: impl Iterator<Item = i128>) -> Option<i128> {
        numbers.try_fold(0, i128::checked_add)
    }
}

impl Summed for Float64Type {
    /// After Neumaier: what an addition loses is added up beside the sum.
    fn sum(numbers: impl Iterator<Item = f64>) -> Option<f64> {
        let (mut sum, mut lost) = (0.0f64, 0.0f64);
        for number in numbers {
            let next = sum + number;
            let (large, small) =
                if sum.abs() >= number.abs() { (sum, number) } else { (number, sum) };
            lost += (large - next) + small;
            sum = next;
        }
        Some(if sum.is_finite() { sum + lost } else { sum })
    }
}

/// The sums of lists; an error where one overflows or does not fit.
fn sums<T: Summed>(
    args: Arguments<'_>,
    result: &DataType,
    fits: impl Fn(T::Native) -> bool,
) -> Result<PrimitiveArray<T>, EvalError> {
    let (lists, elements) = Lists::with_elements(args, 0)?;
    let numbers = cast(elements, result, false)?;
    let numbers = numbers.as_primitive::<T>();
    let value = args.get(0)?;
    let sums = args.primitives::<T>(|row| {
        let valid = lists.elements(row).filter(|element| numbers.is_valid(*element));
        let sum = T::sum(valid.map(|element| numbers.value(element)));
        sum.filter(|sum| fits(*sum)).ok_or_else(|| EvalError::Overflow {
            operation: format!("list_sum({})", describe(value.array(), value.index(row))),
            data_type: result.clone(),
            instead: None,
        })
    })?;
    let known = |row: usize| lists.elements(row).any(|element| numbers.is_valid(element));
    let some: NullBuffer = (0..args.rows).map(known).collect();
    let (data_type, values, nulls) = sums.into_parts();
    let nulls = NullBuffer::union(nulls.as_ref(), Some(&some));
    Ok(PrimitiveArray::new(values, nulls).with_data_type(data_type))
}
