//! Functions of where a row is.

use arrow::array::{AsArray, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Int64Type};

use super::cast;
use super::error::EvalError;
use super::evaluator::RowOrigin;
use super::value::Value;

/// Bits of a row's number: partitions are above them.
const ROW_BITS: u32 = 33;

/// The number of the partition above 33 bits and of the row in it below, as in Spark.
pub(super) fn row_id(at: RowOrigin, rows: usize) -> Result<Value, EvalError> {
    let last = at.row.saturating_add(rows as u64);
    if last > 1 << ROW_BITS || at.partition >= 1 << (63 - ROW_BITS) {
        let why =
            format!("row {last} of partition {} has no number: use more partitions", at.partition);
        return Err(EvalError::argument("monotonically_increasing_id", why));
    }
    let first = (i64::from(at.partition) << ROW_BITS) + at.row as i64;
    Ok(Value::of(Int64Array::from_iter_values(first..first + rows as i64)))
}

/// A number from 0 to below 1 for each row, by seed, partition and row alone.
pub(super) fn rand(at: RowOrigin, rows: usize, seed: Option<&Value>) -> Result<Value, EvalError> {
    let seed = match seed {
        None => 0,
        Some(seed) => {
            let seed = cast::cast(seed.array(), &DataType::Int64, false)?;
            seed.as_primitive::<Int64Type>().value(0) as u64
        }
    };
    let stream = mix(mix(seed).wrapping_add(u64::from(at.partition)));
    let unit =
        |row: u64| (mix(stream.wrapping_add(row)) >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
    let all = (0..rows as u64).map(|row| unit(at.row.wrapping_add(row)));
    Ok(Value::of(Float64Array::from_iter_values(all)))
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014), a step after its state.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;
    use arrow::datatypes::Float64Type;

    use super::*;

    #[test]
    fn numbers_of_rows_continue_over_batches_and_differ_between_partitions() {
        let ids = |partition, row| {
            let value = row_id(RowOrigin { partition, row }, 2).unwrap();
            value.array().as_primitive::<Int64Type>().values().to_vec()
        };
        assert_eq!(ids(0, 5), [5, 6]);
        assert_eq!(ids(3, 0), [3 << 33, (3 << 33) + 1]);
        assert!(row_id(RowOrigin { partition: 0, row: 1 << 33 }, 1).is_err());
    }

    #[test]
    fn random_numbers_do_not_depend_on_batches() {
        let numbers = |row, rows| {
            let value = rand(RowOrigin { partition: 2, row }, rows, None).unwrap();
            value.array().as_primitive::<Float64Type>().values().to_vec()
        };
        let (all, later) = (numbers(0, 10_000), numbers(7, 10));
        assert_eq!(all[7..17], later);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((0.48..0.52).contains(&mean) && all.iter().all(|x| (0.0..1.0).contains(x)));
        assert_eq!(rand(RowOrigin::default(), 3, None).unwrap().array().len(), 3);
    }
}
