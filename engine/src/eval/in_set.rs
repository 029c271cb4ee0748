//! IN over constants: the set is made once an operator.

use std::collections::HashSet;
use std::hash::Hash;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, ByteView, downcast_primitive,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{ArrowNativeTypeOp, DataType, ToByteSlice};
use arrow::row::{RowConverter, SortField};
use millstream_planner::expr::Scalar;

use super::canonical::canonical_floats;
use super::cast;
use super::error::EvalError;
use super::scalar;
use super::value::Value;

/// Up to so many values are compared one by one.
const FEW: usize = 8;
/// A view of a string holds all of it up to this length.
const INLINE_BYTES: u32 = 12;

type Hashed<T> = HashSet<T, ahash::RandomState>;
type Contains = dyn Fn(&ArrayRef) -> Result<BooleanBuffer, EvalError> + Send + Sync;

/// The values of an IN.
pub(super) struct InSet {
    contains: Box<Contains>,
    has_null: bool,
    negated: bool,
}

impl InSet {
    /// The set of an expression of a type.
    pub(super) fn new(
        data_type: &DataType,
        set: &[Scalar],
        has_null: bool,
        negated: bool,
    ) -> Result<Self, EvalError> {
        let is_null = |scalar: &&Scalar| !scalar.is_null();
        let values: Vec<Scalar> = set.iter().filter(is_null).cloned().collect();
        let item = values.first().map_or_else(|| data_type.clone(), Scalar::data_type);
        let values = cast::cast(&scalar::to_column(&values, &item)?, data_type, false)?;
        let contains = membership(&canonical_floats(&values)?)?;
        Ok(Self { contains, has_null: has_null || set.iter().any(Scalar::is_null), negated })
    }

    /// Which values are in the set. NULL for NULL, and for what is not found where the set has a NULL.
    pub(super) fn contains(&self, value: &Value) -> Result<Value, EvalError> {
        value.map(|array| {
            let found = (self.contains)(&canonical_floats(array)?)?;
            let mut nulls = array.logical_nulls();
            if self.has_null {
                nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(found.clone())));
            }
            let answer = if self.negated { !&found } else { found };
            Ok(std::sync::Arc::new(BooleanArray::new(answer, nulls)) as ArrayRef)
        })
    }
}

fn membership(set: &ArrayRef) -> Result<Box<Contains>, EvalError> {
    macro_rules! fixed {
        ($arrow:ty) => {
            Ok(fixed::<$arrow>(set))
        };
    }
    downcast_primitive! {
        set.data_type() => (fixed),
        DataType::Utf8View | DataType::BinaryView => Ok(strings(set)),
        DataType::Boolean => Ok(truths(set.as_boolean())),
        DataType::Null => Ok(Box::new(|array| Ok(BooleanBuffer::new_unset(array.len())))),
        _ => rows(set)
    }
}

/// Values of fixed width, by their bytes.
fn fixed<T: ArrowPrimitiveType>(set: &ArrayRef) -> Box<Contains>
where
    T::Native: ToByteSlice,
{
    let set = set.as_primitive::<T>().values();
    if set.len() <= FEW {
        let few = set.to_vec();
        return Box::new(move |array| {
            let values = array.as_primitive::<T>().values();
            let is_in =
                |row: usize| few.iter().fold(false, |found, one| found | one.is_eq(values[row]));
            Ok(BooleanBuffer::collect_bool(values.len(), is_in))
        });
    }
    if size_of::<T::Native>() <= size_of::<u64>() {
        return hashed::<T, u64>(set, |value| words(value)[0]);
    }
    hashed::<T, [u64; 4]>(set, words)
}

fn hashed<T: ArrowPrimitiveType, K>(
    set: &[T::Native],
    key: impl Fn(T::Native) -> K + Send + Sync + 'static,
) -> Box<Contains>
where
    K: Eq + Hash + Send + Sync + 'static,
{
    let keys: Hashed<K> = set.iter().map(|value| key(*value)).collect();
    Box::new(move |array| {
        let values = array.as_primitive::<T>().values();
        Ok(BooleanBuffer::collect_bool(values.len(), |row| keys.contains(&key(values[row]))))
    })
}

/// The bytes of a value of at most 32 bytes, with zeros after them.
#[inline]
fn words<T: ToByteSlice>(value: T) -> [u64; 4] {
    let mut words = [0u64; 4];
    for (word, bytes) in words.iter_mut().zip(value.to_byte_slice().chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(padded);
    }
    words
}

/// Strings and bytes: short ones by their views, which hold all of them.
fn strings(set: &ArrayRef) -> Box<Contains> {
    let (mut short, mut long) = (Vec::new(), Hashed::<Box<[u8]>>::default());
    let binary = as_bytes(set);
    for (row, view) in binary.views().iter().enumerate() {
        if length(*view) <= INLINE_BYTES {
            short.push(*view);
        } else {
            long.insert(binary.value(row).into());
        }
    }
    let hashed: Hashed<u128> = short.iter().copied().collect();
    Box::new(move |array| {
        let binary = as_bytes(array);
        let views = binary.views();
        Ok(BooleanBuffer::collect_bool(views.len(), |row| {
            let view = views[row];
            if length(view) > INLINE_BYTES {
                !long.is_empty() && long.contains(binary.value(row))
            } else if short.len() <= FEW {
                short.iter().fold(false, |found, one| found | (*one == view))
            } else {
                hashed.contains(&view)
            }
        }))
    })
}

fn as_bytes(array: &ArrayRef) -> arrow::array::BinaryViewArray {
    match array.as_string_view_opt() {
        Some(strings) => strings.clone().to_binary_view(),
        None => array.as_binary_view().clone(),
    }
}

fn length(view: u128) -> u32 {
    ByteView::from(view).length
}

fn truths(set: &BooleanArray) -> Box<Contains> {
    let (yes, no) = (set.true_count() > 0, set.false_count() > 0);
    Box::new(move |array| {
        let values = array.as_boolean().values();
        Ok(match (yes, no) {
            (true, true) => BooleanBuffer::new_set(values.len()),
            (true, false) => values.clone(),
            (false, true) => !values,
            (false, false) => BooleanBuffer::new_unset(values.len()),
        })
    })
}

/// Lists and structs, by their encoded rows.
fn rows(set: &ArrayRef) -> Result<Box<Contains>, EvalError> {
    let encode = |array: &ArrayRef| {
        let converter = RowConverter::new(vec![SortField::new(array.data_type().clone())])?;
        converter.convert_columns(std::slice::from_ref(array))
    };
    let hashed: Hashed<Vec<u8>> = encode(set)?.iter().map(|row| row.as_ref().to_vec()).collect();
    Ok(Box::new(move |array| {
        let rows = encode(array)?;
        Ok(BooleanBuffer::collect_bool(array.len(), |row| hashed.contains(rows.row(row).as_ref())))
    }))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, StringViewArray};

    use super::*;

    fn found(
        set: Vec<Scalar>,
        has_null: bool,
        negated: bool,
        array: ArrayRef,
    ) -> Vec<Option<bool>> {
        let set = InSet::new(array.data_type(), &set, has_null, negated).unwrap();
        set.contains(&Value::Array(array)).unwrap().array().as_boolean().iter().collect()
    }

    #[test]
    fn null_is_neither_in_a_set_nor_not() {
        let array =
            || std::sync::Arc::new(Int64Array::from(vec![Some(1), Some(3), None])) as ArrayRef;
        let set = || vec![Scalar::from(1i64), 2i64.into()];
        assert_eq!(found(set(), false, false, array()), [Some(true), Some(false), None]);
        assert_eq!(found(set(), false, true, array()), [Some(false), Some(true), None]);
        assert_eq!(found(set(), true, false, array()), [Some(true), None, None]);
        assert_eq!(found(set(), true, true, array()), [Some(false), None, None]);
    }

    #[test]
    fn few_and_many_numbers_and_strings() {
        for count in [2i64, 10_000] {
            let numbers = (0..count).map(|n| Scalar::from(n * 2)).collect();
            let array = Int64Array::from(vec![0, 1, 2 * count - 2, 2 * count]);
            let right = [Some(true), Some(false), Some(true), Some(false)];
            assert_eq!(found(numbers, false, false, std::sync::Arc::new(array)), right);
            let name = |n: i64| {
                if n % 2 == 0 { format!("n{n}") } else { format!("a long name of number {n}") }
            };
            let names = (0..count).map(|n| Scalar::from(name(n))).collect();
            let array =
                StringViewArray::from_iter_values([name(0), name(1), name(count + 1), name(count)]);
            let right = [Some(true), Some(true), Some(false), Some(false)];
            assert_eq!(found(names, false, false, std::sync::Arc::new(array)), right);
        }
    }

    #[test]
    fn floats_are_equal_as_everywhere() {
        let other_nan = f64::from_bits(0x7ff8_0000_0000_0002);
        let array = Float64Array::from(vec![0.0, -0.0, f64::NAN, other_nan, 1.0]);
        let set = vec![Scalar::from(-0.0), f64::NAN.into()];
        let right = [Some(true), Some(true), Some(true), Some(true), Some(false)];
        assert_eq!(found(set, false, false, std::sync::Arc::new(array)), right);
    }
}
