//! Lists, structs and maps.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use super::super::coerce::{common_type, is_orderable, normal};
use super::super::decimal::Decimal;
use super::super::rules::{Typed, common};
use super::call::Taken;
use super::{Call, Kind};
use crate::error::PlanError;
use crate::expr::{Scalar, ScalarFn};

pub(super) fn typed(function: ScalarFn, call: &Call<'_>) -> Option<Result<Typed, PlanError>> {
    use ScalarFn as F;
    Some(match function {
        F::MakeList => call.takes_common(0).map(|taken| {
            let list = DataType::new_list(taken.first(), true);
            taken.gives_always(list)
        }),
        F::ListLength => length(call),
        F::ListGet => call.takes(&[Kind::List, Kind::Long]).map(|taken| {
            let item = item(&taken);
            taken.gives_or_null(item)
        }),
        F::ListContains => contains(call),
        F::ListSort => ordered(call, &[Kind::Boolean], |list, _| list),
        F::ListMax | F::ListMin => {
            ordered(call, &[], |_, item| item).map(|typed| Typed { nullable: true, ..typed })
        }
        F::ListDistinct | F::ListReverse => call.takes(&[Kind::List]).map(Taken::gives_first),
        F::ListJoin => join(call),
        F::ListSum => sum(call),
        F::Sequence => sequence(call),
        F::MakeStruct => make_struct(call),
        F::GetField => get_field(call),
        F::MakeMap => make_map(call),
        F::MapGet => map_get(call),
        F::MapKeys => map_part(call, 0),
        F::MapValues => map_part(call, 1),
        _ => return None,
    })
}

/// The type of the elements of the first argument.
fn item(taken: &Taken<'_>) -> DataType {
    match taken.types.first() {
        Some(DataType::List(item)) => item.data_type().clone(),
        _ => DataType::Null,
    }
}

fn length(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = match call.args.first().map(|arg| &arg.data_type) {
        Some(DataType::Map(..)) => call.takes(&[Kind::Map])?,
        _ => call.takes(&[Kind::List])?,
    };
    Ok(taken.gives(DataType::Int32))
}

fn contains(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes(&[Kind::List, Kind::Hashed])?;
    let wanted = item(&taken);
    let common = common_type(&wanted, &taken.types[1]).ok_or_else(|| {
        let hint = "cast one of them with `.cast(..)`";
        call.site.mismatch("compare the elements of", &call.args[0], &call.args[1], hint)
    })?;
    taken.types = vec![DataType::new_list(common.clone(), true), common];
    Ok(taken.gives_or_null(DataType::Boolean))
}

fn ordered(
    call: &Call<'_>,
    options: &[Kind],
    result: fn(DataType, DataType) -> DataType,
) -> Result<Typed, PlanError> {
    let kinds: Vec<Kind> = std::iter::once(Kind::List).chain(options.iter().copied()).collect();
    let taken = call.takes_from(1, &kinds)?;
    let (list, item) = (taken.first(), item(&taken));
    if !is_orderable(&item) {
        return Err(call.site.argument(
            call.name,
            0,
            "a list whose elements can be ordered",
            &call.args[0],
        ));
    }
    Ok(taken.gives(result(list, item)))
}

fn join(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes_from(2, &[Kind::List, Kind::String, Kind::String])?;
    taken.types[0] = DataType::new_list(DataType::Utf8View, true);
    Ok(taken.gives(DataType::Utf8View))
}

/// As the aggregate does.
fn sum(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes(&[Kind::List])?;
    let (element, result) = match item(&taken) {
        DataType::UInt64 => (DataType::Decimal128(20, 0), DataType::Decimal128(30, 0)),
        integer if integer.is_integer() => (DataType::Int64, DataType::Int64),
        float if float.is_floating() || float == DataType::Null => {
            (DataType::Float64, DataType::Float64)
        }
        decimal => match Decimal::of(&decimal) {
            Some(of) => (decimal, of.total().data_type()),
            None => {
                return Err(call.site.argument(call.name, 0, "a list of numbers", &call.args[0]));
            }
        },
    };
    taken.types = vec![DataType::new_list(element, true)];
    Ok(taken.gives_or_null(result))
}

/// Of integers by an integer, of dates or timestamps by an interval.
fn sequence(call: &Call<'_>) -> Result<Typed, PlanError> {
    let times = matches!(
        call.args.first().map(|arg| &arg.data_type),
        Some(DataType::Date32 | DataType::Timestamp(..))
    );
    if !times {
        let mut taken = call.takes_from(2, &[Kind::Integer, Kind::Integer, Kind::Integer])?;
        taken.types = vec![DataType::Int64; call.args.len()];
        return Ok(taken.gives(DataType::new_list(DataType::Int64, true)));
    }
    let mut taken = call.takes_from(2, &[Kind::Time, Kind::Time, Kind::Interval])?;
    let common = common(call.args[..2].iter(), call.name, call.site)?;
    taken.types[..2].fill(common.clone());
    Ok(taken.gives(DataType::new_list(common, true)))
}

/// Names, which are constants, and values by turns.
fn make_struct(call: &Call<'_>) -> Result<Typed, PlanError> {
    if call.args.is_empty() || call.args.len() % 2 == 1 {
        return Err(call.site.count(
            call.name,
            "names and values by turns, an even number of",
            call.args.len(),
        ));
    }
    let mut fields = Vec::with_capacity(call.args.len() / 2);
    let mut types = Vec::with_capacity(call.args.len());
    for (position, pair) in call.args.chunks_exact(2).enumerate() {
        let Scalar::Utf8(name) = call.constant(2 * position)? else {
            return Err(call.site.argument(call.name, 2 * position, "a name", &pair[0]));
        };
        if fields.iter().any(|field: &Arc<Field>| field.name() == &**name) {
            return Err(call.site.invalid(format!("the struct has two fields `{name}`")));
        }
        let value = normal(&pair[1].data_type);
        fields.push(Arc::new(Field::new(&**name, value.clone(), pair[1].nullable)));
        types.extend([DataType::Utf8View, value]);
    }
    let result = DataType::Struct(Fields::from(fields));
    Ok(Typed { args: types, result, nullable: false })
}

fn get_field(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = call.takes(&[Kind::Struct, Kind::String])?;
    let (DataType::Struct(fields), Scalar::Utf8(name)) = (taken.first(), call.constant(1)?) else {
        return Err(call.site.argument(call.name, 1, "a name", &call.args[1]));
    };
    let Some((_, field)) = fields.find(name) else {
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let reason =
            format!("the struct has no field `{name}`; its fields are {}", names.join(", "));
        return Err(call.site.invalid(reason));
    };
    let nullable = call.args[0].nullable || field.is_nullable();
    Ok(Typed { nullable, ..taken.gives(field.data_type().clone()) })
}

fn make_map(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = call.takes(&[Kind::List, Kind::List])?;
    let (DataType::List(keys), DataType::List(values)) = (&taken.types[0], &taken.types[1]) else {
        return Err(call.site.argument(call.name, 0, "a list", &call.args[0]));
    };
    let entries = DataType::Struct(Fields::from(vec![
        Field::new("key", keys.data_type().clone(), false),
        Field::new("value", values.data_type().clone(), true),
    ]));
    let map = DataType::Map(Arc::new(Field::new("entries", entries, false)), false);
    Ok(taken.gives(map))
}

fn map_get(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes(&[Kind::Map, Kind::Hashed])?;
    let (key, value) = entries(&taken, call)?;
    let fits = common_type(&key, &taken.types[1]);
    if fits.is_none() {
        let hint = "cast the key with `.cast(..)`";
        return Err(call.site.mismatch("look up in", &call.args[0], &call.args[1], hint));
    }
    taken.types[1] = key;
    Ok(taken.gives_or_null(value))
}

fn map_part(call: &Call<'_>, part: usize) -> Result<Typed, PlanError> {
    let taken = call.takes(&[Kind::Map])?;
    let (key, value) = entries(&taken, call)?;
    let item = if part == 0 { key } else { value };
    Ok(taken.gives(DataType::new_list(item, true)))
}

/// The types of keys and values of the first argument.
fn entries(taken: &Taken<'_>, call: &Call<'_>) -> Result<(DataType, DataType), PlanError> {
    if let DataType::Map(entries, _) = taken.first()
        && let DataType::Struct(fields) = entries.data_type()
        && let [key, value] = &fields[..]
    {
        return Ok((key.data_type().clone(), value.data_type().clone()));
    }
    Err(call.site.argument(call.name, 0, "a map", &call.args[0]))
}
