//! Which accumulator an aggregate has.

use std::cmp::Ordering;

use arrow::datatypes::{DataType, IntervalUnit, i256};
use millstream_planner::expr::AggregateFn;
use millstream_planner::physical::{AggregateCall, NARROW_SUM_PRECISION, keeps_set};

use super::accumulator::Accumulator;
use super::approx_distinct::ApproxDistinct;
use super::approx_quantile::ApproxQuantile;
use super::bools::Bools;
use super::collect::{Collect, Product, Quantile};
use super::count::Count;
use super::distinct::{CollectSet, Distinct};
use super::extreme::Extreme;
use super::fold::{AllBits, AnyBits, Fold, Max, Min, OddBits, Op, Sum};
use super::moments::Moments;
use super::pick::{Beside, Edge};
use super::sum::{FloatSum, Mean, WholeSum};
use crate::eval::EvalError;

type Made = Result<Box<dyn Accumulator>, EvalError>;

/// A fold over whole numbers as bits.
macro_rules! bits {
    ($call:expr, $op:ident) => {{
        let arg = arg($call);
        match &arg {
            DataType::Int8 | DataType::UInt8 => fold::<$op<u8>>(arg),
            DataType::Int16 | DataType::UInt16 => fold::<$op<u16>>(arg),
            DataType::Int32 | DataType::UInt32 => fold::<$op<u32>>(arg),
            DataType::Int64 | DataType::UInt64 => fold::<$op<u64>>(arg),
            _ => unsupported($call),
        }
    }};
}

/// An accumulator without groups.
pub(in crate::operators::batches) fn accumulator(call: &AggregateCall) -> Made {
    use AggregateFn as F;
    let function = call.function;
    if call.distinct && keeps_set(call) && function != F::CollectSet {
        return boxed(Distinct::new(call)?);
    }
    match function {
        F::Count => boxed(Count::default()),
        F::Sum => sum(call),
        F::Avg => mean(call),
        F::Min => least(call),
        F::Max => largest(call),
        F::ApproxDistinct => boxed(ApproxDistinct::new(&arg(call))?),
        F::ApproxQuantile => boxed(ApproxQuantile::default()),
        F::Quantile => boxed(Quantile::default()),
        F::VarSamp | F::VarPop | F::StddevSamp | F::StddevPop => boxed(Moments::new(function, 2)),
        F::Skewness | F::CovarSamp | F::CovarPop => boxed(Moments::new(function, 3)),
        F::Kurtosis => boxed(Moments::new(function, 4)),
        F::Corr => boxed(Moments::new(function, 5)),
        F::First => boxed(Edge::new(&arg(call), false)?),
        F::Last => boxed(Edge::new(&arg(call), true)?),
        F::MinBy => boxed(Beside::new(&arg(call), &by(call), Ordering::Less)?),
        F::MaxBy => boxed(Beside::new(&arg(call), &by(call), Ordering::Greater)?),
        F::CollectList => boxed(Collect::new(arg(call))),
        F::CollectSet => boxed(CollectSet::new(arg(call))?),
        F::BoolAnd => boxed(Bools::all()),
        F::BoolOr => boxed(Bools::any()),
        F::BitAnd => bits!(call, AllBits),
        F::BitOr => bits!(call, AnyBits),
        F::BitXor => bits!(call, OddBits),
        F::Product => boxed(Product::default()),
        F::GroupingId => unsupported(call),
    }
}

fn boxed(accumulator: impl Accumulator + 'static) -> Made {
    Ok(Box::new(accumulator))
}

fn unsupported(call: &AggregateCall) -> Made {
    let name = call.function.name();
    let types: Vec<String> = call.arg_types.iter().map(DataType::to_string).collect();
    Err(EvalError::unsupported(format!("aggregate {name}({})", types.join(", "))))
}

/// The type of the first argument.
fn arg(call: &AggregateCall) -> DataType {
    call.arg_types.first().cloned().unwrap_or(DataType::Null)
}

/// The type of the argument that another is picked by.
fn by(call: &AggregateCall) -> DataType {
    call.arg_types.get(1).cloned().unwrap_or(DataType::Null)
}

/// How whole numbers are added up.
enum Whole {
    Integers(Fold<Sum<i64, i128>>),
    Narrow(Fold<Sum<i128, i128>>),
    Wide(Fold<Sum<i128, i256>>),
    Wider(Fold<Sum<i256, i256>>),
}

fn whole(arg: &DataType) -> Option<Whole> {
    Some(match *arg {
        DataType::Int64 => Whole::Integers(Fold::new(DataType::Decimal128(38, 0))),
        DataType::Decimal128(precision, scale) if precision <= NARROW_SUM_PRECISION => {
            Whole::Narrow(Fold::new(DataType::Decimal128(38, scale)))
        }
        DataType::Decimal128(_, scale) => Whole::Wide(Fold::new(DataType::Decimal256(76, scale))),
        DataType::Decimal256(_, scale) => Whole::Wider(Fold::new(DataType::Decimal256(76, scale))),
        _ => return None,
    })
}

fn sum(call: &AggregateCall) -> Made {
    let (arg, result) = (arg(call), call.result.clone());
    Ok(match whole(&arg) {
        Some(Whole::Integers(totals)) => Box::new(WholeSum::new(totals, result)),
        Some(Whole::Narrow(totals)) => Box::new(WholeSum::new(totals, result)),
        Some(Whole::Wide(totals)) => Box::new(WholeSum::new(totals, result)),
        Some(Whole::Wider(totals)) => Box::new(WholeSum::new(totals, result)),
        None if arg.is_floating() => Box::new(FloatSum::default()),
        None => return unsupported(call),
    })
}

fn mean(call: &AggregateCall) -> Made {
    let (arg, result) = (arg(call), call.result.clone());
    Ok(match whole(&arg) {
        Some(Whole::Integers(totals)) => Box::new(Mean::new(totals, &arg, result)),
        Some(Whole::Narrow(totals)) => Box::new(Mean::new(totals, &arg, result)),
        Some(Whole::Wide(totals)) => Box::new(Mean::new(totals, &arg, result)),
        Some(Whole::Wider(totals)) => Box::new(Mean::new(totals, &arg, result)),
        None if arg.is_floating() => Box::new(Mean::new(FloatSum::default(), &arg, result)),
        None => return unsupported(call),
    })
}

/// A fold over values of the type of the argument by the operation for its native type.
macro_rules! by_native {
    ($call:expr, $op:ident, DataType::Boolean => $bools:expr, $wanted:expr) => {{
        let arg = arg($call);
        match &arg {
            DataType::Int8 => fold::<$op<i8>>(arg),
            DataType::Int16 => fold::<$op<i16>>(arg),
            DataType::UInt8 => fold::<$op<u8>>(arg),
            DataType::UInt16 => fold::<$op<u16>>(arg),
            DataType::UInt32 => fold::<$op<u32>>(arg),
            DataType::UInt64 => fold::<$op<u64>>(arg),
            DataType::Float32 => fold::<$op<f32>>(arg),
            DataType::Float64 => fold::<$op<f64>>(arg),
            DataType::Int32
            | DataType::Date32
            | DataType::Time32(_)
            | DataType::Interval(IntervalUnit::YearMonth)
            | DataType::Decimal32(..) => fold::<$op<i32>>(arg),
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Decimal64(..) => fold::<$op<i64>>(arg),
            DataType::Decimal128(..) => fold::<$op<i128>>(arg),
            DataType::Decimal256(..) => fold::<$op<i256>>(arg),
            DataType::Boolean => $bools,
            other => boxed(Extreme::new(other, $wanted)?),
        }
    }};
}

fn fold<O: Op>(data_type: DataType) -> Made {
    Ok(Box::new(Fold::<O>::new(data_type)))
}

fn least(call: &AggregateCall) -> Made {
    by_native!(call, Min, DataType::Boolean => boxed(Bools::all()), Ordering::Less)
}

fn largest(call: &AggregateCall) -> Made {
    by_native!(call, Max, DataType::Boolean => boxed(Bools::any()), Ordering::Greater)
}
