//! Lists of numbers at equal distances.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};

use super::lists::offset;
use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

/// The elements that the lists of a batch may have together.
const MAX_ELEMENTS: usize = 1 << 27;

/// From the first to the second, by steps of the third; by 1 or -1, whichever leads there, if not said.
pub(super) fn sequence(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (from, to, steps) = (args.integers(0)?, args.integers(1)?, args.integers_at(2)?);
    let nulls = args.nulls();
    let mut numbers = Vec::new();
    let mut offsets = Vec::with_capacity(args.rows + 1);
    offsets.push(0);
    for row in 0..args.rows {
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
            let (from, to) = (from.get(row), to.get(row));
            let default = if from <= to { 1 } else { -1 };
            let step = steps.as_ref().map_or(default, |steps| steps.get(row));
            append(args, from, to, step, &mut numbers)?;
        }
        offsets.push(offset(args, numbers.len())?);
    }
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let numbers = Arc::new(Int64Array::from(numbers));
    Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::new(offsets.into()), numbers, nulls)?))
}

fn append(
    args: Arguments<'_>,
    from: i64,
    to: i64,
    step: i64,
    numbers: &mut Vec<i64>,
) -> Result<(), EvalError> {
    let distance = i128::from(to) - i128::from(from);
    if distance != 0 && distance.signum() != i128::from(step).signum() {
        return Err(args.error(format!("no steps of {step} lead from {from} to {to}")));
    }
    let steps = distance.checked_div(i128::from(step)).unwrap_or(0) as u128;
    if steps >= (MAX_ELEMENTS - numbers.len()) as u128 {
        return Err(args.error(format!(
            "{} numbers from {from} to {to} are too many for the lists of a batch, which may have {MAX_ELEMENTS} \
             together: make a range of rows instead",
            steps + 1
        )));
    }
    // No product or sum leaves the numbers between `from` and `to`.
    numbers.extend((0..=steps as i64).map(|n| from.wrapping_add(n.wrapping_mul(step))));
    Ok(())
}
