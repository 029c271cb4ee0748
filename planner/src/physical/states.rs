//! What aggregates carry from the tasks that see rows to those that see groups whole.
//!
//! States are such that the result is a function of the rows alone, however they are split: sums of floats are exact,
//! and approximations the same for any order of merging.

use arrow_schema::{DataType, Field};

use super::plan::AggregateCall;
use crate::expr::AggregateFn;

/// The greatest precision of decimals that are added up in 128 bits: 10^10 of them cannot overflow.
pub const NARROW_SUM_PRECISION: u8 = 28;

/// The columns of an aggregate's state. NULL in the first one stands for no value, except for counts.
#[must_use]
pub fn state_types(call: &AggregateCall) -> Vec<Field> {
    use AggregateFn as F;
    let first = call.arg_types.first().cloned().unwrap_or(DataType::Null);
    if keeps_set(call) {
        return vec![nullable("values", DataType::new_list(set_item(call), true))];
    }
    match call.function {
        F::Count | F::GroupingId => vec![count()],
        F::Sum => sum("sum", &first),
        F::Avg => with_count(sum("sum", &first)),
        F::Min | F::Max if first.is_nested() || first == DataType::Float16 => {
            vec![nullable("row", DataType::Binary)]
        }
        F::Min | F::Max | F::BitAnd | F::BitOr | F::BitXor | F::BoolAnd | F::BoolOr => {
            vec![nullable("value", first)]
        }
        F::ApproxDistinct => vec![nullable("sketch", DataType::Binary)],
        F::ApproxQuantile => {
            vec![nullable("sketch", DataType::Binary), nullable("share", DataType::Float64)]
        }
        F::Quantile => {
            let values = DataType::new_list(DataType::Float64, true);
            vec![nullable("values", values), nullable("share", DataType::Float64)]
        }
        F::VarSamp | F::VarPop | F::StddevSamp | F::StddevPop => with_count(powers(2)),
        F::Skewness => with_count(powers(3)),
        F::Kurtosis => with_count(powers(4)),
        F::CovarSamp | F::CovarPop => with_count(float_sums(&["y", "x", "xy"])),
        F::Corr => with_count(float_sums(&["y", "x", "xy", "yy", "xx"])),
        F::First | F::Last => vec![nullable("row", DataType::Binary)],
        F::MinBy | F::MaxBy => {
            vec![nullable("by", DataType::Binary), nullable("row", DataType::Binary)]
        }
        F::CollectList | F::CollectSet | F::Product => {
            vec![nullable("values", DataType::new_list(first, true))]
        }
    }
}

/// Whether an aggregate keeps the different values themselves: where DISTINCT makes a difference.
#[must_use]
pub fn keeps_set(call: &AggregateCall) -> bool {
    use AggregateFn as F;
    let indifferent = matches!(
        call.function,
        F::Min
            | F::Max
            | F::ApproxDistinct
            | F::First
            | F::Last
            | F::MinBy
            | F::MaxBy
            | F::BoolAnd
            | F::BoolOr
            | F::BitAnd
            | F::BitOr
            | F::GroupingId
    );
    call.function == F::CollectSet || (call.distinct && !indifferent)
}

/// The type of the values that [`keeps_set`] speaks of: a struct, if there are several arguments.
#[must_use]
pub fn set_item(call: &AggregateCall) -> DataType {
    match call.arg_types.as_slice() {
        [one] => one.clone(),
        all => {
            let field =
                |(at, data_type): (usize, &DataType)| nullable(&at.to_string(), data_type.clone());
            DataType::Struct(all.iter().enumerate().map(field).collect())
        }
    }
}

fn nullable(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn count() -> Field {
    Field::new("count", DataType::Int64, false)
}

fn with_count(mut fields: Vec<Field>) -> Vec<Field> {
    fields.push(count());
    fields
}

fn sum(name: &str, of: &DataType) -> Vec<Field> {
    match of {
        DataType::Decimal128(precision, scale) if *precision <= NARROW_SUM_PRECISION => {
            vec![nullable(name, DataType::Decimal128(38, *scale))]
        }
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
            vec![nullable(name, DataType::Decimal256(76, *scale))]
        }
        of if of.is_floating() => float_sums(&[name]),
        _ => vec![nullable(name, DataType::Decimal128(38, 0))],
    }
}

/// The sum rounded, what rounding has lost rounded, and exactly all of it where the two are not enough.
fn float_sums(names: &[&str]) -> Vec<Field> {
    let one = |name: &&str| {
        [
            nullable(name, DataType::Float64),
            nullable(&format!("{name}_low"), DataType::Float64),
            nullable(&format!("{name}_exact"), DataType::Binary),
        ]
    };
    names.iter().flat_map(one).collect()
}

fn powers(n: usize) -> Vec<Field> {
    float_sums(&["x", "x2", "x3", "x4"][..n])
}
