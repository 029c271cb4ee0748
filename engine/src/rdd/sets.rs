//! Operations that treat an `Rdd` as a set or a bag.

use super::{Data, Key, Rdd};

impl<T: Key> Rdd<T> {
    /// Each different row once. Rows are keys: floats, which are not equal to themselves where they are
    /// NaN, are none.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("distinct")?;
    /// let mut rows = context.parallelize([3, 1, 3], 2).distinct().collect()?;
    /// rows.sort();
    /// assert_eq!(rows, [1, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn distinct(&self) -> Self {
        self.paired().reduce_by_key(|(), ()| ()).keys().renamed("distinct")
    }

    /// The rows that both have, each once.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.paired()
            .reduce_by_key(|(), ()| ())
            .join(&other.paired().reduce_by_key(|(), ()| ()))
            .keys()
            .renamed("intersection")
    }

    /// The rows of this one that the other does not have, as often as they occur.
    #[must_use]
    pub fn subtract(&self, other: &Self) -> Self {
        self.paired().subtract_by_key(&other.paired()).keys().renamed("subtract")
    }

    fn paired(&self) -> Rdd<(T, ())> {
        self.hand_on(self.map(|row| (row, ())))
    }
}

impl<T: Data> Rdd<T> {
    /// The rows of this one followed by those of the other: partitions are set side by side and no
    /// row moves.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("union")?;
    /// let both = context.range(0..2, 1).union(&context.range(5..7, 1));
    /// assert_eq!(both.collect()?, [0, 1, 5, 6]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.context.union([self.clone(), other.clone()])
    }
}
