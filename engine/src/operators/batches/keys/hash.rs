//! Hashes of keys, column by column. They depend on nothing but the values: no seed is drawn, and no
//! instruction of the machine used that another lacks.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};
use xxhash_rust::xxh3::xxh3_64;

const SEED: u64 = 0x243f_6a88_85a3_08d3;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Stands for the value of NULL.
const NULL: u64 = 0xa409_3822_299f_31d0;

/// The hash of each of `rows` keys, whose columns are in the form of [`super::KeyForm`].
pub(crate) fn hash_keys(columns: &[ArrayRef], rows: usize, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.resize(rows, SEED);
    for column in columns {
        add_column(column, hashes);
    }
}

/// Multiplies in 128 bits and folds: each bit of the result depends on all of both.
#[inline(always)]
fn mix(hash: u64, value: u64) -> u64 {
    let product = u128::from(hash ^ value) * u128::from(FACTOR);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline(always)]
fn mix_wide(hash: u64, value: u128) -> u64 {
    let first = mix(hash, value as u64);
    mix(first.rotate_left(23), (value >> 64) as u64)
}

fn add_column(column: &ArrayRef, hashes: &mut [u64]) {
    match column.data_type() {
        DataType::Boolean => {
            let values = column.as_boolean();
            let bits = values.values();
            each(hashes, values.nulls(), |row, hash| mix(hash, u64::from(bits.value(row))));
        }
        DataType::Utf8View => add_views(column.as_string_view(), hashes),
        DataType::BinaryView => add_views(column.as_binary_view(), hashes),
        other => {
            let nulls = column.nulls();
            match other.primitive_width() {
                Some(1) => narrow(&values::<u8>(column), nulls, hashes),
                Some(2) => narrow(&values::<u16>(column), nulls, hashes),
                Some(4) => narrow(&values::<u32>(column), nulls, hashes),
                Some(8) => narrow(&values::<u64>(column), nulls, hashes),
                Some(16) => {
                    let values = values::<i128>(column);
                    each(hashes, nulls, |row, hash| mix_wide(hash, values[row] as u128));
                }
                _ => {
                    let values = values::<i128>(column);
                    each(hashes, nulls, |row, hash| {
                        let first = mix_wide(hash, values[2 * row] as u128);
                        mix_wide(first, values[2 * row + 1] as u128)
                    });
                }
            }
        }
    }
}

fn narrow<T: ArrowNativeType + Into<u64>>(
    values: &[T],
    nulls: Option<&NullBuffer>,
    hashes: &mut [u64],
) {
    each(hashes, nulls, |row, hash| mix(hash, values[row].into()));
}

fn add_views<T: arrow::datatypes::ByteViewType>(
    array: &arrow::array::GenericByteViewArray<T>,
    hashes: &mut [u64],
) {
    let views = array.views();
    each(hashes, array.nulls(), |row, hash| {
        let view = views[row];
        match view as u32 {
            // Short strings lie in their view.
            0..=12 => mix_wide(hash, view),
            _ => {
                let value: &T::Native = array.value(row);
                let bytes: &[u8] = value.as_ref();
                mix(hash, xxh3_64(bytes))
            }
        }
    });
}

#[inline(always)]
fn each(hashes: &mut [u64], nulls: Option<&NullBuffer>, f: impl Fn(usize, u64) -> u64) {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                *hash = f(row, *hash);
            }
        }
        Some(nulls) => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                *hash = if nulls.is_valid(row) { f(row, *hash) } else { mix(*hash, NULL) };
            }
        }
    }
}

/// The values of a column of a fixed width as numbers of that width; of twice as many numbers, if
/// these are half as wide.
pub(crate) fn values<T: ArrowNativeType>(column: &ArrayRef) -> ScalarBuffer<T> {
    let data = column.to_data();
    let width = data.data_type().primitive_width().unwrap_or(size_of::<T>());
    let per_row = width / size_of::<T>();
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset() * per_row, data.len() * per_row)
}
