//! Aggregates that keep all values of a group: lists, exact quantiles and products.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, ListArray};
use arrow::datatypes::{DataType, Float64Type};

use super::accumulator::Accumulator;
use super::lists::Lists;
use crate::eval::{Canonical, EvalError};

/// The list of the values.
pub(super) struct Collect(Lists);

impl Collect {
    pub(super) fn new(item: DataType) -> Self {
        Self(Lists::new(item))
    }
}

impl Accumulator for Collect {
    fn resize(&mut self, groups: usize) {
        self.0.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        self.0.push(groups, &args[0])
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.0.merge(groups, &states[0])
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(vec![self.finish(groups)?])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        Ok(Arc::new(self.0.lists(groups)?))
    }

    fn weights(&self) -> Option<&[u32]> {
        Some(self.0.lengths())
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// The value below which a share of the values lies, interpolated between the two that are next to it.
pub(super) struct Quantile {
    values: Lists,
    share: Share,
}

/// The share that a quantile is asked for: the same in all rows.
#[derive(Default)]
pub(super) struct Share(Option<f64>);

impl Share {
    /// Takes it from a column.
    pub(super) fn see(&mut self, shares: &ArrayRef) {
        if self.0.is_none() {
            self.0 = shares.as_primitive::<Float64Type>().iter().flatten().next();
        }
    }

    /// A column of it, with NULL where there is nothing to be had a quantile of.
    pub(super) fn states(&self, some: impl Iterator<Item = bool>) -> ArrayRef {
        Arc::new(some.map(|some| self.0.filter(|_| some)).collect::<Float64Array>())
    }

    pub(super) fn get(&self) -> f64 {
        self.0.unwrap_or(f64::NAN)
    }
}

impl Default for Quantile {
    fn default() -> Self {
        Self { values: Lists::new(DataType::Float64), share: Share::default() }
    }
}

impl Accumulator for Quantile {
    fn resize(&mut self, groups: usize) {
        self.values.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        self.share.see(&args[1]);
        self.values.push(groups, &args[0])
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.share.see(&states[1]);
        self.values.merge(groups, &states[0])
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        let some = groups.iter().map(|group| self.values.len(*group) > 0);
        let share = self.share.states(some);
        Ok(vec![Arc::new(self.values.lists(groups)?), share])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let share = self.share.get();
        let lists = self.values.lists(groups)?;
        Ok(Arc::new(each_sorted(&lists, |values| quantile(values, share))))
    }

    fn weights(&self) -> Option<&[u32]> {
        Some(self.values.lengths())
    }

    fn bytes(&self) -> usize {
        self.values.bytes()
    }
}

/// Makes one value of each list that is not empty. Its values are in order, NaN last.
fn each_sorted(lists: &ListArray, f: impl Fn(&[f64]) -> f64) -> Float64Array {
    let values = lists.values().as_primitive::<Float64Type>().values();
    let mut sorted = Vec::new();
    let one = |ends: &[i32]| {
        sorted.clear();
        let values = &values[ends[0] as usize..ends[1] as usize];
        sorted.extend(values.iter().copied().map(Float64Type::canonical));
        sorted.sort_unstable_by(f64::total_cmp);
        (!sorted.is_empty()).then(|| f(&sorted))
    };
    lists.value_offsets().windows(2).map(one).collect()
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    between(low, high, place.fract())
}

/// A value between two others.
pub(super) fn between(low: f64, high: f64, share: f64) -> f64 {
    if low == high || share == 0.0 { low } else { low * (1.0 - share) + high * share }
}

/// The product. Values are multiplied in their order, so that roundings are always the same.
pub(super) struct Product(Lists);

impl Default for Product {
    fn default() -> Self {
        Self(Lists::new(DataType::Float64))
    }
}

impl Accumulator for Product {
    fn resize(&mut self, groups: usize) {
        self.0.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        self.0.push(groups, &args[0])
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.0.merge(groups, &states[0])
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(vec![Arc::new(self.0.lists(groups)?)])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        Ok(Arc::new(each_sorted(&self.0.lists(groups)?, product)))
    }

    fn weights(&self) -> Option<&[u32]> {
        Some(self.0.lengths())
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// The product with its exponent apart, which does not overflow on the way.
fn product(values: &[f64]) -> f64 {
    if values.iter().any(|x| *x == 0.0 || !x.is_finite()) {
        return values.iter().product();
    }
    let (mut mantissa, mut exponent) = (1.0, 0i64);
    for x in values {
        let (m, e) = split(mantissa * split(*x).0);
        mantissa = m;
        exponent += e + split(*x).1;
    }
    // In two steps each of which is a power of two that a double can have.
    let step = |exponent: i64| 2f64.powi(exponent.clamp(-1000, 1000) as i32);
    let exponent = exponent.clamp(-3000, 3000);
    let (first, second) = (exponent / 2, exponent - exponent / 2);
    mantissa * step(first) * step(second)
}

/// A double of magnitude 1 to 2 and the exponent of 2.
fn split(x: f64) -> (f64, i64) {
    const SUBNORMAL: f64 = 18_014_398_509_481_984.0; // 2^54
    if x.abs() < f64::MIN_POSITIVE {
        let (mantissa, exponent) = split(x * SUBNORMAL);
        return (mantissa, exponent - 54);
    }
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64 - 1023;
    (f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52), exponent)
}
