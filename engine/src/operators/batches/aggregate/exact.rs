//! Sums of doubles that do not depend on the order or the parts in which they are added up: they are exact.
//!
//! A sum is kept as two doubles, the second of which takes what rounding the first loses (Knuth's two-sum). Where
//! that would be rounded in turn, which is rare, the value goes to a [`Wide`] sum.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder, Float64Array};
use arrow::datatypes::Float64Type;

use super::wide::Wide;
use crate::eval::EvalError;

/// Exact sums by group.
#[derive(Default)]
pub(super) struct ExactSums {
    sums: Vec<(f64, f64)>,
    rest: HashMap<u32, Box<Wide>>,
}

/// The columns of a state.
pub(super) const COLUMNS: usize = 3;

impl ExactSums {
    pub(super) fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, (0.0, 0.0));
    }

    #[inline(always)]
    pub(super) fn add(&mut self, group: u32, x: f64) {
        let sum = &mut self.sums[group as usize];
        match add(*sum, x) {
            Some(more) => *sum = more,
            None => self.add_rarely(group, x),
        }
    }

    #[cold]
    fn add_rarely(&mut self, group: u32, x: f64) {
        let sum = &mut self.sums[group as usize];
        let normal = two_sum(sum.0, sum.1);
        match add(normal, x).filter(|_| normal.0.is_finite()) {
            Some(more) => *sum = more,
            None => self.rest.entry(group).or_insert_with(|| Box::new(Wide::new())).add(x),
        }
    }

    /// Adds states.
    pub(super) fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        let float = |at: usize| states[at].as_primitive::<Float64Type>();
        let (high, low, exact) = (float(0), float(1), states[2].as_binary::<i32>());
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| high.is_valid(*row)) {
            self.add(*group, high.value(row));
            self.add(*group, low.value(row));
            if exact.is_valid(row) {
                let wide = Wide::from_bytes(exact.value(row));
                let wide = wide.ok_or_else(|| EvalError::unsupported("sum in a damaged state"))?;
                self.rest.entry(*group).or_insert_with(|| Box::new(Wide::new())).merge(&wide);
            }
        }
        Ok(())
    }

    /// The states of groups: the nearest double, the nearest to what that lacks, and the whole where
    /// both are not all.
    pub(super) fn states(
        &self,
        groups: &[u32],
        nulls: Option<arrow::buffer::NullBuffer>,
    ) -> [ArrayRef; COLUMNS] {
        let (mut high, mut low) =
            (Vec::with_capacity(groups.len()), Vec::with_capacity(groups.len()));
        let mut exact = BinaryBuilder::with_capacity(groups.len(), 0);
        for group in groups {
            let (sum, rest) = self.split(*group);
            high.push(sum.0);
            low.push(sum.1);
            match rest {
                Some(rest) => exact.append_value(rest.to_bytes()),
                None => exact.append_null(),
            }
        }
        let low = Float64Array::new(low.into(), nulls.clone());
        [Arc::new(Float64Array::new(high.into(), nulls)), Arc::new(low), Arc::new(exact.finish())]
    }

    fn split(&self, group: u32) -> ((f64, f64), Option<Wide>) {
        let sum = self.sums[group as usize];
        let normal = two_sum(sum.0, sum.1);
        if normal.0.is_finite() && !self.rest.contains_key(&group) {
            return (normal, None);
        }
        let wide = self.wide(group);
        match wide.split() {
            (high, low, true) => ((high, low), None),
            _ => ((0.0, 0.0), Some(wide)),
        }
    }

    fn wide(&self, group: u32) -> Wide {
        let mut wide = self.rest.get(&group).map_or_else(Wide::new, |rest| rest.as_ref().clone());
        let (high, low) = self.sums[group as usize];
        wide.add(high);
        wide.add(low);
        wide
    }

    /// The sum, rounded once.
    #[inline]
    pub(super) fn total(&self, group: u32) -> f64 {
        self.total_twice(group).0
    }

    /// The sum to twice the precision of a double.
    pub(super) fn total_twice(&self, group: u32) -> (f64, f64) {
        match self.split(group) {
            (sum, None) => sum,
            (_, Some(wide)) => {
                let (high, low, _) = wide.split();
                (high, low)
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let rest = size_of::<Wide>() + size_of::<(u32, Box<Wide>)>();
        self.sums.capacity() * size_of::<(f64, f64)>() + self.rest.len() * rest
    }
}

/// The sum with one more; `None` if it cannot be held.
#[inline(always)]
fn add((high, low): (f64, f64), x: f64) -> Option<(f64, f64)> {
    let (high, lost) = two_sum(high, x);
    let (low, lost) = two_sum(low, lost);
    // NaN, which is what infinities leave, is not 0 either.
    (lost == 0.0).then_some((high, low))
}

/// The sum of two doubles, and what rounding it has lost.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}
