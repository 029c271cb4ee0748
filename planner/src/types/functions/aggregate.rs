//! Aggregates.
//!
//! Integers are added up as `bigint`, `float`s as doubles; decimals keep their scale and get ten digits more.

use arrow_schema::DataType;

use super::super::decimal::Decimal;
use super::super::rules::{Arg, Site, Typed};
use super::call::Taken;
use super::{Call, Kind};
use crate::error::PlanError;
use crate::expr::AggregateFn;

/// The types of an aggregate over `args`, without its filter.
pub(in super::super) fn aggregate(
    function: AggregateFn,
    args: &[Arg<'_>],
    distinct: bool,
    site: Site<'_>,
) -> Result<Typed, PlanError> {
    use AggregateFn as F;
    let call = Call { name: function.name(), args, site };
    if distinct && args.is_empty() {
        return Err(site.invalid("DISTINCT needs an argument"));
    }
    let double = |taken: Taken<'_>| taken.gives_or_null(DataType::Float64);
    match function {
        F::Count if distinct => call.takes_many(&[Kind::Hashed], Kind::Hashed).map(counts),
        F::Count => call.takes_many(&[], Kind::Any).map(counts),
        F::ApproxDistinct => call.takes(&[Kind::Hashed]).map(counts),
        F::Sum => sum(&call),
        F::Avg => avg(&call),
        F::Min | F::Max => call.takes(&[Kind::Ordered]).map(first),
        F::ApproxQuantile | F::Quantile => quantile(&call),
        F::VarSamp
        | F::VarPop
        | F::StddevSamp
        | F::StddevPop
        | F::Skewness
        | F::Kurtosis
        | F::Product => call.takes(&[Kind::Double]).map(double),
        F::Corr | F::CovarSamp | F::CovarPop => {
            call.takes(&[Kind::Double, Kind::Double]).map(double)
        }
        F::First | F::Last => call.takes(&[Kind::Any]).map(first),
        F::MinBy | F::MaxBy => call.takes(&[Kind::Any, Kind::Ordered]).map(first),
        F::CollectList => call.takes(&[Kind::Any]).map(list),
        F::CollectSet => call.takes(&[Kind::Hashed]).map(list),
        F::BoolAnd | F::BoolOr => {
            call.takes(&[Kind::Boolean]).map(|taken| taken.gives_or_null(DataType::Boolean))
        }
        F::BitAnd | F::BitOr | F::BitXor => call.takes(&[Kind::Integer]).map(first),
        F::GroupingId => call.takes_many(&[], Kind::Any).map(counts),
    }
}

fn counts(taken: Taken<'_>) -> Typed {
    taken.gives_always(DataType::Int64)
}

fn first(taken: Taken<'_>) -> Typed {
    let result = taken.first();
    taken.gives_or_null(result)
}

fn list(taken: Taken<'_>) -> Typed {
    let result = DataType::new_list(taken.first(), true);
    taken.gives_always(result)
}

fn sum(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes(&[Kind::Number])?;
    let (arg, result) = match taken.first() {
        DataType::UInt64 => (DataType::Decimal128(20, 0), DataType::Decimal128(30, 0)),
        integer if integer.is_integer() => (DataType::Int64, DataType::Int64),
        decimal => match Decimal::of(&decimal) {
            Some(of) => (decimal, of.total().data_type()),
            None => (DataType::Float64, DataType::Float64),
        },
    };
    taken.types = vec![arg];
    Ok(taken.gives_or_null(result))
}

fn avg(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes(&[Kind::Number])?;
    let (arg, result) = match taken.first() {
        DataType::UInt64 => (DataType::Float64, DataType::Float64),
        integer if integer.is_integer() => (DataType::Int64, DataType::Float64),
        decimal => match Decimal::of(&decimal) {
            Some(of) => (decimal, of.mean().data_type()),
            None => (DataType::Float64, DataType::Float64),
        },
    };
    taken.types = vec![arg];
    Ok(taken.gives_or_null(result))
}

/// The share is a constant from 0 to 1.
fn quantile(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = call.takes(&[Kind::Double, Kind::Double])?;
    match call.constant(1)?.as_double() {
        Some(share) if (0.0..=1.0).contains(&share) => Ok(taken.gives_or_null(DataType::Float64)),
        _ => Err(call.site.invalid("a quantile is a share from 0 to 1")),
    }
}
