//! Sums and means.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, DecimalType, Float32Type, Float64Type, i256,
};

use super::accumulator::Accumulator;
use super::count::Counts;
use super::exact::ExactSums;
use super::fold::{Fold, Op, fixed_array, nulls_of};
use crate::eval::EvalError;

/// Sums whose results have another type than their states, or that means are made of.
pub(super) trait Totals: Accumulator {
    /// The sum of a group.
    fn total(&self, group: u32) -> Option<Total>;
}

/// A sum.
#[derive(Clone, Copy)]
pub(super) enum Total {
    /// Of whole numbers, or of decimals in units of their scale.
    Whole(i256),
    /// Of floats.
    Float(f64),
}

impl<O: Op<Acc: Into<WholeTotal>>> Totals for Fold<O> {
    fn total(&self, group: u32) -> Option<Total> {
        self.get(group).map(|acc| Total::Whole(acc.into().0))
    }
}

/// What sums of whole numbers are kept in.
pub(super) struct WholeTotal(i256);

impl From<i128> for WholeTotal {
    fn from(total: i128) -> Self {
        Self(i256::from_i128(total))
    }
}

impl From<i256> for WholeTotal {
    fn from(total: i256) -> Self {
        Self(total)
    }
}

/// Exact sums of floats.
#[derive(Default)]
pub(super) struct FloatSum {
    sums: ExactSums,
    seen: Vec<bool>,
}

impl FloatSum {
    #[inline(always)]
    fn add(&mut self, group: u32, x: f64) {
        self.sums.add(group, x);
        self.seen[group as usize] = true;
    }
}

impl Accumulator for FloatSum {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups);
        self.seen.resize(groups, false);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        each_float(groups, &args[0], |group, x| self.add(group, x))
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        for (row, group) in groups.iter().enumerate() {
            self.seen[*group as usize] |= states[0].is_valid(row);
        }
        self.sums.merge(groups, states)
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(self.sums.states(groups, nulls_of(&self.seen, groups)).into())
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let totals = groups.iter().map(|group| self.sums.total(*group)).collect();
        fixed_array::<f64>(&DataType::Float64, totals, nulls_of(&self.seen, groups))
    }

    fn bytes(&self) -> usize {
        self.sums.bytes() + self.seen.capacity()
    }
}

impl Totals for FloatSum {
    fn total(&self, group: u32) -> Option<Total> {
        self.seen[group as usize].then(|| Total::Float(self.sums.total(group)))
    }
}

/// Calls `f` for each value that is not NULL.
#[inline(always)]
pub(super) fn each_float(
    groups: &[u32],
    values: &ArrayRef,
    mut f: impl FnMut(u32, f64),
) -> Result<(), EvalError> {
    let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
    let valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    match values.data_type() {
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>().values();
            for (row, (group, x)) in groups.iter().zip(values).enumerate() {
                if valid(row) {
                    f(*group, *x);
                }
            }
        }
        DataType::Float32 => {
            let values = values.as_primitive::<Float32Type>().values();
            for (row, (group, x)) in groups.iter().zip(values).enumerate() {
                if valid(row) {
                    f(*group, f64::from(*x));
                }
            }
        }
        other => return Err(EvalError::unsupported(format!("sum of {other} as floats"))),
    }
    Ok(())
}

/// Sums of whole numbers and decimals, checked when they are given.
pub(super) struct WholeSum<T> {
    totals: T,
    result: DataType,
}

impl<T: Totals> WholeSum<T> {
    pub(super) fn new(totals: T, result: DataType) -> Self {
        Self { totals, result }
    }
}

impl<T: Totals> Accumulator for WholeSum<T> {
    fn resize(&mut self, groups: usize) {
        self.totals.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        self.totals.update(groups, args)
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.totals.merge(groups, states)
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        self.totals.states(groups)
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let whole = |group: &u32| match self.totals.total(*group) {
            Some(Total::Whole(total)) => Some(total),
            _ => None,
        };
        whole_array("sum", groups.iter().map(whole), &self.result)
    }

    fn bytes(&self) -> usize {
        self.totals.bytes()
    }
}

/// Whole numbers, or decimals in units of their scale, as an array of a type that they may not fit.
fn whole_array(
    function: &str,
    totals: impl Iterator<Item = Option<i256>>,
    result: &DataType,
) -> Result<ArrayRef, EvalError> {
    let overflow = |total: i256, scale: i8| {
        let precision = 76;
        EvalError::Overflow {
            operation: format!(
                "the {function} {}",
                Decimal256Type::format_decimal(total, precision, scale)
            ),
            data_type: result.clone(),
            instead: None,
        }
    };
    match *result {
        DataType::Int64 => {
            let fit = |total: Option<i256>| {
                let narrow = |total: i256| {
                    let narrow = total.to_i128().and_then(|total| i64::try_from(total).ok());
                    narrow.ok_or_else(|| overflow(total, 0))
                };
                total.map(narrow).transpose()
            };
            Ok(Arc::new(totals.map(fit).collect::<Result<Int64Array, _>>()?))
        }
        DataType::Decimal128(precision, scale) => {
            let fit = |total: Option<i256>| {
                let fits =
                    |total: &i128| Decimal128Type::is_valid_decimal_precision(*total, precision);
                let narrow = |total: i256| {
                    total.to_i128().filter(fits).ok_or_else(|| overflow(total, scale))
                };
                total.map(narrow).transpose()
            };
            let array = totals.map(fit).collect::<Result<PrimitiveArray<Decimal128Type>, _>>()?;
            Ok(Arc::new(array.with_data_type(result.clone())))
        }
        DataType::Decimal256(precision, scale) => {
            let fit = |total: Option<i256>| {
                let check = |total: i256| match Decimal256Type::is_valid_decimal_precision(
                    total, precision,
                ) {
                    true => Ok(total),
                    false => Err(overflow(total, scale)),
                };
                total.map(check).transpose()
            };
            let array = totals.map(fit).collect::<Result<PrimitiveArray<Decimal256Type>, _>>()?;
            Ok(Arc::new(array.with_data_type(result.clone())))
        }
        _ => Err(EvalError::unsupported(format!("{function} that gives {result}"))),
    }
}

/// Means: sums and counts.
pub(super) struct Mean<T> {
    totals: T,
    counts: Counts,
    /// Of the arguments, 0 for those without one.
    scale: i8,
    result: DataType,
}

impl<T: Totals> Mean<T> {
    pub(super) fn new(totals: T, arg: &DataType, result: DataType) -> Self {
        let scale = match *arg {
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => scale,
            _ => 0,
        };
        Self { totals, counts: Counts::default(), scale, result }
    }

    fn mean_of_floats(&self, group: u32) -> f64 {
        let total = match self.totals.total(group) {
            Some(Total::Float(total)) => total,
            Some(Total::Whole(total)) => total.to_i128().map_or(f64::NAN, |total| total as f64),
            None => 0.0,
        };
        total / self.counts.get(group) as f64
    }

    /// Halves are rounded away from zero.
    fn mean_of_decimals(&self, group: u32, scale: i8) -> Result<Option<i256>, EvalError> {
        let Some(Total::Whole(total)) = self.totals.total(group) else { return Ok(None) };
        let more = u32::try_from(scale - self.scale).unwrap_or(0);
        let count = i256::from_i128(self.counts.get(group).into());
        let up = i256::from_i128(10).checked_pow(more).and_then(|unit| total.checked_mul(unit));
        let overflow = || EvalError::Overflow {
            operation: format!("the mean of {total} of {count} values"),
            data_type: self.result.clone(),
            instead: None,
        };
        let up = up.ok_or_else(overflow)?;
        let (quotient, rest) = (up / count, up % count);
        let away = rest.wrapping_abs() >= count.wrapping_sub(rest.wrapping_abs());
        let step = if up.is_negative() { i256::MINUS_ONE } else { i256::ONE };
        Ok(Some(if away { quotient.wrapping_add(step) } else { quotient }))
    }
}

impl<T: Totals> Accumulator for Mean<T> {
    fn resize(&mut self, groups: usize) {
        self.totals.resize(groups);
        self.counts.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        self.counts.update(groups, args[0].nulls());
        self.totals.update(groups, args)
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        let Some((counts, totals)) = states.split_last() else { return Ok(()) };
        self.counts.merge(groups, counts);
        self.totals.merge(groups, totals)
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        let mut states = self.totals.states(groups)?;
        states.push(self.counts.states(groups));
        Ok(states)
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        match self.result {
            DataType::Float64 => {
                let means = groups.iter().map(|group| self.mean_of_floats(*group));
                let means: Vec<f64> = means.collect();
                let some =
                    groups.iter().map(|group| self.counts.get(*group) > 0).collect::<Vec<_>>();
                Ok(Arc::new(Float64Array::new(means.into(), Some(NullBuffer::from(some)))))
            }
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
                let means = groups.iter().map(|group| self.mean_of_decimals(*group, scale));
                let means = means.collect::<Result<Vec<_>, _>>()?;
                whole_array("mean", means.into_iter(), &self.result)
            }
            _ => Err(EvalError::unsupported(format!("mean that gives {}", self.result))),
        }
    }

    fn bytes(&self) -> usize {
        self.totals.bytes() + self.counts.bytes()
    }
}
