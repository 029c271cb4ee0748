//! Actions: what runs a job and returns a value.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::stream::{BoxStream, drain};
use super::{Action, Data, Key, Portable, Rdd};
use crate::closure::{assert_zero_sized, conjure};
use crate::error::Error;
use crate::executor::{Metrics, Place, Task, TaskError};

impl<T: Data> Rdd<T> {
    /// All rows, in order.
    ///
    /// # Errors
    /// If the job fails.
    pub fn collect(&self) -> Result<Vec<T>, Error> {
        let parts = self.run::<Collect<T>>("collect", ())?;
        let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
        for mut part in parts {
            all.append(&mut part);
        }
        Ok(all)
    }

    /// The number of rows.
    ///
    /// # Errors
    /// If the job fails.
    pub fn count(&self) -> Result<u64, Error> {
        Ok(self.run::<Count<T>>("count", ())?.into_iter().sum())
    }

    /// All rows combined by `f`, which must be associative; `None` if there are none. Partitions are
    /// combined in order.
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
    /// partition and once more for the whole.
    ///
    /// # Errors
    /// If the job fails.
    pub fn fold<F: Fn(T, T) -> T + Portable>(&self, zero: T, f: F) -> Result<T, Error> {
        assert_zero_sized!(F, "aggregate");
        self.aggregate(zero, f, f)
    }

    /// A value of another type made of all rows: `add` adds a row to it, starting from `zero`; `merge`
    /// merges the values of two partitions.
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
        assert_zero_sized!(Add, "map_partitions_with");
        let _ = add;
        let parts = self.run::<Fold<T, C, Add>>("aggregate", zero.clone())?;
        Ok(parts.into_iter().fold(zero, merge))
    }

    /// Like [`Self::aggregate`], with the values of the partitions merged on executors, about the
    /// square root of them at a time, before the driver merges the rest: for many partitions with
    /// large values.
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
        assert_zero_sized!(Add, "map_partitions_with");
        assert_zero_sized!(Merge, "map_partitions_with");
        let groups = f64::from(self.partitions()).sqrt().ceil() as u32;
        self.map_partitions_with((zero.clone(), groups), move |(zero, groups), partition, rows| {
            std::iter::once((partition % groups, rows.fold(zero.clone(), add)))
        })
        .with_partitions(groups.max(1))
        .reduce_by_key(merge)
        .values()
        .aggregate(zero, merge, merge)
    }

    /// The first `n` rows. Few partitions are computed at first, more if they do not hold enough.
    ///
    /// # Errors
    /// If a job fails.
    pub fn take(&self, n: usize) -> Result<Vec<T>, Error> {
        let mut rows = Vec::new();
        let mut next = 0;
        let mut count = 1;
        while rows.len() < n && next < self.partitions() {
            let end = next.saturating_add(count).min(self.partitions());
            for part in self.run_on::<Take<T>>("take", next..end, n - rows.len())? {
                rows.extend(part.into_iter().take(n - rows.len()));
            }
            next = end;
            count = count.saturating_mul(4);
        }
        Ok(rows)
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    /// If a job fails.
    pub fn first(&self) -> Result<Option<T>, Error> {
        Ok(self.take(1)?.pop())
    }

    /// Whether there is no row.
    ///
    /// # Errors
    /// If a job fails.
    pub fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.first()?.is_none())
    }

    /// Calls `f` for each row, on the executors.
    ///
    /// # Errors
    /// If the job fails.
    pub fn for_each<F: Fn(T) + Portable>(&self, f: F) -> Result<(), Error> {
        assert_zero_sized!(F, "for_each_with");
        self.for_each_with((), move |(), row| f(row))
    }

    /// Calls `f` for each row, on the executors, with `state`.
    ///
    /// # Errors
    /// If the job fails.
    pub fn for_each_with<S: Data, F: Fn(&S, T) + Portable>(
        &self,
        state: S,
        f: F,
    ) -> Result<(), Error> {
        assert_zero_sized!(F, "for_each_with");
        let _ = f;
        self.run::<ForEach<S, T, F>>("for_each", state)?;
        Ok(())
    }

    pub(crate) fn run<A: Action<In = T>>(
        &self,
        name: &'static str,
        params: A::Params,
    ) -> Result<Vec<A::Out>, Error> {
        self.run_on::<A>(name, 0..self.partitions(), params)
    }

    fn run_on<A: Action<In = T>>(
        &self,
        name: &'static str,
        targets: Range<u32>,
        params: A::Params,
    ) -> Result<Vec<A::Out>, Error> {
        self.context.inner().run::<A>(self.context.scope(), name, &self.node, targets, params)
    }
}

impl<T: Data + Ord> Rdd<T> {
    /// The `n` largest rows, the largest first.
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
        rows.sort();
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
    /// How often each row occurs.
    ///
    /// # Errors
    /// If the job fails.
    pub fn count_by_value(&self) -> Result<HashMap<T, u64>, Error> {
        self.map(|row| (row, ())).count_by_key()
    }
}

type Marker<T> = PhantomData<fn() -> T>;

struct Collect<T>(Marker<T>);

impl<T: Data> Action for Collect<T> {
    type Params = ();
    type In = T;
    type Out = Vec<T>;

    fn run(_: Arc<()>, rows: BoxStream<T>, task: &Task) -> Result<Vec<T>, TaskError> {
        let rows = drain(task, rows)?;
        Metrics::add(&task.metrics.rows_out, rows.len() as u64);
        Ok(rows)
    }
}

struct Count<T>(Marker<T>);

impl<T: Data> Action for Count<T> {
    type Params = ();
    type In = T;
    type Out = u64;

    fn run(_: Arc<()>, mut rows: BoxStream<T>, task: &Task) -> Result<u64, TaskError> {
        let mut count = 0;
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            count += chunk.len() as u64;
        }
        Ok(count)
    }
}

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

struct Fold<T, C, Add>(Marker<(T, C, Add)>);

impl<T: Data, C: Data, Add: Fn(C, T) -> C + Portable> Action for Fold<T, C, Add> {
    type Params = C;
    type In = T;
    type Out = C;

    fn run(zero: Arc<C>, mut rows: BoxStream<T>, task: &Task) -> Result<C, TaskError> {
        let add = conjure::<Add>();
        let mut place = Place::named("aggregate");
        let mut result = C::clone(&zero);
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            let mut at = place.rows();
            for row in chunk {
                at.step();
                result = add(result, row);
            }
        }
        Ok(result)
    }
}

struct Take<T>(Marker<T>);

impl<T: Data> Action for Take<T> {
    type Params = usize;
    type In = T;
    type Out = Vec<T>;

    fn run(n: Arc<usize>, mut rows: BoxStream<T>, task: &Task) -> Result<Vec<T>, TaskError> {
        let mut taken = Vec::new();
        while taken.len() < *n {
            task.check()?;
            let Some(chunk) = rows.next_chunk()? else { break };
            taken.extend(chunk.into_iter().take(*n - taken.len()));
        }
        Ok(taken)
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

struct ForEach<S, T, F>(Marker<(S, T, F)>);

impl<S: Data, T: Data, F: Fn(&S, T) + Portable> Action for ForEach<S, T, F> {
    type Params = S;
    type In = T;
    type Out = ();

    fn run(state: Arc<S>, mut rows: BoxStream<T>, task: &Task) -> Result<(), TaskError> {
        let f = conjure::<F>();
        let mut place = Place::named("for_each");
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            let mut at = place.rows();
            for row in chunk {
                at.step();
                f(&state, row);
            }
        }
        Ok(())
    }
}
