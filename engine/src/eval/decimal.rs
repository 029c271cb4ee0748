//! Exact arithmetic on the digits of decimals.

use arrow::datatypes::i256;

/// 10 to a power, up to the largest that 128 bits hold.
pub(crate) const fn pow10(power: u8) -> Option<i128> {
    10i128.checked_pow(power as u32)
}

/// 10 to a power in 256 bits.
pub(crate) fn pow10_wide(power: u8) -> Option<i256> {
    i256::from_i128(10).checked_pow(u32::from(power))
}

/// A quotient rounded to the nearest, halves away from zero. The divisor is positive.
#[inline]
pub(crate) fn divide_half_up(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = match (i64::try_from(value), i64::try_from(divisor)) {
        (Ok(value), Ok(divisor)) => (i128::from(value / divisor), i128::from(value % divisor)),
        _ => (value / divisor, value % divisor),
    };
    let half = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    quotient + if half { value.signum() } else { 0 }
}

/// The same in 256 bits, for a divisor that is not zero and may be negative.
pub(crate) fn divide_half_up_wide(value: i256, divisor: i256) -> Option<i256> {
    let quotient = value.checked_div(divisor)?;
    let rest = value.checked_rem(divisor)?;
    // Neither is the smallest number: decimals stay far below it.
    let (rest, size) = (rest.wrapping_abs(), divisor.wrapping_abs());
    if rest < size.wrapping_sub(rest) {
        return Some(quotient);
    }
    let away =
        if value.is_negative() == divisor.is_negative() { i256::ONE } else { i256::MINUS_ONE };
    quotient.checked_add(away)
}

/// Digits of one scale as digits of another, rounded half away from zero.
pub(crate) fn rescale_wide(value: i256, from: i8, to: i8) -> Option<i256> {
    let by = i16::from(to) - i16::from(from);
    let Ok(power) = u8::try_from(by.unsigned_abs()) else { return None };
    if by >= 0 {
        if value == i256::ZERO {
            return Some(value);
        }
        return value.checked_mul(pow10_wide(power)?);
    }
    match pow10_wide(power) {
        Some(divisor) => divide_half_up_wide(value, divisor),
        None => Some(i256::ZERO),
    }
}

/// The digits if a type of so many holds them.
pub(crate) fn fit(value: i256, precision: u8) -> Option<i128> {
    let value = value.to_i128()?;
    let bound = pow10(precision)?;
    (value.unsigned_abs() < bound.unsigned_abs()).then_some(value)
}

/// The same in 256 bits.
pub(crate) fn fit_wide(value: i256, precision: u8) -> Option<i256> {
    let bound = pow10_wide(precision)?;
    (value < bound && value > bound.wrapping_neg()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        let cases =
            [(5, 10, 1), (4, 10, 0), (-5, 10, -1), (-4, 10, 0), (15, 10, 2), (7, 3, 2), (0, 7, 0)];
        for (value, divisor, right) in cases {
            assert_eq!(divide_half_up(value, divisor), right, "{value} / {divisor}");
            let wide = |value| i256::from_i128(value);
            assert_eq!(divide_half_up_wide(wide(value), wide(divisor)), Some(wide(right)));
            assert_eq!(divide_half_up_wide(wide(value), wide(-divisor)), Some(wide(-right)));
        }
        let large = 10i128.pow(30);
        assert_eq!(divide_half_up(large + large / 2, large), 2);
        assert_eq!(divide_half_up(large + large / 2 - 1, large), 1);
    }

    #[test]
    fn scales_change_within_what_a_type_holds() {
        let wide = |value| i256::from_i128(value);
        assert_eq!(rescale_wide(wide(12345), 3, 1), Some(wide(123)));
        assert_eq!(rescale_wide(wide(12350), 3, 1), Some(wide(124)));
        assert_eq!(rescale_wide(wide(-7), 0, 2), Some(wide(-700)));
        assert_eq!(rescale_wide(wide(1), 127, 0), Some(i256::ZERO));
        assert_eq!(fit(wide(999), 3), Some(999));
        assert_eq!(fit(wide(-1000), 3), None);
        assert_eq!(fit(pow10_wide(38).unwrap(), 38), None);
    }
}
