//! Arithmetic and operations on bits.
//!
//! Beyond numbers: `date + integer` and `date - integer` count days, `date - date` gives days as `int` (as
//! `date_diff` does), `timestamp - timestamp` a duration in microseconds. Dates and timestamps take intervals and
//! durations; a date stays a date unless an interval literal has a part shorter than a day.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::coerce::{common_number, common_type, normal};
use super::decimal::Decimal;
use super::rules::{Arg, Site, Typed};
use crate::error::PlanError;
use crate::expr::{BinaryOp, Scalar};

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const DURATION: DataType = DataType::Duration(TimeUnit::Microsecond);

/// Of the operations that are no comparison. Two decimals keep their own precision and scale; the result's say
/// how they are computed.
pub(super) fn binary(
    op: BinaryOp,
    left: &Arg<'_>,
    right: &Arg<'_>,
    site: Site<'_>,
) -> Result<Typed, PlanError> {
    let types = (normal(&left.data_type), normal(&right.data_type));
    let found = match op {
        BinaryOp::Add | BinaryOp::Subtract => {
            time(op, left, right).or_else(|| numbers(op, left, right))
        }
        BinaryOp::Multiply => multiple(&types.0, &types.1).or_else(|| numbers(op, left, right)),
        BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Remainder => {
            numbers(op, left, right)
        }
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => shift(&types.0, &types.1),
        _ => bits(&types.0, &types.1),
    };
    let (left_type, right_type, result) =
        found.ok_or_else(|| site.mismatch(verb(op), left, right, hint(op, &types)))?;
    let nullable = left.nullable || right.nullable;
    Ok(Typed { args: vec![left_type, right_type], result, nullable })
}

/// Of `-x`.
pub(super) fn negated(arg: &Arg<'_>, site: Site<'_>) -> Result<DataType, PlanError> {
    use DataType::*;
    Ok(match normal(&arg.data_type) {
        UInt8 => Int16,
        UInt16 => Int32,
        UInt32 => Int64,
        UInt64 => Decimal128(20, 0),
        Null => Int32,
        number if number.is_numeric() => number,
        span @ (Interval(_) | Duration(_)) => span,
        _ => return Err(site.argument("-", 0, "a number or an interval", arg)),
    })
}

type Operands = (DataType, DataType, DataType);

fn numbers(op: BinaryOp, left: &Arg<'_>, right: &Arg<'_>) -> Option<Operands> {
    let (a, b) =
        (number(&left.data_type, &right.data_type)?, number(&right.data_type, &left.data_type)?);
    if a.is_floating() || b.is_floating() {
        let common =
            if op == BinaryOp::Divide { DataType::Float64 } else { common_number(&a, &b)? };
        let whole = op == BinaryOp::IntegerDivide;
        return (!whole).then(|| (common.clone(), common.clone(), common));
    }
    if a.is_integer() && b.is_integer() {
        return Some(integers(op, &a, &b));
    }
    let (a, b) = (decimal(&a, left)?, decimal(&b, right)?);
    let result = match op {
        BinaryOp::Add | BinaryOp::Subtract => a.sum(b).data_type(),
        BinaryOp::Multiply => a.product(b).data_type(),
        BinaryOp::Divide => a.quotient(b).data_type(),
        BinaryOp::IntegerDivide => DataType::Int64,
        _ => a.remainder(b).data_type(),
    };
    Some((a.data_type(), b.data_type(), result))
}

fn integers(op: BinaryOp, a: &DataType, b: &DataType) -> Operands {
    let all = |common: DataType| (common.clone(), common.clone(), common);
    if op == BinaryOp::Divide {
        return all(DataType::Float64);
    }
    match common_number(a, b).unwrap_or(DataType::Int64) {
        DataType::UInt64 if op == BinaryOp::IntegerDivide => all(DataType::UInt64),
        integer if integer.is_integer() && op == BinaryOp::IntegerDivide => all(DataType::Int64),
        integer if integer.is_integer() => all(integer),
        // Of `bigint` and its unsigned kin.
        decimal => {
            let arg = Decimal::of(&decimal).map_or(decimal.clone(), |wide| match op {
                BinaryOp::Add | BinaryOp::Subtract => wide.sum(wide).data_type(),
                BinaryOp::Multiply => wide.product(wide).data_type(),
                BinaryOp::IntegerDivide => DataType::Int64,
                _ => wide.remainder(wide).data_type(),
            });
            (decimal.clone(), decimal, arg)
        }
    }
}

/// A number as it is computed with; a string or NULL takes a type that goes with the other's.
fn number(data_type: &DataType, other: &DataType) -> Option<DataType> {
    let (data_type, other) = (normal(data_type), normal(other));
    match (&data_type, &other) {
        (number, _) if number.is_numeric() => Some(data_type),
        (DataType::Null, DataType::Null) => Some(DataType::Int32),
        (DataType::Null, other) if other.is_numeric() => Some(other.clone()),
        (DataType::Utf8View, other) if other.is_numeric() => common_type(&data_type, other),
        _ => None,
    }
}

/// An integer that is written out has the digits it needs.
fn decimal(data_type: &DataType, arg: &Arg<'_>) -> Option<Decimal> {
    match arg.literal.and_then(Scalar::as_integer) {
        Some(value) if data_type.is_integer() => Some(Decimal::of_integer(value)),
        _ => Decimal::of(data_type),
    }
}

fn time(op: BinaryOp, left: &Arg<'_>, right: &Arg<'_>) -> Option<Operands> {
    use DataType::*;
    let (a, b) = (normal(&left.data_type), normal(&right.data_type));
    let minus = op == BinaryOp::Subtract;
    Some(match (&a, &b) {
        (Date32, days) if days.is_integer() => (Date32, Int32, Date32),
        (days, Date32) if days.is_integer() && !minus => (Int32, Date32, Date32),
        (Date32, Date32 | Utf8View | Null) | (Utf8View | Null, Date32) if minus => {
            (Date32, Date32, Int32)
        }
        (Date32 | Timestamp(..), Interval(_)) => {
            let point = shifted(&a, right);
            (point.clone(), INTERVAL, point)
        }
        (Interval(_), Date32 | Timestamp(..)) if !minus => {
            let point = shifted(&b, left);
            (INTERVAL, point.clone(), point)
        }
        (Timestamp(..), Duration(_)) => (a.clone(), DURATION, a),
        (Duration(_), Timestamp(..)) if !minus => (DURATION, b.clone(), b),
        (Timestamp(..), Timestamp(..) | Date32 | Utf8View | Null)
        | (Date32 | Utf8View | Null, Timestamp(..))
            if minus =>
        {
            let common = common_type(&a, &b)?;
            (common.clone(), common, DURATION)
        }
        (Interval(_), Interval(_) | Null) | (Null, Interval(_)) => (INTERVAL, INTERVAL, INTERVAL),
        (Duration(_), Duration(_) | Interval(_) | Null) | (Interval(_) | Null, Duration(_)) => {
            (DURATION, DURATION, DURATION)
        }
        _ => return None,
    })
}

/// An interval so many times.
fn multiple(a: &DataType, b: &DataType) -> Option<Operands> {
    match (a, b) {
        (DataType::Interval(_), by) if by.is_integer() => {
            Some((INTERVAL, DataType::Int64, INTERVAL))
        }
        (by, DataType::Interval(_)) if by.is_integer() => {
            Some((DataType::Int64, INTERVAL, INTERVAL))
        }
        _ => None,
    }
}

/// The type of a date or timestamp moved by an interval.
fn shifted(point: &DataType, interval: &Arg<'_>) -> DataType {
    match interval.literal {
        Some(Scalar::Interval { nanos, .. }) if *nanos != 0 && *point == DataType::Date32 => {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        }
        _ => point.clone(),
    }
}

fn shift(value: &DataType, by: &DataType) -> Option<Operands> {
    let whole = |data_type: &DataType| data_type.is_integer() || *data_type == DataType::Null;
    if !whole(value) || !whole(by) {
        return None;
    }
    let value = if *value == DataType::Null { DataType::Int32 } else { value.clone() };
    Some((value.clone(), DataType::Int32, value))
}

fn bits(a: &DataType, b: &DataType) -> Option<Operands> {
    let common = match common_type(a, b)? {
        DataType::Null => DataType::Int32,
        common if common.is_integer() && (a.is_integer() || b.is_integer()) => common,
        _ => return None,
    };
    Some((common.clone(), common.clone(), common))
}

fn verb(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Subtract => "subtract",
        BinaryOp::Multiply => "multiply",
        BinaryOp::Divide | BinaryOp::IntegerDivide => "divide",
        BinaryOp::Remainder => "take the remainder of",
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => "shift",
        _ => "combine the bits of",
    }
}

fn hint(op: BinaryOp, (left, right): &(DataType, DataType)) -> &'static str {
    let time = |data_type: &DataType| matches!(data_type, DataType::Timestamp(..));
    let either = |of: &dyn Fn(&DataType) -> bool| of(left) || of(right);
    match op {
        BinaryOp::Add if either(&|side| *side == DataType::Utf8View) => {
            "join strings with `concat(..)`, or cast to a number with `.cast(..)`"
        }
        BinaryOp::Add | BinaryOp::Subtract if either(&time) => {
            "use an interval, such as `interval_days(1)` or `interval_hours(1)`"
        }
        BinaryOp::BitAnd | BinaryOp::BitOr if *left == DataType::Boolean => {
            "combine conditions with `.and(..)` and `.or(..)`"
        }
        BinaryOp::BitXor if *left == DataType::Boolean => "use `.not_eq(..)` for conditions",
        BinaryOp::IntegerDivide => "divide with `/` and round with `floor(..)`",
        _ => "cast to a number with `.cast(..)`",
    }
}
