//! The built-in functions by family: which module computes which.
//!
//! A kernel takes columns and constants and gives a column of `rows` rows; where all arguments are constant it
//! is called for one row, and the caller makes a constant of what it gives. `coalesce`, `rand` and
//! `monotonically_increasing_id` are not here: they need the evaluator's rows.

use arrow::datatypes::DataType;
use millstream_planner::expr::{Scalar, ScalarFn};

use super::error::EvalError;
use super::value::Value;
use super::{cast, dates, math, nested, strings};

/// Which module computes a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Math,
    Strings,
    Dates,
    Nested,
}

/// What is made of a function's constant arguments once an operator, such as a compiled pattern.
pub(crate) enum Prepared {
    Strings(strings::Prepared),
    Dates(dates::Prepared),
}

/// Prepares a function for arguments of which some are known: those are given, in their places.
pub(crate) fn prepare(
    function: ScalarFn,
    constants: &[Option<&Scalar>],
) -> Result<Option<Prepared>, EvalError> {
    match family(function) {
        Family::Strings => Ok(strings::prepare(function, constants)?.map(Prepared::Strings)),
        Family::Dates => Ok(dates::prepare(function, constants)?.map(Prepared::Dates)),
        Family::Math | Family::Nested => Ok(None),
    }
}

/// The value of a function. `prepared` is what [`prepare`] made for this call.
pub(crate) fn call(
    function: ScalarFn,
    args: &[Value],
    rows: usize,
    result: &DataType,
    prepared: Option<&Prepared>,
) -> Result<Value, EvalError> {
    let value = match family(function) {
        Family::Math => math::call(function, args, rows, result),
        Family::Nested => nested::call(function, args, rows, result),
        Family::Strings => {
            let prepared = match prepared {
                Some(Prepared::Strings(prepared)) => Some(prepared),
                _ => None,
            };
            strings::call(function, args, rows, result, prepared)
        }
        Family::Dates => {
            let prepared = match prepared {
                Some(Prepared::Dates(prepared)) => Some(prepared),
                _ => None,
            };
            dates::call(function, args, rows, result, prepared)
        }
    }?;
    if value.data_type() == result {
        return Ok(value);
    }
    value.map(|array| cast::cast(array, result, false))
}

fn family(function: ScalarFn) -> Family {
    use ScalarFn as F;
    match function {
        F::Coalesce
        | F::NullIf
        | F::Greatest
        | F::Least
        | F::NanVl
        | F::Abs
        | F::Signum
        | F::Floor
        | F::Ceil
        | F::Round
        | F::BRound
        | F::Trunc
        | F::Sqrt
        | F::Cbrt
        | F::Exp
        | F::Ln
        | F::Log2
        | F::Log10
        | F::Pow
        | F::Sin
        | F::Cos
        | F::Tan
        | F::Asin
        | F::Acos
        | F::Atan
        | F::Atan2
        | F::Degrees
        | F::Radians
        | F::PMod
        | F::TryAdd
        | F::TrySubtract
        | F::TryMultiply
        | F::TryDivide
        | F::BitNot
        | F::WidthBucket
        | F::Hash
        | F::Rand
        | F::RowId => Family::Math,
        F::Length
        | F::OctetLength
        | F::Lower
        | F::Upper
        | F::InitCap
        | F::Trim
        | F::LTrim
        | F::RTrim
        | F::Substring
        | F::Left
        | F::Right
        | F::Concat
        | F::ConcatWs
        | F::Contains
        | F::StartsWith
        | F::EndsWith
        | F::Position
        | F::Replace
        | F::Translate
        | F::Repeat
        | F::Reverse
        | F::LPad
        | F::RPad
        | F::SplitPart
        | F::Split
        | F::Ascii
        | F::Chr
        | F::RegexpLike
        | F::RegexpReplace
        | F::RegexpExtract
        | F::RegexpCount
        | F::Sha2 => Family::Strings,
        F::Year
        | F::Quarter
        | F::Month
        | F::Week
        | F::Day
        | F::DayOfWeek
        | F::Weekday
        | F::DayOfYear
        | F::Hour
        | F::Minute
        | F::Second
        | F::DateTrunc
        | F::DateAdd
        | F::DateSub
        | F::DateDiff
        | F::AddMonths
        | F::MonthsBetween
        | F::LastDay
        | F::MakeDate
        | F::ToDate
        | F::ToTimestamp
        | F::DateFormat
        | F::UnixMicros
        | F::UnixSeconds
        | F::TimestampSeconds
        | F::ToZone => Family::Dates,
        F::MakeList
        | F::ListLength
        | F::ListGet
        | F::ListContains
        | F::ListSort
        | F::ListDistinct
        | F::ListJoin
        | F::ListMax
        | F::ListMin
        | F::ListSum
        | F::ListReverse
        | F::Sequence
        | F::MakeStruct
        | F::GetField
        | F::MakeMap
        | F::MapGet
        | F::MapKeys
        | F::MapValues => Family::Nested,
    }
}
