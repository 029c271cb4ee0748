//! Strings.

use arrow_schema::DataType;

use super::super::rules::Typed;
use super::Call;
use super::Kind::{Any, Binary, Bytes, Int, Integer, Long, String as Str, Written};
use crate::error::PlanError;
use crate::expr::ScalarFn;

pub(super) fn typed(function: ScalarFn, call: &Call<'_>) -> Option<Result<Typed, PlanError>> {
    use ScalarFn as F;
    let gives_string = |taken: super::call::Taken<'_>| taken.gives(DataType::Utf8View);
    let gives_int = |taken: super::call::Taken<'_>| taken.gives(DataType::Int32);
    let gives_boolean = |taken: super::call::Taken<'_>| taken.gives(DataType::Boolean);
    Some(match function {
        F::Length | F::OctetLength => call.takes(&[Bytes]).map(gives_int),
        F::Lower | F::Upper | F::InitCap | F::Reverse => call.takes(&[Str]).map(gives_string),
        F::Trim | F::LTrim | F::RTrim => call.takes_from(1, &[Str, Str]).map(gives_string),
        F::Substring => call.takes_from(2, &[Str, Int, Int]).map(gives_string),
        F::Left | F::Right | F::Repeat => call.takes(&[Str, Int]).map(gives_string),
        F::Concat => call.takes_many(&[Written], Written).map(gives_string),
        F::ConcatWs => call.takes_many(&[Str], Written).map(|taken| {
            let mut typed = taken.gives(DataType::Utf8View);
            typed.nullable = call.args[0].nullable;
            typed
        }),
        F::Contains | F::StartsWith | F::EndsWith => call.takes(&[Str, Str]).map(gives_boolean),
        F::Position => call.takes(&[Str, Str]).map(gives_int),
        F::Replace | F::Translate => call.takes(&[Str, Str, Str]).map(gives_string),
        F::LPad | F::RPad => call.takes_from(2, &[Str, Int, Str]).map(gives_string),
        F::SplitPart => call.takes(&[Str, Str, Int]).map(gives_string),
        F::Split => call
            .takes(&[Str, Str])
            .map(|taken| taken.gives(DataType::new_list(DataType::Utf8View, true))),
        F::Ascii => call.takes(&[Str]).map(gives_int),
        F::Chr => call.takes(&[Long]).map(gives_string),
        F::RegexpLike => call.takes(&[Str, Str]).map(gives_boolean),
        F::RegexpReplace => call.takes(&[Str, Str, Str]).map(gives_string),
        F::RegexpExtract => call.takes_from(2, &[Str, Str, Int]).map(gives_string),
        F::RegexpCount => call.takes(&[Str, Str]).map(gives_int),
        F::Sha2 => call.takes_from(1, &[Binary, Integer]).map(gives_string),
        F::Hash => call.takes_many(&[Any], Any).map(|taken| taken.gives_always(DataType::Int64)),
        _ => return None,
    })
}
