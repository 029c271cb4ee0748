//! Narrow operations on pairs. Those that leave the keys alone keep the layout.

use crate::closure::assert_zero_sized;
use crate::rdd::{Data, Key, Portable, Rdd};

impl<K: Data, V: Data> Rdd<(K, V)> {
    /// The keys.
    #[must_use]
    pub fn keys(&self) -> Rdd<K> {
        self.map(|(key, _)| key).renamed("keys")
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> Rdd<V> {
        self.map(|(_, value)| value).renamed("values")
    }

    /// Each value through `f`; keys stay where they are.
    #[must_use]
    pub fn map_values<U: Data, F: Fn(V) -> U + Portable>(&self, f: F) -> Rdd<(K, U)> {
        assert_zero_sized!(F, "map_values_with");
        self.map_values_with((), move |(), value| f(value))
    }

    /// Each value through `f`, which also sees `state`; keys stay where they are.
    #[must_use]
    pub fn map_values_with<S: Data, U: Data, F>(&self, state: S, f: F) -> Rdd<(K, U)>
    where
        F: Fn(&S, V) -> U + Portable,
    {
        assert_zero_sized!(F, "map_values_with");
        self.map_with(state, move |state, (key, value)| (key, f(state, value)))
            .renamed("map_values")
            .laid_out(self.node.layout.clone())
    }

    /// A pair for each item of what `f` makes of a value, all with the value's key.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("flat_map_values")?;
    /// let rows = context.parallelize([("a".to_owned(), 2), ("b".to_owned(), 1)], 1);
    /// let counted = rows.flat_map_values(|n| 0..n).collect()?;
    /// assert_eq!(counted, [("a".to_owned(), 0), ("a".to_owned(), 1), ("b".to_owned(), 0)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn flat_map_values<I, F>(&self, f: F) -> Rdd<(K, I::Item)>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(V) -> I + Portable,
    {
        assert_zero_sized!(F, "flat_map_values_with");
        self.flat_map_values_with((), move |(), value| f(value))
    }

    /// A pair for each item of what `f` makes of a value; `f` also sees `state`.
    #[must_use]
    pub fn flat_map_values_with<S: Data, I, F>(&self, state: S, f: F) -> Rdd<(K, I::Item)>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(&S, V) -> I + Portable,
    {
        assert_zero_sized!(F, "flat_map_values_with");
        self.flat_map_with(state, move |state, (key, value)| {
            f(state, value).into_iter().map(move |item| (key.clone(), item))
        })
        .renamed("flat_map_values")
        .laid_out(self.node.layout.clone())
    }
}

impl<K: Key, V: Data> Rdd<(K, V)> {
    /// All values of one key. If the data is partitioned by key, only the key's partition is read.
    ///
    /// # Errors
    /// If the job fails.
    pub fn lookup(&self, key: &K) -> Result<Vec<V>, crate::Error> {
        self.filter_with(key.clone(), |wanted, (key, _)| key == wanted).values().collect()
    }
}
