//! Window functions that pick the value of another row.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::compute::kernels::zip::zip;
use arrow::compute::take;
use arrow::datatypes::Int64Type;
use millstream_planner::expr::WindowFn;
use millstream_planner::physical::WindowCall;

use super::frame::Frames;
use crate::executor::TaskError;

/// lag and lead.
pub(super) fn shifted(call: &WindowCall, args: &[ArrayRef]) -> Result<ArrayRef, TaskError> {
    let Some(values) = args.first() else {
        return Err(TaskError::internal("lag without a value"));
    };
    let rows = values.len();
    let offset = match args.get(1) {
        Some(offset) if rows > 0 => offset.as_primitive::<Int64Type>().value(0),
        _ => 1,
    };
    let offset = match call.function {
        WindowFn::Lag => offset.checked_neg().unwrap_or(i64::MAX),
        _ => offset,
    };
    let places: UInt32Array = match call.ignore_nulls {
        false => (0..rows as i64).map(|row| inside(row.checked_add(offset), rows)).collect(),
        true => past_nulls(values, offset),
    };
    let picked = take(values, &places, None)?;
    match args.get(2) {
        None => Ok(picked),
        Some(default) => {
            let there: BooleanArray = places.iter().map(|place| Some(place.is_some())).collect();
            Ok(zip(&there, &picked, default)?)
        }
    }
}

fn inside(place: Option<i64>, rows: usize) -> Option<u32> {
    u32::try_from(place?).ok().filter(|place| (*place as usize) < rows)
}

/// By row, the place of the value so many values away that are not NULL.
fn past_nulls(values: &ArrayRef, offset: i64) -> UInt32Array {
    let there: Vec<u32> =
        (0..values.len() as u32).filter(|row| values.is_valid(*row as usize)).collect();
    let place = |row: u32| {
        // How many values lie before this row.
        let before = there.partition_point(|place| *place < row) as i64;
        let at = match offset {
            0 => return Some(row),
            ahead if ahead > 0 => {
                let own = i64::from(values.is_valid(row as usize));
                before + own + ahead - 1
            }
            back => before.checked_add(back)?,
        };
        usize::try_from(at).ok().and_then(|at| there.get(at)).copied()
    };
    (0..values.len() as u32).map(place).collect()
}

/// first_value, last_value and nth_value.
pub(super) fn picked(
    call: &WindowCall,
    args: &[ArrayRef],
    frames: &Frames,
) -> Result<ArrayRef, TaskError> {
    let Some(values) = args.first() else {
        return Err(TaskError::internal("first_value without a value"));
    };
    let rows = values.len();
    // Places that count, in order.
    let there: Vec<u32> = match call.ignore_nulls {
        true => (0..rows as u32).filter(|row| values.is_valid(*row as usize)).collect(),
        false => (0..rows as u32).collect(),
    };
    let nth = match (call.function, args.get(1)) {
        (WindowFn::NthValue, Some(nth)) if rows > 0 => nth.as_primitive::<Int64Type>().value(0),
        _ => 1,
    };
    let place = |row: usize| {
        let frame = frames.of(row);
        let first = there.partition_point(|place| (*place as usize) < frame.start);
        let end = there.partition_point(|place| (*place as usize) < frame.end);
        let at = match call.function {
            WindowFn::LastValue => end.checked_sub(1)?,
            _ => first.checked_add(usize::try_from(nth).ok()?.checked_sub(1)?)?,
        };
        (first..end).contains(&at).then(|| there[at])
    };
    let places: UInt32Array = (0..rows).map(place).collect();
    Ok(take(values, &places, None)?)
}
