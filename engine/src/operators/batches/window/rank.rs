//! Window functions of the place of a row in its partition.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::datatypes::Int64Type;
use millstream_planner::expr::WindowFn;

use super::peers::Peers;
use crate::executor::TaskError;

pub(super) fn compute(
    function: WindowFn,
    args: &[ArrayRef],
    peers: &Peers,
) -> Result<ArrayRef, TaskError> {
    let rows = peers.rows();
    let rank = |row: usize| peers.start(peers.group(row)) as i64 + 1;
    let numbers = |number: &dyn Fn(usize) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..rows).map(number)))
    };
    let shares = |share: &dyn Fn(usize) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..rows).map(share)))
    };
    Ok(match function {
        WindowFn::RowNumber => numbers(&|row| row as i64 + 1),
        WindowFn::Rank => numbers(&rank),
        WindowFn::DenseRank => numbers(&|row| peers.group(row) as i64 + 1),
        WindowFn::PercentRank => shares(&|row| match rows {
            1 => 0.0,
            _ => (rank(row) - 1) as f64 / (rows - 1) as f64,
        }),
        WindowFn::CumeDist => shares(&|row| peers.end(peers.group(row)) as f64 / rows as f64),
        WindowFn::Ntile => {
            let parts = args.first().map(|parts| parts.as_primitive::<Int64Type>());
            let parts = parts.filter(|parts| !parts.is_empty()).map_or(1, |parts| parts.value(0));
            numbers(&|row| part_of(row as i64, rows as i64, parts.max(1)) + 1)
        }
        other => return Err(TaskError::internal(format!("{} is no rank", other.name()))),
    })
}

/// The part, from 0, of a row when `rows` are dealt to `parts` of equal size; the first ones have one more.
fn part_of(row: i64, rows: i64, parts: i64) -> i64 {
    let (size, more) = (rows / parts, rows % parts);
    match row < more * (size + 1) {
        true => row / (size + 1),
        false => more + (row - more * (size + 1)) / size.max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn parts_differ_by_one_row_at_most() {
        let parts =
            |rows, parts| (0..rows).map(|row| part_of(row, rows, parts)).collect::<Vec<_>>();
        assert_eq!(parts(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(parts(2, 5), [0, 1]);
        assert_eq!(parts(4, 1), [0; 4]);
    }
}
