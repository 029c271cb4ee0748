//! The partition hash over columns: where rows of Arrow batches go.
//!
//! # Definition (version 1)
//!
//! A row is hashed as its columns are fed, in order, to the state of the [partition
//! hash](super::PartitionHasher):
//!
//! ```text
//! NULL               state = fold(state ^ NULL, MIX)
//! boolean, integer   as an integer of its width; signed ones as the unsigned of the same width
//! float              as the integer of its canonical bits: -0.0 is 0.0, every NaN is one key; of 16 bits
//!                    as one of 32
//! decimal            as its words of 64 bits, the lowest first
//! interval           as months, days and the rest, each an integer of its width
//! date, timestamp    as their integer
//! string, binary     as bytes, whatever their layout
//! dictionary         as its value
//! struct             as its fields in order
//! list, map          its length as a 64-bit integer, then the finished hash of each element
//! ```

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, OffsetSizeTrait,
    downcast_dictionary_array,
};
use arrow::datatypes::{DataType, IntervalDayTime, IntervalMonthDayNano, i256};
use arrow::downcast_primitive_array;
use arrow::error::ArrowError;
use half::f16;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::hash::{FINISH, MIX, SEED, fold};
use super::{canonical_f32_bits, canonical_f64_bits};

/// Stands for a NULL; no integer is likelier than another to collide with it.
const NULL: u64 = 0x9e6c_63d0_873b_fc25;

/// The partition hash of each of `rows` rows of some columns. Without columns, all rows have one hash.
///
/// # Errors
/// A type whose values cannot be compared: unions and run-end encoding.
pub fn hash_columns(columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>, ArrowError> {
    let mut states = vec![SEED; rows];
    for column in columns {
        feed(column, &mut states)?;
    }
    for state in &mut states {
        *state = fold(*state ^ FINISH, MIX);
    }
    Ok(states)
}

/// Feeds one column to the states of all rows.
fn feed(column: &ArrayRef, states: &mut [u64]) -> Result<(), ArrowError> {
    let array = column.as_ref();
    match array.data_type() {
        DataType::Null => states.iter_mut().for_each(|state| *state = mix(*state, NULL)),
        DataType::Boolean => {
            let values = array.as_boolean();
            each(array, states, |state, row| mix(state, u64::from(values.value(row))));
        }
        DataType::Utf8 => {
            strings(array, states, |row| array.as_string::<i32>().value(row).as_bytes());
        }
        DataType::LargeUtf8 => {
            strings(array, states, |row| array.as_string::<i64>().value(row).as_bytes());
        }
        DataType::Utf8View => {
            strings(array, states, |row| array.as_string_view().value(row).as_bytes());
        }
        DataType::Binary => strings(array, states, |row| array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => strings(array, states, |row| array.as_binary::<i64>().value(row)),
        DataType::BinaryView => strings(array, states, |row| array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => {
            strings(array, states, |row| array.as_fixed_size_binary().value(row));
        }
        DataType::Dictionary(_, _) => dictionary(array, states)?,
        DataType::Struct(_) => {
            let fields = array.as_struct();
            // A NULL struct hides what its fields hold below it.
            let mut whole = states.to_vec();
            for field in fields.columns() {
                feed(field, &mut whole)?;
            }
            each(array, states, |_, row| whole[row]);
        }
        DataType::List(_) => list::<i32>(array.as_list(), states)?,
        DataType::LargeList(_) => list::<i64>(array.as_list(), states)?,
        DataType::FixedSizeList(_, _) => fixed_list(array.as_fixed_size_list(), states)?,
        DataType::Map(_, _) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let elements = hash_columns(&[entries], map.entries().len())?;
            let offsets = map.offsets();
            each(array, states, |state, row| {
                runs(state, &elements[offsets[row] as usize..offsets[row + 1] as usize])
            });
        }
        _ => downcast_primitive_array!(
            array => each(array, states, |state, row| array.value(row).feed(state)),
            other => return Err(ArrowError::NotYetImplemented(format!(
                "rows cannot be placed by a column of type {other}"
            ))),
        ),
    }
    Ok(())
}

#[inline]
fn mix(state: u64, word: u64) -> u64 {
    fold(state ^ word, MIX)
}

/// A value of a column of fixed width, fed to the state of its row.
trait Feed {
    fn feed(self, state: u64) -> u64;
}

macro_rules! feed_integer {
    ($($signed:ty as $unsigned:ty),*) => {
        $(impl Feed for $signed {
            #[inline]
            #[allow(clippy::cast_lossless, reason = "one form for all widths")]
            fn feed(self, state: u64) -> u64 {
                mix(state, self as $unsigned as u64)
            }
        })*
    };
}

feed_integer! {
    i8 as u8, i16 as u16, i32 as u32, i64 as u64, u8 as u8, u16 as u16, u32 as u32, u64 as u64
}

impl Feed for f64 {
    #[inline]
    fn feed(self, state: u64) -> u64 {
        mix(state, canonical_f64_bits(self))
    }
}

impl Feed for f32 {
    #[inline]
    fn feed(self, state: u64) -> u64 {
        mix(state, u64::from(canonical_f32_bits(self)))
    }
}

impl Feed for f16 {
    #[inline]
    fn feed(self, state: u64) -> u64 {
        self.to_f32().feed(state)
    }
}

impl Feed for i128 {
    #[inline]
    fn feed(self, state: u64) -> u64 {
        mix(mix(state, self as u64), (self >> 64) as u64)
    }
}

impl Feed for i256 {
    #[inline]
    fn feed(self, state: u64) -> u64 {
        let (low, high) = self.to_parts();
        high.feed((low as i128).feed(state))
    }
}

impl Feed for IntervalDayTime {
    #[inline]
    fn feed(self, state: u64) -> u64 {
        self.milliseconds.feed(self.days.feed(state))
    }
}

impl Feed for IntervalMonthDayNano {
    #[inline]
    fn feed(self, state: u64) -> u64 {
        self.nanoseconds.feed(self.days.feed(self.months.feed(state)))
    }
}

/// What `feed_one` makes of the state of each row; NULLs are fed here.
#[inline]
fn each(array: &dyn Array, states: &mut [u64], feed_one: impl Fn(u64, usize) -> u64) {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (row, state) in states.iter_mut().enumerate() {
                *state = feed_one(*state, row);
            }
        }
        Some(nulls) => {
            for (row, state) in states.iter_mut().enumerate() {
                *state =
                    if nulls.is_valid(row) { feed_one(*state, row) } else { mix(*state, NULL) };
            }
        }
    }
}

fn strings<'a>(array: &'a dyn Array, states: &mut [u64], bytes: impl Fn(usize) -> &'a [u8]) {
    each(array, states, |state, row| mix(state, xxh3_64_with_seed(bytes(row), SEED)));
}

fn dictionary(array: &dyn Array, states: &mut [u64]) -> Result<(), ArrowError> {
    downcast_dictionary_array!(
        array => {
            let values = arrow::compute::cast(array, array.values().data_type())?;
            feed(&values, states)
        },
        other => Err(ArrowError::NotYetImplemented(format!("a dictionary of type {other}"))),
    )
}

fn runs(state: u64, elements: &[u64]) -> u64 {
    elements.iter().fold(mix(state, elements.len() as u64), |state, element| mix(state, *element))
}

fn list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    states: &mut [u64],
) -> Result<(), ArrowError> {
    let elements = hash_columns(&[Arc::clone(list.values())], list.values().len())?;
    let offsets = list.value_offsets();
    each(list, states, |state, row| {
        runs(state, &elements[offsets[row].as_usize()..offsets[row + 1].as_usize()])
    });
    Ok(())
}

fn fixed_list(list: &FixedSizeListArray, states: &mut [u64]) -> Result<(), ArrowError> {
    let elements = hash_columns(&[Arc::clone(list.values())], list.values().len())?;
    let length = list.value_length() as usize;
    each(list, states, |state, row| runs(state, &elements[row * length..(row + 1) * length]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        Float64Array, Int32Array, Int64Array, ListArray, StringArray, StringViewArray, StructArray,
    };
    use arrow::datatypes::{Field, Int32Type};

    use super::*;

    fn hashes(columns: &[ArrayRef]) -> Vec<u64> {
        hash_columns(columns, columns[0].len()).unwrap()
    }

    /// Changing any of these moves rows between partitions of files already written.
    #[test]
    fn golden_values_never_change() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), Some(1), None]));
        let strings: ArrayRef = Arc::new(StringArray::from(vec![Some(""), Some("a"), None]));
        assert_eq!(hashes(&[numbers]), [0xdfd8_44c8_b683_1dec, 0x42bf_fb31_b98a_46d0, NULLS[0]]);
        assert_eq!(hashes(&[strings])[2], NULLS[0]);
    }

    /// One NULL.
    const NULLS: [u64; 1] = [fold_const(fold_const(SEED ^ NULL) ^ FINISH)];

    const fn fold_const(a: u64) -> u64 {
        let product = a as u128 * MIX as u128;
        (product as u64) ^ ((product >> 64) as u64)
    }

    #[test]
    fn layouts_of_a_string_are_one_key() {
        let plain: ArrayRef = Arc::new(StringArray::from(vec![Some("mill"), None, Some("")]));
        let views: ArrayRef = Arc::new(StringViewArray::from(vec![Some("mill"), None, Some("")]));
        let index = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        let dictionary = arrow::compute::cast(&plain, &index).unwrap();
        assert_eq!(hashes(&[Arc::clone(&plain)]), hashes(&[views]));
        assert_eq!(hashes(&[plain]), hashes(&[dictionary]));
    }

    #[test]
    fn nan_and_zero_are_one_key_each_at_any_depth() {
        let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, odd_nan, 0.0, -0.0]));
        let field = Arc::new(Field::new("x", DataType::Float64, true));
        let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, Arc::clone(&floats))]));
        for column in [floats, nested] {
            let hashes = hashes(&[column]);
            assert_eq!((hashes[0], hashes[2]), (hashes[1], hashes[3]));
            assert_ne!(hashes[0], hashes[2]);
        }
    }

    #[test]
    fn columns_and_lists_have_edges() {
        let left: ArrayRef = Arc::new(StringArray::from(vec!["ab", "a", "aba"]));
        let right: ArrayRef = Arc::new(StringArray::from(vec!["ab", "bab", "b"]));
        let mut pairs = hashes(&[left, right]);
        pairs.dedup();
        assert_eq!(pairs.len(), 3);
        let list = |rows: Vec<Option<Vec<Option<i32>>>>| {
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows)) as ArrayRef
        };
        let lists = hashes(&[list(vec![
            Some(vec![]),
            None,
            Some(vec![None]),
            Some(vec![Some(1)]),
            Some(vec![Some(1), Some(1)]),
            Some(vec![Some(1)]),
        ])]);
        assert_eq!(lists[3], lists[5]);
        let mut different = lists[..5].to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), 5);
    }

    #[test]
    fn a_slice_hashes_as_its_rows() {
        let numbers: ArrayRef =
            Arc::new(Int32Array::from_iter((0..100).map(|n| (n % 3 > 0).then_some(n))));
        assert_eq!(hashes(&[numbers.slice(40, 20)]), hashes(&[numbers])[40..60]);
    }
}
