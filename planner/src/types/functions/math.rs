//! Numbers, and choosing among values.

use arrow_schema::DataType;

use super::super::arithmetic;
use super::super::coerce::is_orderable;
use super::super::decimal::Decimal;
use super::super::rules::{Typed, compared};
use super::{Call, Kind};
use crate::error::PlanError;
use crate::expr::{BinaryOp, ScalarFn};

pub(super) fn typed(function: ScalarFn, call: &Call<'_>) -> Option<Result<Typed, PlanError>> {
    use ScalarFn as F;
    Some(match function {
        F::Coalesce => call.takes_common(1).map(|taken| {
            let result = taken.first();
            taken.gives_unless_all_null(result)
        }),
        F::NullIf => null_if(call),
        F::Greatest | F::Least => extreme(call),
        F::NanVl => nan_vl(call),
        F::Abs => call.takes(&[Kind::Number]).map(|taken| taken.gives_first()),
        F::Floor | F::Ceil => whole(call),
        F::Round | F::BRound | F::Trunc => rounded(call),
        F::Signum
        | F::Sqrt
        | F::Cbrt
        | F::Exp
        | F::Sin
        | F::Cos
        | F::Tan
        | F::Asin
        | F::Acos
        | F::Atan
        | F::Degrees
        | F::Radians => call.takes(&[Kind::Double]).map(|taken| taken.gives(DataType::Float64)),
        F::Ln | F::Log2 | F::Log10 => {
            call.takes(&[Kind::Double]).map(|taken| taken.gives_or_null(DataType::Float64))
        }
        F::Pow | F::Atan2 => {
            call.takes(&[Kind::Double, Kind::Double]).map(|taken| taken.gives(DataType::Float64))
        }
        F::PMod => as_operator(BinaryOp::Remainder, call, false),
        F::TryAdd => as_operator(BinaryOp::Add, call, true),
        F::TrySubtract => as_operator(BinaryOp::Subtract, call, true),
        F::TryMultiply => as_operator(BinaryOp::Multiply, call, true),
        F::TryDivide => as_operator(BinaryOp::Divide, call, true),
        F::BitNot => call.takes(&[Kind::Integer]).map(|taken| taken.gives_first()),
        F::WidthBucket => call
            .takes(&[Kind::Double, Kind::Double, Kind::Double, Kind::Long])
            .map(|taken| taken.gives_or_null(DataType::Int64)),
        F::Rand => {
            call.takes_from(0, &[Kind::Long]).map(|taken| taken.gives_always(DataType::Float64))
        }
        F::RowId => call.takes(&[]).map(|taken| taken.gives_always(DataType::Int64)),
        _ => return None,
    })
}

fn null_if(call: &Call<'_>) -> Result<Typed, PlanError> {
    call.takes(&[Kind::Hashed, Kind::Hashed])?;
    let (left, right) = (&call.args[0], &call.args[1]);
    let hint = "cast one of them with `.cast(..)`";
    let common =
        compared(left, right).ok_or_else(|| call.site.mismatch("compare", left, right, hint))?;
    Ok(Typed { args: vec![common.clone(), common.clone()], result: common, nullable: true })
}

fn extreme(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = call.takes_common(2)?;
    let result = taken.first();
    if !is_orderable(&result) {
        return Err(call.site.argument(call.name, 0, "values that can be ordered", &call.args[0]));
    }
    Ok(taken.gives_unless_all_null(result))
}

fn nan_vl(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes(&[Kind::Number, Kind::Number])?;
    let single = taken.types.iter().all(|data_type| *data_type == DataType::Float32);
    let float = if single { DataType::Float32 } else { DataType::Float64 };
    taken.types = vec![float.clone(), float.clone()];
    Ok(taken.gives(float))
}

/// Of decimals a decimal without digits after the point, of floats `bigint`, as Spark.
fn whole(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = call.takes(&[Kind::Number])?;
    let number = taken.first();
    let result = match &number {
        integer if integer.is_integer() => number.clone(),
        float if float.is_floating() => DataType::Int64,
        decimal => Decimal::of(decimal).map_or(number.clone(), |of| of.rounded(0).data_type()),
    };
    Ok(taken.gives(result))
}

/// The digits are a constant, since those of a decimal's type depend on it.
fn rounded(call: &Call<'_>) -> Result<Typed, PlanError> {
    let taken = call.takes_from(1, &[Kind::Number, Kind::Int])?;
    let number = taken.first();
    let digits = match call.args.len() {
        1 => 0,
        _ => call.constant(1)?.as_integer().unwrap_or(0).clamp(-38, 38) as i32,
    };
    let result = match Decimal::of(&number) {
        Some(of) if !number.is_integer() => of.rounded(digits).data_type(),
        _ => number,
    };
    Ok(taken.gives(result))
}

fn as_operator(op: BinaryOp, call: &Call<'_>, lenient: bool) -> Result<Typed, PlanError> {
    call.takes(&[Kind::Any, Kind::Any])?;
    let mut typed = arithmetic::binary(op, &call.args[0], &call.args[1], call.site)?;
    typed.nullable |= lenient;
    Ok(typed)
}
