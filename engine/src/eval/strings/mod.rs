//! Functions of strings. Positions and lengths count characters (Unicode scalar values), not bytes. A NULL
//! argument gives NULL, except for `concat_ws`.
//!
//! Where a result is a part of its argument it shares the argument's bytes (`pieces`); otherwise it
//! is written through one buffer that all rows use (`text`).

mod case;
mod digest;
mod join;
mod measure;
mod pad;
mod part;
mod pattern;
mod pieces;
mod regexp;
mod replace;
mod search;
mod split;
#[cfg(test)]
mod tests;
mod text;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
pub(super) use join::list_join;
use millstream_planner::expr::{Scalar, ScalarFn};
use regex::Regex;
pub(super) use text::write;

use super::arguments::Arguments;
use super::error::EvalError;
use super::value::Value;

/// What is made once of arguments that are known before there are rows.
pub(crate) enum Prepared {
    /// A compiled regular expression.
    Pattern(Regex),
}

/// Prepares a function for arguments of which some are known: those are given, in their places.
pub(crate) fn prepare(
    function: ScalarFn,
    constants: &[Option<&Scalar>],
) -> Result<Option<Prepared>, EvalError> {
    use ScalarFn as F;
    let has_pattern = matches!(
        function,
        F::RegexpLike | F::RegexpReplace | F::RegexpExtract | F::RegexpCount | F::Split
    );
    match constants.get(1) {
        Some(Some(Scalar::Utf8(pattern))) if has_pattern => {
            Ok(Some(Prepared::Pattern(pattern::compile(function, pattern)?)))
        }
        _ => Ok(None),
    }
}

/// The value of a function for each row. `prepared` is what [`prepare`] made for this call.
pub(crate) fn call(
    function: ScalarFn,
    args: &[Value],
    rows: usize,
    result: &DataType,
    prepared: Option<&Prepared>,
) -> Result<Value, EvalError> {
    evaluate(Arguments { function, values: args, rows }, result, prepared).map(Value::Array)
}

fn evaluate(
    args: Arguments<'_>,
    result: &DataType,
    prepared: Option<&Prepared>,
) -> Result<ArrayRef, EvalError> {
    use ScalarFn as F;
    match args.function {
        F::Length => measure::length(args),
        F::OctetLength => measure::octet_length(args),
        F::Ascii => measure::ascii(args),
        F::Lower => case::lower(args),
        F::Upper => case::upper(args),
        F::InitCap => case::init_cap(args),
        F::Trim => part::trim(args, true, true),
        F::LTrim => part::trim(args, true, false),
        F::RTrim => part::trim(args, false, true),
        F::Substring => part::substring(args),
        F::Left => part::left(args),
        F::Right => part::right(args),
        F::SplitPart => part::split_part(args),
        F::Concat => join::concat(args),
        F::ConcatWs => join::concat_ws(args),
        F::Contains => search::contains(args),
        F::StartsWith => search::starts_with(args),
        F::EndsWith => search::ends_with(args),
        F::Position => search::position(args),
        F::Replace => replace::replace(args),
        F::Translate => replace::translate(args),
        F::Repeat => pad::repeat(args),
        F::LPad => pad::pad(args, pad::Side::Left),
        F::RPad => pad::pad(args, pad::Side::Right),
        F::Reverse => pad::reverse(args),
        F::Chr => pad::chr(args),
        F::Split => split::split(args, result, prepared),
        F::RegexpLike => regexp::like(args, prepared),
        F::RegexpReplace => regexp::replace(args, prepared),
        F::RegexpExtract => regexp::extract(args, prepared),
        F::RegexpCount => regexp::count(args, prepared),
        F::Sha2 => digest::sha2(args),
        other => Err(EvalError::unsupported(format!("{} of strings", other.name()))),
    }
}
