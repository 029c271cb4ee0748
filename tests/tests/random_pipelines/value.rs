//! The two kinds of values that rows carry.

use std::fmt::Debug;

use millstream::Key;

/// A value of a row. All operations on it give the same for any order and grouping.
pub(crate) trait Value: Key + Ord + Debug {
    /// A value made of a number.
    fn of(number: i64) -> Self;

    /// An associative, commutative sum.
    fn sum(self, other: Self) -> Self;

    /// The neutral element of [`Self::sum`].
    fn zero() -> Self;

    /// A number that depends on all of it.
    fn digest(&self) -> i64;
}

impl Value for i64 {
    fn of(number: i64) -> Self {
        number
    }

    fn sum(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn zero() -> Self {
        0
    }

    fn digest(&self) -> i64 {
        self.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 40
    }
}

/// The most characters a sum of strings keeps: its smallest ones.
const LETTERS_MAX: usize = 100;

impl Value for String {
    /// Mostly short, some empty, some of a few KiB.
    fn of(number: i64) -> Self {
        match number.rem_euclid(50) {
            0 => Self::new(),
            1 => number.to_string().repeat(300),
            _ => number.to_string(),
        }
    }

    /// The smallest letters of both, in order.
    fn sum(self, other: Self) -> Self {
        let mut letters: Vec<char> = self.chars().chain(other.chars()).collect();
        letters.sort_unstable();
        letters.truncate(LETTERS_MAX);
        letters.into_iter().collect()
    }

    fn zero() -> Self {
        Self::new()
    }

    fn digest(&self) -> i64 {
        self.bytes().fold(7i64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())) >> 8
    }
}
