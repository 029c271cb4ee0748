//! Aggregates that fold values of a fixed width, one after the other and in any order, into one: sums of whole
//! numbers, the least, the largest, and those of bits.

use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, BitXor};

use arrow::array::{Array, ArrayData, ArrayRef, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::{ArrowNativeType, DataType, i256};

use super::accumulator::Accumulator;
use crate::eval::EvalError;
use crate::operators::batches::keys::values;

/// An associative and commutative operation.
pub(super) trait Op: 'static {
    type In: ArrowNativeType;
    type Acc: ArrowNativeType;
    /// Changes nothing.
    const IDENTITY: Self::Acc;
    fn add(acc: Self::Acc, value: Self::In) -> Self::Acc;
    fn merge(acc: Self::Acc, other: Self::Acc) -> Self::Acc;
}

/// Folded values by group.
pub(super) struct Fold<O: Op> {
    folded: Vec<O::Acc>,
    seen: Vec<bool>,
    /// Of the state, and of the result if nothing else is made of it.
    data_type: DataType,
}

impl<O: Op> Fold<O> {
    pub(super) fn new(data_type: DataType) -> Self {
        Self { folded: Vec::new(), seen: Vec::new(), data_type }
    }

    /// What a group's values fold into, if it has any.
    #[inline]
    pub(super) fn get(&self, group: u32) -> Option<O::Acc> {
        self.seen[group as usize].then(|| self.folded[group as usize])
    }

    #[inline(always)]
    fn each<T: Copy>(
        &mut self,
        groups: &[u32],
        values: &[T],
        nulls: Option<&NullBuffer>,
        f: impl Fn(O::Acc, T) -> O::Acc,
    ) {
        let mut add = |group: u32, value: T| {
            let folded = &mut self.folded[group as usize];
            *folded = f(*folded, value);
            self.seen[group as usize] = true;
        };
        match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => groups.iter().zip(values).for_each(|(group, value)| add(*group, *value)),
            Some(nulls) => {
                for row in nulls.valid_indices() {
                    add(groups[row], values[row]);
                }
            }
        }
    }

    fn array(&self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let values: Vec<O::Acc> = groups.iter().map(|group| self.folded[*group as usize]).collect();
        fixed_array(&self.data_type, values, nulls_of(&self.seen, groups))
    }
}

impl<O: Op> Accumulator for Fold<O> {
    fn resize(&mut self, groups: usize) {
        self.folded.resize(groups, O::IDENTITY);
        self.seen.resize(groups, false);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        self.each(groups, &values::<O::In>(&args[0]), args[0].nulls(), O::add);
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.each(groups, &values::<O::Acc>(&states[0]), states[0].nulls(), O::merge);
        Ok(())
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(vec![self.array(groups)?])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        self.array(groups)
    }

    fn bytes(&self) -> usize {
        self.folded.capacity() * size_of::<O::Acc>() + self.seen.capacity()
    }
}

/// An array of values of a fixed width.
pub(super) fn fixed_array<T: ArrowNativeType>(
    data_type: &DataType,
    values: Vec<T>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, EvalError> {
    let data = ArrayData::builder(data_type.clone()).len(values.len()).nulls(nulls);
    Ok(make_array(data.add_buffer(Buffer::from_vec(values)).build()?))
}

/// The NULLs of groups that have seen nothing.
pub(super) fn nulls_of(seen: &[bool], groups: &[u32]) -> Option<NullBuffer> {
    let valid = groups.iter().map(|group| seen[*group as usize]);
    let nulls = NullBuffer::new(BooleanBuffer::from_iter(valid));
    (nulls.null_count() > 0).then_some(nulls)
}

/// The sum in a width that 10^10 rows and more cannot overflow.
pub(super) struct Sum<In, Acc>(PhantomData<(In, Acc)>);

impl Op for Sum<i64, i128> {
    type In = i64;
    type Acc = i128;
    const IDENTITY: i128 = 0;
    #[inline(always)]
    fn add(acc: i128, value: i64) -> i128 {
        acc + i128::from(value)
    }
    #[inline(always)]
    fn merge(acc: i128, other: i128) -> i128 {
        acc + other
    }
}

impl Op for Sum<i128, i128> {
    type In = i128;
    type Acc = i128;
    const IDENTITY: i128 = 0;
    #[inline(always)]
    fn add(acc: i128, value: i128) -> i128 {
        acc.saturating_add(value)
    }
    #[inline(always)]
    fn merge(acc: i128, other: i128) -> i128 {
        acc.saturating_add(other)
    }
}

impl Op for Sum<i128, i256> {
    type In = i128;
    type Acc = i256;
    const IDENTITY: i256 = i256::ZERO;
    #[inline(always)]
    fn add(acc: i256, value: i128) -> i256 {
        acc.wrapping_add(i256::from_i128(value))
    }
    #[inline(always)]
    fn merge(acc: i256, other: i256) -> i256 {
        acc.wrapping_add(other)
    }
}

/// 76 digits have room for no more than the same and five times as much: what goes beyond stays there.
impl Op for Sum<i256, i256> {
    type In = i256;
    type Acc = i256;
    const IDENTITY: i256 = i256::ZERO;
    #[inline(always)]
    fn add(acc: i256, value: i256) -> i256 {
        acc.checked_add(value).unwrap_or(if value.is_negative() { i256::MIN } else { i256::MAX })
    }
    #[inline(always)]
    fn merge(acc: i256, other: i256) -> i256 {
        Self::add(acc, other)
    }
}

/// Values in order. Of floats, NaN is the largest; it has one form, and 0.0 no sign.
pub(super) trait Ordered: ArrowNativeType {
    const LEAST: Self;
    const LARGEST: Self;
    fn lesser(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
}

macro_rules! ordered_integers {
    ($($t:ty),*) => {$(
        impl Ordered for $t {
            const LEAST: Self = <$t>::MIN;
            const LARGEST: Self = <$t>::MAX;
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
        }
    )*};
}

macro_rules! ordered_floats {
    ($($t:ty),*) => {$(
        impl Ordered for $t {
            const LEAST: Self = <$t>::NEG_INFINITY;
            const LARGEST: Self = <$t>::NAN;
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                match () {
                    () if other < self || self.is_nan() && !other.is_nan() => other + 0.0,
                    () => self,
                }
            }
            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                match () {
                    () if other.is_nan() => <$t>::NAN,
                    () if other > self => other + 0.0,
                    () => self,
                }
            }
        }
    )*};
}

ordered_integers!(i8, i16, i32, i64, u8, u16, u32, u64, i128, i256);
ordered_floats!(f32, f64);

/// The least.
pub(super) struct Min<T>(PhantomData<T>);

impl<T: Ordered> Op for Min<T> {
    type In = T;
    type Acc = T;
    const IDENTITY: T = T::LARGEST;
    #[inline(always)]
    fn add(acc: T, value: T) -> T {
        acc.lesser(value)
    }
    #[inline(always)]
    fn merge(acc: T, other: T) -> T {
        acc.lesser(other)
    }
}

/// The largest.
pub(super) struct Max<T>(PhantomData<T>);

impl<T: Ordered> Op for Max<T> {
    type In = T;
    type Acc = T;
    const IDENTITY: T = T::LEAST;
    #[inline(always)]
    fn add(acc: T, value: T) -> T {
        acc.greater(value)
    }
    #[inline(always)]
    fn merge(acc: T, other: T) -> T {
        acc.greater(other)
    }
}

/// Whole numbers as bits.
pub(super) trait Bits:
    ArrowNativeType + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    const ZEROS: Self;
    const ONES: Self;
}

macro_rules! bits {
    ($($t:ty),*) => {$(
        impl Bits for $t {
            const ZEROS: Self = 0;
            const ONES: Self = !0;
        }
    )*};
}

bits!(u8, u16, u32, u64);

macro_rules! bit_ops {
    ($($(#[$doc:meta])* $name:ident: $identity:ident, $f:ident;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name<T>(PhantomData<T>);

        impl<T: Bits> Op for $name<T> {
            type In = T;
            type Acc = T;
            const IDENTITY: T = T::$identity;
            #[inline(always)]
            fn add(acc: T, value: T) -> T {
                acc.$f(value)
            }
            #[inline(always)]
            fn merge(acc: T, other: T) -> T {
                acc.$f(other)
            }
        }
    )*};
}

bit_ops! {
    /// `&` of all.
    AllBits: ONES, bitand;
    /// `|` of all.
    AnyBits: ZEROS, bitor;
    /// `^` of all.
    OddBits: ZEROS, bitxor;
}
