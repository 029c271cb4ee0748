//! Variances, covariances and what else is made of sums of powers and products.
//!
//! These sums are exact, or nearly so, so that results do not depend on how rows are split; and what is made of them is
//! computed in twice the precision of a double, which leaves room for what subtracting them cancels: results have the full
//! precision of a double as long as the mean is below about 10^8 standard deviations for variances, 10^5 for skewness and
//! 10^4 for kurtosis, and lose digits above.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array};
use arrow::buffer::NullBuffer;
use millstream_planner::expr::AggregateFn;

use super::accumulator::Accumulator;
use super::count::Counts;
use super::double::{Double, two_product};
use super::exact::{COLUMNS, ExactSums};
use super::sum::each_float;
use crate::eval::EvalError;

/// Counts and sums by group.
pub(super) struct Moments {
    function: AggregateFn,
    counts: Counts,
    sums: Vec<ExactSums>,
}

impl Moments {
    /// For functions of one argument with sums of its first powers, of two with those of both and of products.
    pub(super) fn new(function: AggregateFn, sums: usize) -> Self {
        let sums = (0..sums).map(|_| ExactSums::default()).collect();
        Self { function, counts: Counts::default(), sums }
    }

    fn add_powers(&mut self, group: u32, x: f64) {
        self.sums[0].add(group, x);
        let (square, lost) = two_product(x, x);
        self.add_pair(1, group, (square, lost));
        if self.sums.len() > 2 {
            self.add_pair(2, group, two_product(square, x));
            self.add_pair(2, group, two_product(lost, x));
        }
        if self.sums.len() > 3 {
            self.add_pair(3, group, two_product(square, square));
            self.add_pair(3, group, two_product(2.0 * square, lost));
            self.sums[3].add(group, lost * lost);
        }
    }

    fn add_products(&mut self, group: u32, y: f64, x: f64) {
        self.sums[0].add(group, y);
        self.sums[1].add(group, x);
        self.add_pair(2, group, two_product(x, y));
        if self.sums.len() > 3 {
            self.add_pair(3, group, two_product(y, y));
            self.add_pair(4, group, two_product(x, x));
        }
    }

    fn add_pair(&mut self, sum: usize, group: u32, (high, low): (f64, f64)) {
        self.sums[sum].add(group, high);
        self.sums[sum].add(group, low);
    }

    fn result(&self, group: u32) -> Option<f64> {
        use AggregateFn as F;
        let count = self.counts.get(group);
        if count == 0 {
            return None;
        }
        let sum = |at: usize| Double::from(self.sums[at].total_twice(group));
        if !self.sums.iter().all(|sum| sum.total(group).is_finite()) {
            return Some(f64::NAN);
        }
        let n = Double::from(count as f64);
        let mean = sum(0) / n;
        match self.function {
            F::VarPop => Some(f64::from(about_mean(sum(1), sum(0) * mean)) / n.0),
            F::StddevPop => Some((f64::from(about_mean(sum(1), sum(0) * mean)) / n.0).sqrt()),
            F::VarSamp => unbiased(about_mean(sum(1), sum(0) * mean), n),
            F::StddevSamp => unbiased(about_mean(sum(1), sum(0) * mean), n).map(f64::sqrt),
            F::Skewness => {
                let second: f64 = about_mean(sum(1), sum(0) * mean).into();
                let third = sum(2) - (Double::from(3.0) * mean * sum(1))
                    + Double::from(2.0) * mean * mean * sum(0);
                (second > 0.0).then(|| n.0.sqrt() * f64::from(third) / second.powf(1.5))
            }
            F::Kurtosis => {
                let second: f64 = about_mean(sum(1), sum(0) * mean).into();
                let fourth = sum(3) - Double::from(4.0) * mean * sum(2)
                    + Double::from(6.0) * mean * mean * sum(1)
                    - Double::from(3.0) * mean * mean * mean * sum(0);
                (second > 0.0).then(|| n.0 * f64::from(fourth) / (second * second) - 3.0)
            }
            F::CovarPop => Some(f64::from(sum(2) - sum(1) * mean) / n.0),
            F::CovarSamp => unbiased(sum(2) - sum(1) * mean, n),
            F::Corr => {
                let y: f64 = about_mean(sum(3), sum(0) * mean).into();
                let x: f64 = about_mean(sum(4), sum(1) * (sum(1) / n)).into();
                let both: f64 = (sum(2) - sum(1) * mean).into();
                (x > 0.0 && y > 0.0).then(|| (both / (x.sqrt() * y.sqrt())).clamp(-1.0, 1.0))
            }
            _ => None,
        }
    }
}

/// A sum of squares less what the mean is to blame for: 0 where nothing but rounding is left.
fn about_mean(squares: Double, of_mean: Double) -> Double {
    const ROUNDING: f64 = 1.0 / (1u128 << 98) as f64;
    let rest = squares - of_mean;
    if rest.0 <= squares.0 * ROUNDING { Double::from(0.0) } else { rest }
}

/// Of a sample; NULL for one value.
fn unbiased(sum: Double, n: Double) -> Option<f64> {
    (n.0 > 1.0).then(|| f64::from(sum) / (n.0 - 1.0))
}

impl Accumulator for Moments {
    fn resize(&mut self, groups: usize) {
        self.counts.resize(groups);
        self.sums.iter_mut().for_each(|sums| sums.resize(groups));
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        if let [values] = args {
            self.counts.update(groups, values.nulls());
            return each_float(groups, values, |group, x| self.add_powers(group, x));
        }
        let nulls = NullBuffer::union(args[0].nulls(), args[1].nulls());
        self.counts.update(groups, nulls.as_ref());
        let mut xs = Vec::with_capacity(groups.len());
        let both = |array: &ArrayRef| {
            let data = array.to_data().into_builder().nulls(nulls.clone());
            data.build().map(arrow::array::make_array)
        };
        each_float(groups, &both(&args[1])?, |_, x| xs.push(x))?;
        let mut xs = xs.into_iter();
        each_float(groups, &both(&args[0])?, |group, y| {
            if let Some(x) = xs.next() {
                self.add_products(group, y, x);
            }
        })
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        let Some((counts, sums)) = states.split_last() else { return Ok(()) };
        self.counts.merge(groups, counts);
        for (sums, states) in self.sums.iter_mut().zip(sums.chunks(COLUMNS)) {
            sums.merge(groups, states)?;
        }
        Ok(())
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        let mut states: Vec<_> =
            self.sums.iter().flat_map(|sums| sums.states(groups, None)).collect();
        states.push(self.counts.states(groups));
        Ok(states)
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let results = groups.iter().map(|group| self.result(*group));
        Ok(Arc::new(results.collect::<Float64Array>()))
    }

    fn bytes(&self) -> usize {
        self.counts.bytes() + self.sums.iter().map(ExactSums::bytes).sum::<usize>()
    }
}
