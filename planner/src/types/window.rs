//! Window functions: their types, and which windows they can be computed over.

use arrow_schema::DataType;

use super::coerce::{is_hashable, is_orderable, normal};
use super::functions::{Call, Kind, aggregate};
use super::rules::{Arg, Site, Typed, common};
use crate::error::PlanError;
use crate::expr::{AggregateFn, Frame, FrameBound, FrameUnit, Scalar, WindowFn, WindowSpec};

/// The types of a window function over `args`; `keys` are the partition keys, then the order keys.
pub(super) fn window(
    function: WindowFn,
    spec: &WindowSpec,
    args: &[Arg<'_>],
    keys: &[Arg<'_>],
    site: Site<'_>,
) -> Result<Typed, PlanError> {
    let (partition, order) = keys.split_at(spec.partition_by.len());
    check_keys(partition, order, site)?;
    if needs_order(function) && order.is_empty() {
        let reason = format!("{} needs an order: `window().order_by(..)`", function.name());
        return Err(invalid(site, reason));
    }
    if let Some(frame) = &spec.frame {
        check_frame(frame, order, site)?;
    }
    let call = Call { name: function.name(), args, site };
    match function {
        WindowFn::Aggregate(AggregateFn::GroupingId) => {
            Err(invalid(site, "grouping_id is no window function"))
        }
        WindowFn::Aggregate(function) => aggregate(function, args, false, site),
        WindowFn::RowNumber | WindowFn::Rank | WindowFn::DenseRank => {
            call.takes(&[]).map(|taken| taken.gives_always(DataType::Int64))
        }
        WindowFn::PercentRank | WindowFn::CumeDist => {
            call.takes(&[]).map(|taken| taken.gives_always(DataType::Float64))
        }
        WindowFn::Ntile => {
            let taken = call.takes(&[Kind::Long])?;
            at_least_one(&call, 0, "the number of parts")?;
            Ok(taken.gives_always(DataType::Int64))
        }
        WindowFn::Lag | WindowFn::Lead => shifted(&call),
        WindowFn::FirstValue | WindowFn::LastValue => call.takes(&[Kind::Any]).map(|taken| {
            let result = taken.first();
            taken.gives_or_null(result)
        }),
        WindowFn::NthValue => {
            let taken = call.takes(&[Kind::Any, Kind::Long])?;
            at_least_one(&call, 1, "the row of nth_value")?;
            let result = taken.first();
            Ok(taken.gives_or_null(result))
        }
    }
}

/// Whether its result is arbitrary without an order.
fn needs_order(function: WindowFn) -> bool {
    use WindowFn::*;
    matches!(function, RowNumber | Rank | DenseRank | PercentRank | CumeDist | Ntile | Lag | Lead)
}

/// The value so many rows away, or a default, which has its type.
fn shifted(call: &Call<'_>) -> Result<Typed, PlanError> {
    let mut taken = call.takes_from(1, &[Kind::Any, Kind::Long, Kind::Any])?;
    if call.args.len() > 1 && call.constant(1)?.as_integer().is_none() {
        return Err(call.site.invalid(format!("the offset of {} must be an integer", call.name)));
    }
    let mut result = taken.first();
    if let Some(default) = call.args.get(2) {
        result = common([&call.args[0], default].into_iter(), call.name, call.site)?;
        taken.types[2] = result.clone();
    }
    taken.types[0] = result.clone();
    Ok(taken.gives_or_null(result))
}

fn at_least_one(call: &Call<'_>, position: usize, what: &str) -> Result<(), PlanError> {
    match call.constant(position)?.as_integer() {
        Some(1..) => Ok(()),
        _ => Err(call.site.invalid(format!("{what} must be at least 1"))),
    }
}

fn check_keys(partition: &[Arg<'_>], order: &[Arg<'_>], site: Site<'_>) -> Result<(), PlanError> {
    if !partition.iter().all(|key| is_hashable(&key.data_type)) {
        return Err(invalid(site, "a partition key is of a type that cannot be compared"));
    }
    if !order.iter().all(|key| is_orderable(&key.data_type)) {
        return Err(invalid(site, "an order key is of a type that cannot be ordered"));
    }
    Ok(())
}

fn check_frame(frame: &Frame, order: &[Arg<'_>], site: Site<'_>) -> Result<(), PlanError> {
    let offsets = [&frame.start, &frame.end].into_iter().filter_map(offset);
    for value in offsets {
        match frame.unit {
            FrameUnit::Rows | FrameUnit::Groups if value.as_integer().is_none_or(|n| n < 0) => {
                return Err(invalid(
                    site,
                    "a frame counts rows: its bounds are whole numbers from 0",
                ));
            }
            FrameUnit::Range => check_range(value, order, site)?,
            _ => {}
        }
    }
    if frame.unit == FrameUnit::Groups && order.is_empty() {
        return Err(invalid(site, "a frame of groups needs an order: `.order_by(..)`"));
    }
    if place(&frame.start) > place(&frame.end)
        || matches!(frame.start, FrameBound::UnboundedFollowing)
        || matches!(frame.end, FrameBound::UnboundedPreceding)
    {
        return Err(invalid(site, "the frame ends before it starts"));
    }
    Ok(())
}

/// A distance of values: one order key from which it can be subtracted.
fn check_range(value: &Scalar, order: &[Arg<'_>], site: Site<'_>) -> Result<(), PlanError> {
    let [key] = order else {
        return Err(invalid(site, "a range frame with a distance needs exactly one order key"));
    };
    let fits = match normal(&key.data_type) {
        number if number.is_numeric() => {
            value.data_type().is_numeric() && value.as_double().is_some_and(|value| value >= 0.0)
        }
        DataType::Date32 | DataType::Timestamp(..) => matches!(value, Scalar::Interval { .. }),
        _ => false,
    };
    let reason = "the distance of a range frame does not go with its order key: use a number from 0 for numbers, \
                  an interval for dates and timestamps";
    if fits { Ok(()) } else { Err(invalid(site, reason)) }
}

fn offset(bound: &FrameBound) -> Option<&Scalar> {
    match bound {
        FrameBound::Preceding(value) | FrameBound::Following(value) => Some(value),
        _ => None,
    }
}

/// Bounds in their order, those of one kind alike.
fn place(bound: &FrameBound) -> u8 {
    match bound {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(_) => 1,
        FrameBound::CurrentRow => 2,
        FrameBound::Following(_) => 3,
        FrameBound::UnboundedFollowing => 4,
    }
}

fn invalid(site: Site<'_>, reason: impl Into<String>) -> PlanError {
    PlanError::InvalidWindow { reason: reason.into(), expr: site.sql() }
}
