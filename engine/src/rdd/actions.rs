//! Actions on rows as they are: collecting, counting, taking, and calling a function for each.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::stream::{BoxStream, drain};
use super::{Action, Data, PartitionRows, Portable, Rdd};
use crate::closure::{assert_zero_sized, conjure};
use crate::error::Error;
use crate::executor::{Metrics, Place, Task, TaskError};

impl<T: Data> Rdd<T> {
    /// All rows, in order. They have to fit into memory, beside what the budget gives to tasks; see
    /// [`Self::to_local_iterator`] if they do not.
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

    /// All rows, in order, a partition at a time: each is computed by a job of its own when the one
    /// before has been consumed. [Persist](Self::persist) what is expensive to compute. An error ends
    /// the iteration.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("to_local_iterator")?;
    /// let mut sum = 0;
    /// for row in context.range(0..10, 3).to_local_iterator() {
    ///     sum += row?;
    /// }
    /// assert_eq!(sum, 45);
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_local_iterator(&self) -> impl Iterator<Item = Result<T, Error>> + use<T> {
        let rows = self.clone();
        let mut failed = false;
        let parts = (0..self.partitions()).map_while(move |partition| {
            if failed {
                return None;
            }
            let target = partition..partition + 1;
            let part = rows.run_on::<Collect<T>>("to_local_iterator", target, ());
            failed = part.is_err();
            Some(match part {
                Ok(parts) => parts.into_iter().flatten().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            })
        });
        parts.flatten()
    }

    /// The number of rows.
    ///
    /// # Errors
    /// If the job fails.
    pub fn count(&self) -> Result<u64, Error> {
        Ok(self.run::<Count<T>>("count", ())?.into_iter().sum())
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

    /// Calls `f` for each row, in the tasks. A task that is tried again calls it again for the rows it
    /// had done, so that what `f` does to the world outside should bear that.
    ///
    /// # Errors
    /// If the job fails.
    pub fn for_each<F: Fn(T) + Portable>(&self, f: F) -> Result<(), Error> {
        assert_zero_sized!(F, "for_each_with");
        self.for_each_with((), move |(), row| f(row))
    }

    /// Calls `f` for each row, in the tasks, with `state`; otherwise as [`Self::for_each`].
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

    /// Calls `f` once for each partition, with all its rows: for what has to be set up once, such as a
    /// connection. Otherwise as [`Self::for_each`].
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("for_each_partition")?;
    /// let largest = context.accumulator::<u64>();
    /// context.range(0..10, 2).for_each_partition_with(largest.clone(), |largest, _, rows| {
    ///     largest.add(rows.max().unwrap_or(0) as u64);
    /// })?;
    /// assert_eq!(largest.value(), 4 + 9);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the job fails.
    pub fn for_each_partition<F: Fn(PartitionRows<T>) + Portable>(
        &self,
        f: F,
    ) -> Result<(), Error> {
        assert_zero_sized!(F, "for_each_partition_with");
        self.for_each_partition_with((), move |(), _, rows| f(rows))
    }

    /// Calls `f` once for each partition, with `state`, the partition's index and all its rows.
    ///
    /// # Errors
    /// If the job fails.
    pub fn for_each_partition_with<S: Data, F>(&self, state: S, f: F) -> Result<(), Error>
    where
        F: Fn(&S, u32, PartitionRows<T>) + Portable,
    {
        assert_zero_sized!(F, "for_each_partition_with");
        self.map_partitions_with(state, move |state, partition, rows| {
            f(state, partition, rows);
            None::<()>
        })
        .renamed("for_each_partition")
        .count()?;
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

type Marker<T> = PhantomData<fn() -> T>;

pub(super) struct Collect<T>(Marker<T>);

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
