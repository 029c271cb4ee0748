//! Join keys as they are hashed and compared: as one word or two where their types allow, and as
//! encoded rows otherwise.
//!
//! Keys that are equal in the sense of a join have equal forms: every NaN is one value, -0.0 is 0.0.

use arrow::array::{Array, ArrayRef, AsArray, downcast_primitive_array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{
    ArrowNativeType, DataType, Decimal128Type, Float32Type, Float64Type, IntervalUnit,
};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};
use millstream_shuffle::partition::{canonical_f32_bits, canonical_f64_bits};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::eval::canonical_floats;

/// Apart from the partition hash: the rows of one partition have much of that in common.
const SEED: u64 = 0x2545_f491_4f6c_dd1d;

/// How the keys of a join are compared.
pub(super) struct KeyMatch {
    null_safe: Vec<bool>,
    shape: Shape,
}

enum Shape {
    /// One value of at most 64 bits, or nothing.
    Word,
    /// One value of 128 bits, two words, or a word that may be NULL.
    Pair,
    /// Anything else.
    Encoded(RowConverter),
}

/// The keys of some rows.
pub(super) struct Keys {
    pub(super) values: Values,
    pub(super) hashes: Vec<u64>,
    /// Which can match at all, NULL being unlike anything; `None` is all.
    pub(super) live: Option<BooleanBuffer>,
}

/// The values, one a row.
pub(super) enum Values {
    Words(Vec<u64>),
    Pairs(Vec<u128>),
    Encoded(Rows),
}

impl KeyMatch {
    /// Of keys of these types.
    pub(super) fn new(types: &[DataType], null_safe: &[bool]) -> Result<Self, ArrowError> {
        let shape = match (types, null_safe) {
            ([], _) => Shape::Word,
            ([one], [false]) if is_word(one) => Shape::Word,
            ([one], [true]) if is_word(one) => Shape::Pair,
            ([DataType::Decimal128(..)], [false]) => Shape::Pair,
            ([one, two], [false, false]) if is_word(one) && is_word(two) => Shape::Pair,
            _ => {
                let fields = types.iter().map(|one| SortField::new(one.clone())).collect();
                Shape::Encoded(RowConverter::new(fields)?)
            }
        };
        Ok(Self { null_safe: null_safe.to_vec(), shape })
    }

    /// The keys of `rows` rows.
    pub(super) fn keys(&self, columns: &[ArrayRef], rows: usize) -> Result<Keys, ArrowError> {
        let values = self.values(columns, rows)?;
        let hashes = match &values {
            Values::Words(words) => words.iter().map(|word| hash_word(*word)).collect(),
            Values::Pairs(pairs) => pairs.iter().map(|pair| hash_pair(*pair)).collect(),
            Values::Encoded(rows) => {
                rows.iter().map(|row| xxh3_64_with_seed(row.data(), SEED)).collect()
            }
        };
        Ok(Keys { values, hashes, live: self.live(columns) })
    }

    /// Which rows can match: those without a NULL in a key where NULL is unlike NULL.
    pub(super) fn live(&self, columns: &[ArrayRef]) -> Option<BooleanBuffer> {
        let strict = columns.iter().zip(&self.null_safe).filter(|(_, null_safe)| !**null_safe);
        let nulls = strict.fold(None, |nulls, (column, _)| {
            NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref())
        });
        nulls.filter(|nulls| nulls.null_count() > 0).map(NullBuffer::into_inner)
    }

    /// Bytes that the table keeps of each key, or about so many.
    pub(super) fn width(&self, columns: &[ArrayRef], rows: usize) -> usize {
        match self.shape {
            Shape::Word => 8,
            Shape::Pair => 16,
            Shape::Encoded(_) => {
                let bytes: usize = columns.iter().map(super::columns::bytes).sum();
                24 + bytes / rows.max(1)
            }
        }
    }

    fn values(&self, columns: &[ArrayRef], rows: usize) -> Result<Values, ArrowError> {
        Ok(match (&self.shape, columns) {
            (Shape::Word, []) => Values::Words(vec![0; rows]),
            (Shape::Word, [one]) => Values::Words(words(one)),
            (Shape::Pair, [one]) if matches!(one.data_type(), DataType::Decimal128(..)) => {
                let values = one.as_primitive::<Decimal128Type>().values();
                Values::Pairs(values.iter().map(|value| *value as u128).collect())
            }
            (Shape::Pair, [one]) => Values::Pairs(nullable_words(one)),
            (Shape::Pair, [one, two]) => {
                let both = words(one).into_iter().zip(words(two));
                Values::Pairs(
                    both.map(|(one, two)| u128::from(one) << 64 | u128::from(two)).collect(),
                )
            }
            (Shape::Encoded(converter), _) => {
                let columns: Result<Vec<_>, _> = columns.iter().map(canonical_floats).collect();
                Values::Encoded(converter.convert_columns(&columns?)?)
            }
            _ => return Err(ArrowError::ComputeError("keys of another number".to_owned())),
        })
    }
}

impl Keys {
    /// Rows that can match.
    pub(super) fn live_rows(&self) -> usize {
        self.live.as_ref().map_or(self.hashes.len(), |live| live.count_set_bits())
    }

    /// Each row that can match, with its hash.
    #[inline]
    pub(super) fn each_live(&self, mut f: impl FnMut(usize, u64)) {
        match &self.live {
            None => self.hashes.iter().enumerate().for_each(|(row, hash)| f(row, *hash)),
            Some(live) => live.set_indices().for_each(|row| f(row, self.hashes[row])),
        }
    }
}

#[inline]
fn hash_word(word: u64) -> u64 {
    let hash = (word ^ SEED).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 32).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 29
}

#[inline]
fn hash_pair(pair: u128) -> u64 {
    hash_word(hash_word((pair >> 64) as u64) ^ pair as u64)
}

fn is_word(data_type: &DataType) -> bool {
    use DataType as D;
    match data_type {
        D::Boolean | D::Float32 | D::Float64 | D::Interval(IntervalUnit::YearMonth) => true,
        D::Date32 | D::Date64 | D::Time32(_) | D::Time64(_) => true,
        D::Timestamp(..) | D::Duration(_) | D::Decimal32(..) | D::Decimal64(..) => true,
        other => other.is_integer(),
    }
}

/// The values of a column for which [`is_word`] holds. Those of NULLs mean nothing.
fn words(column: &ArrayRef) -> Vec<u64> {
    let array = column.as_ref();
    match array.data_type() {
        DataType::Boolean => array.as_boolean().values().iter().map(u64::from).collect(),
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values();
            values.iter().map(|value| u64::from(canonical_f32_bits(*value))).collect()
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values();
            values.iter().map(|value| canonical_f64_bits(*value)).collect()
        }
        _ => downcast_primitive_array!(
            array => array.values().iter().map(|value| value.as_usize() as u64).collect(),
            _ => Vec::new(),
        ),
    }
}

/// NULL is zero, and a value has a bit above.
fn nullable_words(column: &ArrayRef) -> Vec<u128> {
    let values = words(column).into_iter().map(|word| 1 << 64 | u128::from(word));
    match column.logical_nulls() {
        None => values.collect(),
        Some(nulls) => {
            let value = |(value, valid): (u128, bool)| if valid { value } else { 0 };
            values.zip(nulls.iter()).map(value).collect()
        }
    }
}
