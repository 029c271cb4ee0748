//! Values written into an expression.

use std::sync::Arc;

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use serde::{Deserialize, Serialize};

/// One value with its type.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Scalar {
    /// NULL of a type; `DataType::Null` where none is known.
    Null(DataType),
    /// A truth value.
    Boolean(bool),
    /// Integers, by width and sign.
    Int8(i8),
    /// 16 bits.
    Int16(i16),
    /// 32 bits.
    Int32(i32),
    /// 64 bits.
    Int64(i64),
    /// Unsigned, 8 bits.
    UInt8(u8),
    /// Unsigned, 16 bits.
    UInt16(u16),
    /// Unsigned, 32 bits.
    UInt32(u32),
    /// Unsigned, 64 bits.
    UInt64(u64),
    /// Single precision.
    Float32(f32),
    /// Double precision.
    Float64(f64),
    /// `value * 10^-scale`.
    Decimal128 {
        /// The digits.
        value: i128,
        /// Significant digits of the type, at most 38.
        precision: u8,
        /// Digits after the point.
        scale: i8,
    },
    /// A string.
    Utf8(Arc<str>),
    /// Bytes.
    Binary(Arc<[u8]>),
    /// Days since 1970-01-01.
    Date32(i32),
    /// An instant in microseconds since 1970-01-01 UTC, shown in `zone`; without one, a local time.
    Timestamp {
        /// Microseconds.
        micros: i64,
        /// A zone of the tz database or an offset.
        zone: Option<Arc<str>>,
    },
    /// A span of calendar time.
    Interval {
        /// Whole months.
        months: i32,
        /// Whole days.
        days: i32,
        /// The rest.
        nanos: i64,
    },
    /// A list of values of one type.
    List(Vec<Scalar>, DataType),
}

impl Scalar {
    /// Its type.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Null(data_type) => data_type.clone(),
            Self::Boolean(_) => DataType::Boolean,
            Self::Int8(_) => DataType::Int8,
            Self::Int16(_) => DataType::Int16,
            Self::Int32(_) => DataType::Int32,
            Self::Int64(_) => DataType::Int64,
            Self::UInt8(_) => DataType::UInt8,
            Self::UInt16(_) => DataType::UInt16,
            Self::UInt32(_) => DataType::UInt32,
            Self::UInt64(_) => DataType::UInt64,
            Self::Float32(_) => DataType::Float32,
            Self::Float64(_) => DataType::Float64,
            Self::Decimal128 { precision, scale, .. } => DataType::Decimal128(*precision, *scale),
            Self::Utf8(_) => DataType::Utf8View,
            Self::Binary(_) => DataType::BinaryView,
            Self::Date32(_) => DataType::Date32,
            Self::Timestamp { zone, .. } => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            Self::Interval { .. } => DataType::Interval(IntervalUnit::MonthDayNano),
            Self::List(_, item) => DataType::new_list(item.clone(), true),
        }
    }

    /// Its value, if it is an integer and not NULL.
    #[must_use]
    pub fn as_integer(&self) -> Option<i128> {
        Some(match self {
            Self::Int8(value) => i128::from(*value),
            Self::Int16(value) => i128::from(*value),
            Self::Int32(value) => i128::from(*value),
            Self::Int64(value) => i128::from(*value),
            Self::UInt8(value) => i128::from(*value),
            Self::UInt16(value) => i128::from(*value),
            Self::UInt32(value) => i128::from(*value),
            Self::UInt64(value) => i128::from(*value),
            _ => return None,
        })
    }

    /// Its value as a double, if it is a number and not NULL.
    #[must_use]
    pub fn as_double(&self) -> Option<f64> {
        match self {
            Self::Float32(value) => Some(f64::from(*value)),
            Self::Float64(value) => Some(*value),
            Self::Decimal128 { value, scale, .. } => {
                Some(*value as f64 / 10_f64.powi(i32::from(*scale)))
            }
            other => other.as_integer().map(|value| value as f64),
        }
    }

    /// Whether it is NULL.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null(_))
    }
}

macro_rules! from_value {
    ($($from:ty => $variant:ident),* $(,)?) => {
        $(impl From<$from> for Scalar {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

from_value! {
    bool => Boolean, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16,
    u32 => UInt32, u64 => UInt64, f32 => Float32, f64 => Float64, &str => Utf8, String => Utf8, &[u8] => Binary,
}

impl<T: Into<Scalar> + ScalarType> From<Option<T>> for Scalar {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Self::Null(T::data_type()), Into::into)
    }
}

/// A Rust type with a column type, for NULLs of it.
pub trait ScalarType {
    /// The column type.
    fn data_type() -> DataType;
}

macro_rules! scalar_type {
    ($($rust:ty => $arrow:ident),* $(,)?) => {
        $(impl ScalarType for $rust {
            fn data_type() -> DataType {
                DataType::$arrow
            }
        })*
    };
}

scalar_type! {
    bool => Boolean, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16,
    u32 => UInt32, u64 => UInt64, f32 => Float32, f64 => Float64, &str => Utf8View, String => Utf8View,
}
