//! Integers: overflow is found by arithmetic on whole columns, without a branch a row.

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::{
    ArrowNativeTypeOp, DataType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use millstream_planner::expr::BinaryOp;

use super::lanes::Operation;
use super::{unsupported, with_both};
use crate::eval::cast;
use crate::eval::error::EvalError;
use crate::eval::value::Value;

/// A generic function over the type of the result.
macro_rules! by_type {
    ($operation:ident, $function:ident) => {
        match $operation.result {
            DataType::Int8 => $function::<Int8Type>($operation),
            DataType::Int16 => $function::<Int16Type>($operation),
            DataType::Int32 => $function::<Int32Type>($operation),
            DataType::Int64 => $function::<Int64Type>($operation),
            DataType::UInt8 => $function::<UInt8Type>($operation),
            DataType::UInt16 => $function::<UInt16Type>($operation),
            DataType::UInt32 => $function::<UInt32Type>($operation),
            DataType::UInt64 => $function::<UInt64Type>($operation),
            _ => Err(unsupported($operation)),
        }
    };
}

/// An operation that gives an integer. Both sides become integers of the result's type before it, where that is
/// wider; shifts take any integer on their right.
pub(super) fn apply(operation: &Operation<'_>) -> Result<Value, EvalError> {
    if matches!(operation.op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight) {
        let left = operation.left.map(|array| cast::cast(array, operation.result, false))?;
        let right = operation.right.map(|array| cast::cast(array, &DataType::Int32, false))?;
        return of_type(&Operation { left: &left, right: &right, ..*operation });
    }
    with_both(operation, operation.result, of_type)
}

pub(super) fn positive_remainder(operation: &Operation<'_>) -> Result<Value, EvalError> {
    with_both(operation, operation.result, |operation| by_type!(operation, pmod))
}

fn of_type(operation: &Operation<'_>) -> Result<Value, EvalError> {
    by_type!(operation, integers)
}

fn pmod<T>(operation: &Operation<'_>) -> Result<Value, EvalError>
where
    T: ArrowPrimitiveType,
    T::Native: Integer,
{
    operation.checked::<T, T, T>(|a, b| {
        let (rest, wrong) = a.remainder(b);
        let positive =
            if rest.is_lt(T::Native::ZERO) { rest.add_wrapping(b).remainder(b).0 } else { rest };
        (positive, wrong)
    })
}

fn integers<T>(operation: &Operation<'_>) -> Result<Value, EvalError>
where
    T: ArrowPrimitiveType,
    T::Native: Integer,
{
    match operation.op {
        BinaryOp::Add => operation.checked::<T, T, T>(Integer::add),
        BinaryOp::Subtract => operation.checked::<T, T, T>(Integer::subtract),
        BinaryOp::Multiply => operation.checked::<T, T, T>(Integer::multiply),
        BinaryOp::Divide | BinaryOp::IntegerDivide => operation.checked::<T, T, T>(Integer::divide),
        BinaryOp::Remainder => operation.checked::<T, T, T>(Integer::remainder),
        BinaryOp::BitAnd => operation.plain::<T, T, T>(Integer::and),
        BinaryOp::BitOr => operation.plain::<T, T, T>(Integer::or),
        BinaryOp::BitXor => operation.plain::<T, T, T>(Integer::xor),
        BinaryOp::ShiftLeft => operation.plain::<T, Int32Type, T>(Integer::shift_left),
        BinaryOp::ShiftRight => operation.plain::<T, Int32Type, T>(Integer::shift_right),
        _ => Err(unsupported(operation)),
    }
}

/// What a machine integer can do. The flag says that a result is wrong.
trait Integer: ArrowNativeTypeOp {
    fn add(self, other: Self) -> (Self, bool);
    fn subtract(self, other: Self) -> (Self, bool);
    fn multiply(self, other: Self) -> (Self, bool);
    fn divide(self, other: Self) -> (Self, bool);
    /// Zero where the quotient overflows.
    fn remainder(self, other: Self) -> (Self, bool);
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// By the lowest bits of the number of places, as processors and Spark do.
    fn shift_left(self, by: i32) -> Self;
    fn shift_right(self, by: i32) -> Self;
}

macro_rules! common {
    () => {
        #[inline]
        fn divide(self, other: Self) -> (Self, bool) {
            self.checked_div(other).map_or((0, true), |quotient| (quotient, false))
        }

        #[inline]
        fn remainder(self, other: Self) -> (Self, bool) {
            if other == 0 { (0, true) } else { (self.wrapping_rem(other), false) }
        }

        #[inline]
        fn and(self, other: Self) -> Self {
            self & other
        }

        #[inline]
        fn or(self, other: Self) -> Self {
            self | other
        }

        #[inline]
        fn xor(self, other: Self) -> Self {
            self ^ other
        }

        #[inline]
        fn shift_left(self, by: i32) -> Self {
            self.wrapping_shl(by as u32)
        }

        #[inline]
        fn shift_right(self, by: i32) -> Self {
            self.wrapping_shr(by as u32)
        }
    };
}

macro_rules! signed {
    ($($integer:ty, $wide:ty;)*) => {
        $(impl Integer for $integer {
            #[inline]
            fn add(self, other: Self) -> (Self, bool) {
                let sum = self.wrapping_add(other);
                (sum, (self ^ sum) & (other ^ sum) < 0)
            }

            #[inline]
            fn subtract(self, other: Self) -> (Self, bool) {
                let difference = self.wrapping_sub(other);
                (difference, (self ^ other) & (self ^ difference) < 0)
            }

            #[inline]
            fn multiply(self, other: Self) -> (Self, bool) {
                let product = <$wide>::from(self) * <$wide>::from(other);
                (product as Self, <$wide>::from(product as Self) != product)
            }

            common!();
        })*
    };
}

macro_rules! unsigned {
    ($($integer:ty, $wide:ty;)*) => {
        $(impl Integer for $integer {
            #[inline]
            fn add(self, other: Self) -> (Self, bool) {
                let sum = self.wrapping_add(other);
                (sum, sum < self)
            }

            #[inline]
            fn subtract(self, other: Self) -> (Self, bool) {
                (self.wrapping_sub(other), self < other)
            }

            #[inline]
            fn multiply(self, other: Self) -> (Self, bool) {
                let product = <$wide>::from(self) * <$wide>::from(other);
                (product as Self, <$wide>::from(product as Self) != product)
            }

            common!();
        })*
    };
}

signed! { i8, i32; i16, i32; i32, i64; i64, i128; }
unsigned! { u8, u32; u16, u32; u32, u64; u64, u128; }
