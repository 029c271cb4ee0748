//! Precision and scale of decimals: Spark's rules, with its adjustment where digits run out.

use arrow_schema::DataType;

/// Digits after the point that a result which does not fit keeps at least, if it has them.
const MIN_SCALE: i32 = 6;

/// Precision and scale of a decimal type, and the largest precision of its width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Decimal {
    precision: i32,
    scale: i32,
    max: i32,
}

impl Decimal {
    /// Of a decimal or integer type.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        let (precision, scale, max) = match data_type {
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => (*precision, *scale, 38),
            DataType::Decimal256(precision, scale) => (*precision, *scale, 76),
            DataType::Int8 | DataType::UInt8 => (3, 0, 38),
            DataType::Int16 | DataType::UInt16 => (5, 0, 38),
            DataType::Int32 | DataType::UInt32 => (10, 0, 38),
            DataType::Int64 | DataType::UInt64 => (20, 0, 38),
            _ => return None,
        };
        Some(Self { precision: precision.into(), scale: scale.into(), max })
    }

    /// The narrowest that holds an integer.
    pub(super) fn of_integer(value: i128) -> Self {
        let digits = value.unsigned_abs().checked_ilog10().map_or(1, |log| log as i32 + 1);
        Self { precision: digits, scale: 0, max: 38 }
    }

    pub(super) fn data_type(self) -> DataType {
        let (precision, scale) = (self.precision.clamp(1, self.max) as u8, self.scale as i8);
        if self.max == 38 {
            DataType::Decimal128(precision, scale)
        } else {
            DataType::Decimal256(precision, scale)
        }
    }

    /// What holds the values of both; whole digits are kept where not all do.
    pub(super) fn wider(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        let precision = self.whole().max(other.whole()) + scale;
        let max = self.max.max(other.max);
        let excess = (precision - max).max(0);
        Self { precision: precision - excess, scale: (scale - excess).max(0), max }
    }

    pub(super) fn sum(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        self.adjusted(other, self.whole().max(other.whole()) + scale + 1, scale)
    }

    pub(super) fn product(self, other: Self) -> Self {
        self.adjusted(other, self.precision + other.precision + 1, self.scale + other.scale)
    }

    pub(super) fn quotient(self, other: Self) -> Self {
        let scale = MIN_SCALE.max(self.scale + other.precision + 1);
        self.adjusted(other, self.whole() + other.scale + scale, scale)
    }

    pub(super) fn remainder(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        self.adjusted(other, self.whole().min(other.whole()) + scale, scale)
    }

    /// Of the sum of many.
    pub(super) fn total(self) -> Self {
        Self { precision: (self.precision + 10).min(self.max), ..self }
    }

    /// Of the mean of many.
    pub(super) fn mean(self) -> Self {
        self.adjusted(self, self.precision + 4, self.scale + 4)
    }

    /// Of the value rounded to so many digits after the point.
    pub(super) fn rounded(self, digits: i32) -> Self {
        let scale = self.scale.min(digits.max(0));
        // Rounding may carry into one more digit.
        let precision = (self.whole() + 1 + scale).max(1 - digits).min(self.max);
        Self { precision, scale, ..self }
    }

    fn whole(self) -> i32 {
        self.precision - self.scale
    }

    /// Too many digits: those after the point give way, but not the first six (Hive's and Spark's
    /// `adjustPrecisionScale`).
    fn adjusted(self, other: Self, precision: i32, scale: i32) -> Self {
        let max = self.max.max(other.max);
        if precision <= max || scale < 0 {
            return Self { precision: precision.min(max), scale, max };
        }
        let whole = precision - scale;
        Self { precision: max, scale: (max - whole).max(scale.min(MIN_SCALE)), max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(precision: u8, scale: i8) -> Decimal {
        Decimal::of(&DataType::Decimal128(precision, scale)).unwrap()
    }

    fn is(decimal: Decimal, precision: u8, scale: i8) {
        assert_eq!(decimal.data_type(), DataType::Decimal128(precision, scale));
    }

    #[test]
    fn results_are_those_of_spark() {
        let price = decimal(15, 2);
        is(price.sum(price), 16, 2);
        is(price.product(price), 31, 4);
        is(price.quotient(price), 33, 18);
        is(price.remainder(decimal(10, 4)), 10, 4);
        is(decimal(38, 18).product(decimal(38, 18)), 38, 6);
        is(decimal(38, 18).quotient(decimal(38, 18)), 38, 6);
        is(decimal(38, 10).sum(decimal(38, 10)), 38, 9);
        is(decimal(31, 4).product(decimal(16, 2)), 38, 6);
        is(price.total(), 25, 2);
        is(decimal(38, 18).total(), 38, 18);
        is(price.mean(), 19, 6);
        is(decimal(38, 18).mean(), 38, 18);
        is(decimal(38, 0).wider(decimal(38, 18)), 38, 0);
        is(decimal(10, 2).wider(decimal(5, 4)), 12, 4);
    }

    #[test]
    fn integers_have_the_digits_they_need() {
        is(Decimal::of_integer(0), 1, 0);
        is(Decimal::of_integer(9), 1, 0);
        is(Decimal::of_integer(-10), 2, 0);
        is(Decimal::of_integer(i64::MIN.into()), 19, 0);
        is(Decimal::of(&DataType::Int32).unwrap().sum(decimal(15, 2)), 16, 2);
    }

    #[test]
    fn rounding_keeps_whole_digits_and_one_for_the_carry() {
        is(decimal(15, 4).rounded(2), 14, 2);
        is(decimal(15, 2).rounded(4), 16, 2);
        is(decimal(15, 2).rounded(0), 14, 0);
        is(decimal(15, 2).rounded(-2), 14, 0);
    }
}
