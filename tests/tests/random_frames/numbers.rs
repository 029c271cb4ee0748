//! Numbers of the interpreter: arithmetic and casts, a value at a time.

use crate::expr::Arith;
use crate::value::{Answer, NoAnswer, Type, Value};

pub(crate) fn power(digits: i32) -> Answer<i128> {
    10i128.checked_pow(u32::try_from(digits).map_err(|_| NoAnswer)?).ok_or(NoAnswer)
}

/// A decimal at another scale, halves away from zero; must fit the precision.
pub(crate) fn rescale(value: i128, from: i32, (precision, to): (i32, i32)) -> Answer<i128> {
    let moved = if to >= from {
        value.checked_mul(power(to - from)?).ok_or(NoAnswer)?
    } else {
        rounded_quotient(value, power(from - to)?)
    };
    (moved.abs() < power(precision)?).then_some(moved).ok_or(NoAnswer)
}

pub(crate) fn rounded_quotient(a: i128, b: i128) -> i128 {
    let (whole, rest) = (a / b, a % b);
    match rest.unsigned_abs() * 2 >= b.unsigned_abs() {
        true if (a < 0) == (b < 0) => whole + 1,
        true => whole - 1,
        false => whole,
    }
}

/// The digits of a decimal with its point.
pub(crate) fn decimal_text(value: i128, scale: i32) -> String {
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale as usize + 1);
    let (whole, part) = digits.split_at(digits.len() - scale as usize);
    let sign = if value < 0 { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

pub(crate) fn decimal_of_text(text: &str, to: (i32, i32)) -> Answer<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    // Further ones round nothing here.
    let part = part.get(..36).unwrap_or(part);
    let all = format!("{whole}{part}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NoAnswer);
    }
    rescale(sign * all.parse::<i128>().map_err(|_| NoAnswer)?, part.len() as i32, to)
}

/// A number as a double.
pub(crate) fn as_double(value: &Value, of: Type) -> f64 {
    match value {
        Value::Int(value) => f64::from(*value),
        Value::Long(value) => *value as f64,
        Value::Double(value) => *value,
        Value::Dec(value) => decimal_text(*value, of.digits().1).parse().unwrap(),
        other => panic!("{other:?} is no number"),
    }
}

/// A number as a decimal of its own digits.
fn as_decimal(value: &Value) -> i128 {
    match value {
        Value::Int(value) => (*value).into(),
        Value::Long(value) => (*value).into(),
        Value::Dec(value) => *value,
        other => panic!("{other:?} is no exact number"),
    }
}

/// A value in the common type of several.
pub(crate) fn widen(value: Value, from: Type, to: Type) -> Answer<Value> {
    if from == to || value.is_null() {
        return Ok(value);
    }
    Ok(match to {
        Type::Long => Value::Long(as_decimal(&value).try_into().unwrap()),
        Type::Double => Value::Double(as_double(&value, from)),
        Type::Dec(precision, scale) => {
            Value::Dec(rescale(as_decimal(&value), from.digits().1, (precision, scale))?)
        }
        _ => panic!("nothing is widened to {to:?}"),
    })
}

/// The type of an operation on two numbers, of which `digits` says precision and scale as decimals.
pub(crate) fn arith_type(
    op: Arith,
    (a, b): (Type, Type),
    ((p1, s1), (p2, s2)): ((i32, i32), (i32, i32)),
) -> Type {
    if a == Type::Double || b == Type::Double {
        return Type::Double;
    }
    if !matches!(a, Type::Dec(..)) && !matches!(b, Type::Dec(..)) {
        return match op {
            Arith::Divide => Type::Double,
            Arith::Whole => Type::Long,
            _ => a.common(b),
        };
    }
    let scale = s1.max(s2);
    match op {
        Arith::Add | Arith::Subtract => adjusted((p1 - s1).max(p2 - s2) + scale + 1, scale),
        Arith::Multiply => adjusted(p1 + p2 + 1, s1 + s2),
        Arith::Divide => {
            let scale = 6.max(s1 + p2 + 1);
            adjusted(p1 - s1 + s2 + scale, scale)
        }
        Arith::Whole => Type::Long,
        Arith::Rest => adjusted((p1 - s1).min(p2 - s2) + scale, scale),
    }
}

/// Spark's: where there are more than 38 digits, those after the point give way, but for six.
fn adjusted(precision: i32, scale: i32) -> Type {
    if precision <= 38 {
        return Type::Dec(precision, scale);
    }
    Type::Dec(38, (38 - (precision - scale)).max(scale.min(6)))
}

/// An operation on two numbers that are not NULL.
pub(crate) fn arith(
    op: Arith,
    (a, of_a): (&Value, Type),
    (b, of_b): (&Value, Type),
    result: Type,
) -> Answer<Value> {
    match result {
        Type::Double => doubles(op, as_double(a, of_a), as_double(b, of_b)).map(Value::Double),
        Type::Int | Type::Long if of_a.digits().1 == 0 && of_b.digits().1 == 0 => {
            let value = integers(op, as_decimal(a), as_decimal(b))?;
            Ok(match result {
                Type::Int => Value::Int(value.try_into().map_err(|_| NoAnswer)?),
                _ => Value::Long(value.try_into().map_err(|_| NoAnswer)?),
            })
        }
        Type::Dec(precision, scale) => {
            let (s1, s2) = (of_a.digits().1, of_b.digits().1);
            let (value, at) = decimals(op, (as_decimal(a), s1), (as_decimal(b), s2), scale)?;
            rescale(value, at, (precision, scale)).map(Value::Dec)
        }
        Type::Long => {
            let (s1, s2) = (of_a.digits().1, of_b.digits().1);
            let (a, b) = (as_decimal(a), as_decimal(b));
            let scale = s1.max(s2);
            let up =
                |value: i128, from: i32| value.checked_mul(power(scale - from)?).ok_or(NoAnswer);
            let (a, b) = (up(a, s1)?, up(b, s2)?);
            Ok(Value::Long(integers(op, a, b)?.try_into().map_err(|_| NoAnswer)?))
        }
        _ => panic!("{op:?} gives no {result:?}"),
    }
}

fn doubles(op: Arith, a: f64, b: f64) -> Answer<f64> {
    if matches!(op, Arith::Divide | Arith::Rest) && b == 0.0 {
        return Err(NoAnswer);
    }
    Ok(match op {
        Arith::Add => a + b,
        Arith::Subtract => a - b,
        Arith::Multiply => a * b,
        Arith::Divide => a / b,
        Arith::Rest => a % b,
        Arith::Whole => panic!("there is no `div` of doubles"),
    })
}

fn integers(op: Arith, a: i128, b: i128) -> Answer<i128> {
    match op {
        Arith::Add => Ok(a + b),
        Arith::Subtract => Ok(a - b),
        Arith::Multiply => a.checked_mul(b).ok_or(NoAnswer),
        Arith::Whole => a.checked_div(b).ok_or(NoAnswer),
        Arith::Rest => a.checked_rem(b).ok_or(NoAnswer),
        Arith::Divide => panic!("`/` of integers gives a double"),
    }
}

/// The result and its scale.
fn decimals(
    op: Arith,
    (a, s1): (i128, i32),
    (b, s2): (i128, i32),
    wanted: i32,
) -> Answer<(i128, i32)> {
    let common = s1.max(s2);
    let up = |value: i128, by: i32| value.checked_mul(power(by)?).ok_or(NoAnswer);
    Ok(match op {
        Arith::Add => (up(a, common - s1)? + up(b, common - s2)?, common),
        Arith::Subtract => (up(a, common - s1)? - up(b, common - s2)?, common),
        Arith::Multiply => (a.checked_mul(b).ok_or(NoAnswer)?, s1 + s2),
        Arith::Divide if b == 0 => return Err(NoAnswer),
        Arith::Divide => (rounded_quotient(up(a, wanted + s2 - s1)?, b), wanted),
        Arith::Rest => (integers(op, up(a, common - s1)?, up(b, common - s2)?)?, common),
        Arith::Whole => panic!("`div` gives a bigint"),
    })
}

/// A value as another type, or no answer where it does not fit.
pub(crate) fn cast(value: &Value, from: Type, to: Type) -> Answer<Value> {
    if from == to || value.is_null() {
        return Ok(value.clone());
    }
    if to == Type::Str {
        return Ok(Value::Str(text(value, from)));
    }
    if let Value::Str(text) = value {
        return of_text(text.trim(), to);
    }
    if let Value::Bool(value) = value {
        return cast(&Value::Int((*value).into()), Type::Int, to);
    }
    Ok(match to {
        Type::Bool => Value::Bool(as_double(value, from) != 0.0),
        Type::Int => Value::Int(whole(value, from)?.try_into().map_err(|_| NoAnswer)?),
        Type::Long => Value::Long(whole(value, from)?.try_into().map_err(|_| NoAnswer)?),
        Type::Double => Value::Double(as_double(value, from)),
        Type::Dec(precision, scale) => Value::Dec(match value {
            Value::Double(value) if value.is_finite() => {
                decimal_of_text(&value.to_string(), (precision, scale))?
            }
            Value::Double(_) => return Err(NoAnswer),
            exact => rescale(as_decimal(exact), from.digits().1, (precision, scale))?,
        }),
        Type::Date | Type::Str => panic!("there is no cast of {from:?} to {to:?}"),
    })
}

/// Without the digits after the point.
fn whole(value: &Value, from: Type) -> Answer<i128> {
    Ok(match value {
        // Beyond the range of i128 it is beyond that of any type here.
        Value::Double(value) if value.is_nan() => return Err(NoAnswer),
        Value::Double(value) => *value as i128,
        exact => as_decimal(exact) / power(from.digits().1)?,
    })
}

fn of_text(text: &str, to: Type) -> Answer<Value> {
    let word = text.to_lowercase();
    Ok(match to {
        Type::Bool if ["t", "true", "y", "yes", "1"].contains(&&*word) => Value::Bool(true),
        Type::Bool if ["f", "false", "n", "no", "0"].contains(&&*word) => Value::Bool(false),
        Type::Bool => return Err(NoAnswer),
        Type::Int => Value::Int(text.parse().map_err(|_| NoAnswer)?),
        Type::Long => Value::Long(text.parse().map_err(|_| NoAnswer)?),
        Type::Double => Value::Double(text.parse().map_err(|_| NoAnswer)?),
        Type::Dec(precision, scale) => Value::Dec(decimal_of_text(text, (precision, scale))?),
        Type::Date => Value::Date(date_of_text(text)?),
        Type::Str => Value::Str(text.to_owned()),
    })
}

fn text(value: &Value, of: Type) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Long(value) => value.to_string(),
        Value::Double(value) => double_text(*value),
        Value::Dec(value) => decimal_text(*value, of.digits().1),
        Value::Date(days) => date_text(*days),
        Value::Str(text) => text.clone(),
        Value::Null => String::new(),
    }
}

/// As Java writes them.
fn double_text(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    let with_point = |text: String| if text.contains('.') { text } else { text + ".0" };
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return with_point(value.to_string());
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap();
    format!("{}E{exponent}", with_point(mantissa.to_owned()))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970 to a month, counted one by one.
fn days_before(year: i64, month: i64) -> i64 {
    let years =
        |range: std::ops::Range<i64>| range.map(|year| 365 + i64::from(is_leap(year))).sum::<i64>();
    let of_years = if year >= 1970 { years(1970..year) } else { -years(year..1970) };
    of_years + (1..month).map(|month| days_of(year, month)).sum::<i64>()
}

fn date_text(days: i32) -> String {
    let (days, mut year) = (i64::from(days), 1970);
    let mut before = 0;
    while before > days {
        year -= 1;
        before -= 365 + i64::from(is_leap(year));
    }
    while before + 365 + i64::from(is_leap(year)) <= days {
        before += 365 + i64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while before + days_of(year, month) <= days {
        before += days_of(year, month);
        month += 1;
    }
    let sign = if year < 0 {
        "-"
    } else if year > 9999 {
        "+"
    } else {
        ""
    };
    format!("{sign}{:04}-{month:02}-{:02}", year.abs(), days - before + 1)
}

/// `[+-]year[-month[-day]]`, years of four to seven digits; what follows a blank or a `T` is of no matter.
fn date_of_text(text: &str) -> Answer<i32> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let date = rest.split([' ', 'T']).next().unwrap_or("");
    let parts: Vec<&str> = date.split('-').collect();
    let number = |at: usize, digits: std::ops::RangeInclusive<usize>| match parts.get(at) {
        None => Ok(1),
        Some(part) if digits.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()) => {
            part.parse::<i64>().map_err(|_| NoAnswer)
        }
        Some(_) => Err(NoAnswer),
    };
    let (year, month, day) = (sign * number(0, 4..=7)?, number(1, 1..=2)?, number(2, 1..=2)?);
    let exists =
        parts.len() <= 3 && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    if !exists {
        return Err(NoAnswer);
    }
    i32::try_from(days_before(year, month) + day - 1).map_err(|_| NoAnswer)
}
