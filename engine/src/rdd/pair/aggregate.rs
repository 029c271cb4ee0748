//! Aggregations by key.

use std::collections::HashMap;

use super::combine::Combining;
use crate::closure::assert_zero_sized;
use crate::error::Error;
use crate::rdd::{Data, Key, Portable, Rdd};

impl<K: Key, V: Data> Rdd<(K, V)> {
    /// The values of each key combined by `f`, which must be associative and commutative. Values are
    /// combined before the exchange as far as that makes them fewer.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("reduce_by_key")?;
    /// let words = context.parallelize(["a", "b", "a"].map(String::from), 2);
    /// let mut counts = words.map(|word| (word, 1)).reduce_by_key(|a, b| a + b).collect()?;
    /// counts.sort();
    /// assert_eq!(counts, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn reduce_by_key<F: Fn(V, V) -> V + Portable>(&self, f: F) -> Self {
        assert_zero_sized!(F, "reduce_by_key_with");
        self.reduce_by_key_with((), move |(), a, b| f(a, b))
    }

    /// The values of each key combined by `f`, which also sees `state`.
    #[must_use]
    pub fn reduce_by_key_with<S: Data, F>(&self, state: S, f: F) -> Self
    where
        F: Fn(&S, V, V) -> V + Portable,
    {
        assert_zero_sized!(F, "reduce_by_key_with");
        self.combining("reduce_by_key", state, |_, value| value, f, f)
    }

    /// The values of each key combined by `f`, starting from `zero`, which must be neutral: it is
    /// used once for each key of each partition.
    #[must_use]
    pub fn fold_by_key<F: Fn(V, V) -> V + Portable>(&self, zero: V, f: F) -> Self {
        assert_zero_sized!(F, "combine_by_key_with");
        self.combining(
            "fold_by_key",
            zero,
            move |zero, value| f(zero.clone(), value),
            move |_, a, b| f(a, b),
            move |_, a, b| f(a, b),
        )
    }

    /// A value of another type for each key: `add` adds a row's value to it, starting from `zero`;
    /// `merge` merges two of them.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("mean")?;
    /// let readings = context.parallelize([(1, 2.0), (1, 4.0)], 2);
    /// let sums = readings.aggregate_by_key((0.0, 0), |(sum, n), x| (sum + x, n + 1), |a, b| (a.0 + b.0, a.1 + b.1));
    /// assert_eq!(sums.map_values(|(sum, n)| sum / n as f64).collect()?, [(1, 3.0)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn aggregate_by_key<C: Data, Add, Merge>(
        &self,
        zero: C,
        add: Add,
        merge: Merge,
    ) -> Rdd<(K, C)>
    where
        Add: Fn(C, V) -> C + Portable,
        Merge: Fn(C, C) -> C + Portable,
    {
        assert_zero_sized!(Add, "combine_by_key_with");
        assert_zero_sized!(Merge, "combine_by_key_with");
        self.combining(
            "aggregate_by_key",
            zero,
            move |zero, value| add(zero.clone(), value),
            move |_, combiner, value| add(combiner, value),
            move |_, a, b| merge(a, b),
        )
    }

    /// The most general combination: `create` makes a combiner of a key's first value, `add` adds a
    /// further value, `merge` merges two combiners of one key.
    #[must_use]
    pub fn combine_by_key<C: Data, Create, Add, Merge>(
        &self,
        create: Create,
        add: Add,
        merge: Merge,
    ) -> Rdd<(K, C)>
    where
        Create: Fn(V) -> C + Portable,
        Add: Fn(C, V) -> C + Portable,
        Merge: Fn(C, C) -> C + Portable,
    {
        assert_zero_sized!(Create, "combine_by_key_with");
        assert_zero_sized!(Add, "combine_by_key_with");
        assert_zero_sized!(Merge, "combine_by_key_with");
        self.combine_by_key_with(
            (),
            move |(), value| create(value),
            move |(), combiner, value| add(combiner, value),
            move |(), a, b| merge(a, b),
        )
    }

    /// [`Self::combine_by_key`] with closures that also see `state`.
    #[must_use]
    pub fn combine_by_key_with<S: Data, C: Data, Create, Add, Merge>(
        &self,
        state: S,
        create: Create,
        add: Add,
        merge: Merge,
    ) -> Rdd<(K, C)>
    where
        Create: Fn(&S, V) -> C + Portable,
        Add: Fn(&S, C, V) -> C + Portable,
        Merge: Fn(&S, C, C) -> C + Portable,
    {
        assert_zero_sized!(Create, "combine_by_key_with");
        assert_zero_sized!(Add, "combine_by_key_with");
        assert_zero_sized!(Merge, "combine_by_key_with");
        self.combining("combine_by_key", state, create, add, merge)
    }

    /// Names the type of a combination by its closures.
    fn combining<S: Data, C: Data, Create, Add, Merge>(
        &self,
        name: &str,
        state: S,
        _create: Create,
        _add: Add,
        _merge: Merge,
    ) -> Rdd<(K, C)>
    where
        Create: Fn(&S, V) -> C + Portable,
        Add: Fn(&S, C, V) -> C + Portable,
        Merge: Fn(&S, C, C) -> C + Portable,
    {
        self.combine::<Combining<S, K, V, C, Create, Add, Merge>>(name, state)
    }

    /// How many rows each key has.
    ///
    /// # Errors
    /// If the job fails.
    pub fn count_by_key(&self) -> Result<HashMap<K, u64>, Error> {
        self.hand_on(self.map_values(|_| 1)).reduce_by_key(|a: u64, b| a + b).collect_as_map()
    }

    /// All pairs as a map; of several values of one key the last one stays.
    ///
    /// # Errors
    /// If the job fails.
    pub fn collect_as_map(&self) -> Result<HashMap<K, V>, Error> {
        Ok(self.collect()?.into_iter().collect())
    }
}
