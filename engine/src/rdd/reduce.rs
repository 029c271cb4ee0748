//! Actions that make one value of all rows: reductions, aggregates, extremes and counts by value.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Add;
use std::sync::Arc;

use rayon::slice::ParallelSliceMut;

use super::stream::BoxStream;
use super::{Action, Data, Key, Portable, Rdd};
use crate::closure::{assert_zero_sized, conjure};
use crate::error::Error;
use crate::executor::{Place, Task, TaskError};

impl<T: Data> Rdd<T> {
    /// All rows combined by `f`, which must be associative; `None` if there are none. Rows and then
    /// partitions are combined in order, so that `f` need not be commutative.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("reduce")?;
    /// let words = context.parallelize(["mill", "stream"].map(String::from), 2);
    /// assert_eq!(words.reduce(|a, b| a + &b)?, Some("millstream".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the job fails.
    pub fn reduce<F: Fn(T, T) -> T + Portable>(&self, f: F) -> Result<Option<T>, Error> {
        assert_zero_sized!(F, "reduce_with");
        self.reduce_with((), move |(), a, b| f(a, b))
    }

    /// All rows combined by `f`, which also sees `state`.
    ///
    /// # Errors
    /// If the job fails.
    pub fn reduce_with<S: Data, F>(&self, state: S, f: F) -> Result<Option<T>, Error>
    where
        F: Fn(&S, T, T) -> T + Portable,
    {
        assert_zero_sized!(F, "reduce_with");
        let parts = self.run::<Reduce<S, T, F>>("reduce", state.clone())?;
        Ok(parts.into_iter().flatten().reduce(|a, b| f(&state, a, b)))
    }

    /// All rows combined by `f`, starting from `zero`, which must be neutral: it is used once a
    /// partition and once more for the whole. The order is that of [`Self::reduce`].
    ///
    /// # Errors
    /// If the job fails.
    pub fn fold<F: Fn(T, T) -> T + Portable>(&self, zero: T, f: F) -> Result<T, Error> {
        assert_zero_sized!(F, "aggregate_with");
        self.aggregate(zero, f, f)
    }

    /// A value of another type made of all rows: `add` adds a row to it, starting from `zero`, which
    /// must be neutral; `merge` merges the values of two partitions, in order.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("aggregate")?;
    /// let lengths = context.parallelize(["a", "bcd"].map(String::from), 2);
    /// assert_eq!(lengths.aggregate(0, |total, word| total + word.len(), |a, b| a + b)?, 4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the job fails.
    pub fn aggregate<C: Data, Add, Merge>(
        &self,
        zero: C,
        add: Add,
        merge: Merge,
    ) -> Result<C, Error>
    where
        Add: Fn(C, T) -> C + Portable,
        Merge: Fn(C, C) -> C + Portable,
    {
        assert_zero_sized!(Add, "aggregate_with");
        self.aggregate_with(
            (),
            zero,
            move |(), value, row| add(value, row),
            move |(), a, b| merge(a, b),
        )
    }

    /// [`Self::aggregate`] with closures that also see `state`.
    ///
    /// # Errors
    /// If the job fails.
    pub fn aggregate_with<S: Data, C: Data, Add, Merge>(
        &self,
        state: S,
        zero: C,
        add: Add,
        merge: Merge,
    ) -> Result<C, Error>
    where
        Add: Fn(&S, C, T) -> C + Portable,
        Merge: Fn(&S, C, C) -> C,
    {
        assert_zero_sized!(Add, "aggregate_with");
        let _ = add;
        let parts = self.run::<Fold<S, T, C, Add>>("aggregate", (state.clone(), zero.clone()))?;
        Ok(parts.into_iter().fold(zero, |a, b| merge(&state, a, b)))
    }

    /// Like [`Self::aggregate`], with the values of the partitions merged in tasks, about the square
    /// root of them at a time, before the driver merges the rest: for many partitions with large
    /// values. They are not merged in the order of the partitions, so that `merge` must be commutative
    /// too; the order is the same in each run.
    ///
    /// # Errors
    /// If the job fails.
    pub fn tree_aggregate<C: Data, Add, Merge>(
        &self,
        zero: C,
        add: Add,
        merge: Merge,
    ) -> Result<C, Error>
    where
        Add: Fn(C, T) -> C + Portable,
        Merge: Fn(C, C) -> C + Portable,
    {
        assert_zero_sized!(Add, "aggregate_with");
        assert_zero_sized!(Merge, "aggregate_with");
        let groups = f64::from(self.partitions()).sqrt().ceil() as u32;
        self.map_partitions_with((zero.clone(), groups), move |(zero, groups), partition, rows| {
            std::iter::once((partition % groups, rows.fold(zero.clone(), add)))
        })
        .with_partitions(groups.max(1))
        .reduce_by_key(merge)
        .values()
        .aggregate(zero, merge, merge)
    }

    /// Like [`Self::reduce`], with the partitions combined in tasks first, as by
    /// [`Self::tree_aggregate`]: `f` must be associative and commutative.
    ///
    /// # Errors
    /// If the job fails.
    pub fn tree_reduce<F: Fn(T, T) -> T + Portable>(&self, f: F) -> Result<Option<T>, Error> {
        assert_zero_sized!(F, "reduce_with");
        let either = move |a: Option<T>, b: Option<T>| match (a, b) {
            (Some(a), Some(b)) => Some(f(a, b)),
            (a, b) => a.or(b),
        };
        self.tree_aggregate(None, move |so_far, row| either(so_far, Some(row)), either)
    }

    /// The row with the largest key, found by `f`; of several, the first.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("max_by_key")?;
    /// let counts = context.parallelize([('a', 3), ('b', 7), ('c', 7)], 2);
    /// assert_eq!(counts.max_by_key(|(_, count)| *count)?, Some(('b', 7)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the job fails.
    pub fn max_by_key<K: Ord, F: Fn(&T) -> K + Portable>(&self, f: F) -> Result<Option<T>, Error> {
        assert_zero_sized!(F, "reduce_with");
        self.reduce(move |a, b| if f(&b) > f(&a) { b } else { a })
    }

    /// The row with the smallest key, found by `f`; of several, the first.
    ///
    /// # Errors
    /// If the job fails.
    pub fn min_by_key<K: Ord, F: Fn(&T) -> K + Portable>(&self, f: F) -> Result<Option<T>, Error> {
        assert_zero_sized!(F, "reduce_with");
        self.reduce(move |a, b| if f(&b) < f(&a) { b } else { a })
    }
}

impl<T: Data + Default + Add<Output = T>> Rdd<T> {
    /// All rows added up in order, partition by partition, so that a sum of floats is the same in each
    /// run; the default value (0) if there are none. It overflows as `+` does.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("sum")?;
    /// assert_eq!(context.parallelize([0.5, 1.5], 2).sum()?, 2.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the job fails.
    pub fn sum(&self) -> Result<T, Error> {
        self.fold(T::default(), |a, b| a + b)
    }
}

impl<T: Data + Ord> Rdd<T> {
    /// The `n` largest rows, the largest first.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("top")?;
    /// assert_eq!(context.parallelize([3, 1, 2], 2).top(2)?, [3, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the job fails.
    pub fn top(&self, n: usize) -> Result<Vec<T>, Error> {
        let best = self.map(std::cmp::Reverse).take_ordered(n)?;
        Ok(best.into_iter().map(|row| row.0).collect())
    }

    /// The `n` smallest rows, the smallest first. Each task holds no more than about twice `n` rows.
    ///
    /// # Errors
    /// If the job fails.
    pub fn take_ordered(&self, n: usize) -> Result<Vec<T>, Error> {
        let parts = self.run::<Smallest<T>>("take_ordered", n)?;
        let mut rows: Vec<T> = parts.into_iter().flatten().collect();
        match rows.len() < PARALLEL_MIN {
            true => rows.sort(),
            false => rows.par_sort(),
        }
        rows.truncate(n);
        Ok(rows)
    }

    /// The largest row, if there is one.
    ///
    /// # Errors
    /// If the job fails.
    pub fn max(&self) -> Result<Option<T>, Error> {
        self.reduce(|a, b| a.max(b))
    }

    /// The smallest row, if there is one.
    ///
    /// # Errors
    /// If the job fails.
    pub fn min(&self) -> Result<Option<T>, Error> {
        self.reduce(|a, b| a.min(b))
    }
}

impl<T: Key> Rdd<T> {
    /// How often each row occurs. All different rows have to fit into the driver's memory.
    ///
    /// # Errors
    /// If the job fails.
    pub fn count_by_value(&self) -> Result<HashMap<T, u64>, Error> {
        self.map(|row| (row, ())).count_by_key()
    }
}

/// Fewer rows are sorted before the threads of a parallel sort have started.
const PARALLEL_MIN: usize = 1 << 16;

type Marker<T> = PhantomData<fn() -> T>;

struct Reduce<S, T, F>(Marker<(S, T, F)>);

impl<S: Data, T: Data, F: Fn(&S, T, T) -> T + Portable> Action for Reduce<S, T, F> {
    type Params = S;
    type In = T;
    type Out = Option<T>;

    fn run(state: Arc<S>, mut rows: BoxStream<T>, task: &Task) -> Result<Option<T>, TaskError> {
        let f = conjure::<F>();
        let mut place = Place::named("reduce");
        let mut result = None;
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            let mut at = place.rows();
            for row in chunk {
                at.step();
                result = Some(match result {
                    None => row,
                    Some(so_far) => f(&state, so_far, row),
                });
            }
        }
        Ok(result)
    }
}

/// The parameters are the closure's state and the value to start from.
struct Fold<S, T, C, Add>(Marker<(S, T, C, Add)>);

impl<S: Data, T: Data, C: Data, Add> Action for Fold<S, T, C, Add>
where
    Add: Fn(&S, C, T) -> C + Portable,
{
    type Params = (S, C);
    type In = T;
    type Out = C;

    fn run(params: Arc<(S, C)>, mut rows: BoxStream<T>, task: &Task) -> Result<C, TaskError> {
        let add = conjure::<Add>();
        let (state, zero) = &*params;
        let mut place = Place::named("aggregate");
        let mut result = zero.clone();
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            let mut at = place.rows();
            for row in chunk {
                at.step();
                result = add(state, result, row);
            }
        }
        Ok(result)
    }
}

struct Smallest<T>(Marker<T>);

impl<T: Data + Ord> Action for Smallest<T> {
    type Params = usize;
    type In = T;
    type Out = Vec<T>;

    fn run(n: Arc<usize>, mut rows: BoxStream<T>, task: &Task) -> Result<Vec<T>, TaskError> {
        let n = *n;
        let mut best: Vec<T> = Vec::new();
        if n == 0 {
            return Ok(best);
        }
        // A buffer of twice `n` is cut back to the best `n` when it is full: on average a
        // constant number of comparisons a row.
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            for row in chunk {
                best.push(row);
                if best.len() >= n.saturating_mul(2).max(1024) {
                    best.select_nth_unstable(n - 1);
                    best.truncate(n);
                }
            }
        }
        best.sort_unstable();
        best.truncate(n);
        Ok(best)
    }
}
