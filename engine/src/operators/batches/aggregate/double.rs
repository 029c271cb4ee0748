//! Arithmetic in twice the precision of a double: numbers of about 106 bits as sums of two doubles.
//!
//! T. J. Dekker, "A floating-point technique for extending the available precision" (1971).

use std::ops::{Add, Div, Mul, Sub};

use super::exact::two_sum;

/// A number, as a double and what that lacks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Double(pub(super) f64, pub(super) f64);

impl From<f64> for Double {
    fn from(x: f64) -> Self {
        Self(x, 0.0)
    }
}

impl From<(f64, f64)> for Double {
    fn from((high, low): (f64, f64)) -> Self {
        Self(high, low)
    }
}

impl From<Double> for f64 {
    fn from(x: Double) -> Self {
        x.0 + x.1
    }
}

impl Add for Double {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, lost) = two_sum(self.0, other.0);
        let (low, lower) = two_sum(self.1, other.1);
        let (high, lost) = two_sum(high, lost + low);
        two_sum(high, lost + lower).into()
    }
}

impl Sub for Double {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self(-other.0, -other.1)
    }
}

impl Mul for Double {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let (high, lost) = two_product(self.0, other.0);
        two_sum(high, lost + (self.0 * other.1 + self.1 * other.0)).into()
    }
}

impl Div for Double {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let first = self.0 / other.0;
        let rest = self - other * first.into();
        let second = rest.0 / other.0;
        let rest = rest - other * second.into();
        Self::from(two_sum(first, second)) + (rest.0 / other.0).into()
    }
}

/// The product of two doubles, and what rounding it has lost; nothing, where halving a factor would overflow.
#[inline]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    (product, if lost.is_finite() { lost } else { 0.0 })
}

/// A double as two of half as many bits.
#[inline(always)]
fn halves(x: f64) -> (f64, f64) {
    const SPLITTER: f64 = 134_217_729.0; // 2^27 + 1
    let wide = SPLITTER * x;
    let high = wide - (wide - x);
    (high, x - high)
}
