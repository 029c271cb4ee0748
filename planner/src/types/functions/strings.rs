//! Strings.

use arrow_schema::DataType;

use super::super::coerce::can_cast;
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
        F::ConcatWs => concat_ws(call),
        F::Contains | F::StartsWith | F::EndsWith => call.takes(&[Str, Str]).map(gives_boolean),
        F::Position => call.takes_from(2, &[Str, Str, Int]).map(gives_int),
        F::Replace => call.takes_from(2, &[Str, Str, Str]).map(gives_string),
        F::Translate => call.takes(&[Str, Str, Str]).map(gives_string),
        F::LPad | F::RPad => call.takes_from(2, &[Str, Int, Str]).map(gives_string),
        F::SplitPart => call.takes(&[Str, Str, Int]).map(gives_string),
        F::Split => call
            .takes_from(2, &[Str, Str, Int])
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

/// A separator, then values and lists of strings; NULL only if the separator is.
fn concat_ws(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes_many(&[Str], Any)?;
    for (position, arg) in taken.types.iter_mut().enumerate() {
        *arg = match &*arg {
            DataType::List(_) => DataType::new_list(DataType::Utf8View, true),
            value if can_cast(value, &DataType::Utf8View) => DataType::Utf8View,
            _ => {
                let expected = "a string or a list of strings";
                return Err(call.site.argument(
                    call.name,
                    position,
                    expected,
                    &call.args[position],
                ));
            }
        };
    }
    let nullable = call.args[0].nullable;
    Ok(Typed { nullable, ..taken.gives(DataType::Utf8View) })
}
