//! Putting rows beside others: zips, positions, and all pairs.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use millstream_planner::stages::Determinism;

use super::narrow::checked;
use super::prepare::{Prepare, Prepared};
use super::stream::{BoxStream, CHUNK_ROWS, Rows, from_fn};
use super::{
    Data, Input, Layout, Node, NodeSpec, Operation, PartitionRows, Portable, Rdd, operation,
};
use crate::closure::{assert_zero_sized, conjure};
use crate::error::Error;
use crate::executor::{Task, TaskError};

impl<T: Data> Rdd<T> {
    /// Pairs of rows at the same place. Both need as many partitions, and each pair of partitions as
    /// many rows; anything else is an error when the job runs.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the numbers of partitions differ.
    pub fn zip<U: Data>(&self, other: &Rdd<U>) -> Result<Rdd<(T, U)>, Error> {
        same_partitions("zip", self.partitions(), other.partitions())?;
        let code = operation::<Zip<T, U>>(());
        let inputs = [&self.node, &other.node];
        let partitions = self.partitions();
        Ok(Rdd::narrow(&self.context, "zip", &inputs, partitions, Layout::default(), code))
    }

    /// What `f` makes of two partitions at the same place. They may have different numbers of rows.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("zip_partitions")?;
    /// let (left, right) = (context.range(0..4, 2), context.range(10..12, 2));
    /// let sizes = left.zip_partitions(&right, |a, b| Some((a.count(), b.count())))?;
    /// assert_eq!(sizes.collect()?, [(2, 1), (2, 1)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the numbers of partitions differ.
    pub fn zip_partitions<U: Data, I, F>(&self, other: &Rdd<U>, f: F) -> Result<Rdd<I::Item>, Error>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(PartitionRows<T>, PartitionRows<U>) -> I + Portable,
    {
        assert_zero_sized!(F, "zip_partitions_with");
        self.zip_partitions_with(other, (), move |(), a, b| f(a, b))
    }

    /// [`Self::zip_partitions`] with a closure that also sees `state`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the numbers of partitions differ.
    pub fn zip_partitions_with<S: Data, U: Data, I, F>(
        &self,
        other: &Rdd<U>,
        state: S,
        f: F,
    ) -> Result<Rdd<I::Item>, Error>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(&S, PartitionRows<T>, PartitionRows<U>) -> I + Portable,
    {
        assert_zero_sized!(F, "zip_partitions_with");
        let _ = f;
        same_partitions("zip_partitions", self.partitions(), other.partitions())?;
        let code = operation::<ZipPartitions<S, T, U, I, F>>(state);
        let inputs = [&self.node, &other.node];
        let partitions = self.partitions();
        Ok(Rdd::narrow(
            &self.context,
            "zip_partitions",
            &inputs,
            partitions,
            Layout::default(),
            code,
        ))
    }

    /// Rows with their positions, counted from 0 over all partitions. The sizes of the partitions are
    /// found by a job of its own when the first action needs them: [persist](Self::persist) what is
    /// expensive to compute twice.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("zip_with_index")?;
    /// let rows = context.parallelize(['a', 'b', 'c'], 2).zip_with_index();
    /// assert_eq!(rows.collect()?, [('a', 0), ('b', 1), ('c', 2)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn zip_with_index(&self) -> Rdd<(T, u64)> {
        let starts = Prepared::new();
        let prepare = Arc::new(FindStarts { rows: self.clone(), starts: starts.clone() });
        let code = operation::<Index<T>>(starts);
        let spec = NodeSpec {
            name: "zip_with_index".to_owned(),
            partitions: self.partitions(),
            inputs: vec![Input::Narrow(Arc::clone(&self.node))],
            code,
            layout: Layout::default(),
            determinism: Determinism::Deterministic,
            prepare: Some(prepare),
        };
        Rdd::from_spec(&self.context, spec)
    }

    /// Rows with numbers that are all different, without a job: row `i` of partition `p` of `n` gets
    /// `i * n + p`.
    #[must_use]
    pub fn zip_with_unique_id(&self) -> Rdd<(T, u64)> {
        self.partitions_with(
            "zip_with_unique_id",
            Layout::default(),
            u64::from(self.partitions()),
            |n, partition, rows| {
                let n = *n;
                rows.enumerate().map(move |(i, row)| (row, i as u64 * n + u64::from(partition)))
            },
        )
    }

    /// Each row of this one with each row of the other. The other's partitions are computed again for
    /// each of this one's: persist it if that is expensive.
    #[must_use]
    pub fn cartesian<U: Data>(&self, other: &Rdd<U>) -> Rdd<(T, U)> {
        let code = operation::<Cartesian<T, U>>(other.partitions());
        let inputs = [&self.node, &other.node];
        let partitions = self.partitions().saturating_mul(other.partitions());
        Rdd::narrow(&self.context, "cartesian", &inputs, partitions, Layout::default(), code)
    }
}

fn same_partitions(operation: &'static str, left: u32, right: u32) -> Result<(), Error> {
    if left == right {
        return Ok(());
    }
    let why =
        format!("one side has {left} partitions and the other {right}; repartition one of them");
    Err(Error::Mismatch { operation, why })
}

type Marker<T> = PhantomData<fn() -> T>;

struct Zip<T, U>(Marker<(T, U)>);

impl<T: Data, U: Data> Operation for Zip<T, U> {
    type Params = ();
    type Out = (T, U);

    fn open(
        _: Arc<()>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(T, U)>, TaskError> {
        let mut left = Rows::new(task.open_parent::<T>(node, 0, partition)?);
        let mut right = Rows::new(task.open_parent::<U>(node, 1, partition)?);
        let mut row = 0u64;
        Ok(from_fn(move || {
            let mut out = Vec::with_capacity(CHUNK_ROWS);
            while out.len() < CHUNK_ROWS {
                match (left.next().transpose()?, right.next().transpose()?) {
                    (Some(a), Some(b)) => out.push((a, b)),
                    (None, None) => break,
                    (more, _) => {
                        let side = if more.is_some() { "right" } else { "left" };
                        return Err(TaskError::User {
                            message: format!(
                                "zip: the {side} side of partition {partition} ends after {row} rows, the other goes on"
                            ),
                            record: Some(row),
                        });
                    }
                }
                row += 1;
            }
            Ok((!out.is_empty()).then_some(out))
        }))
    }
}

struct ZipPartitions<S, T, U, I, F>(Marker<(S, T, U, I, F)>);

impl<S: Data, T: Data, U: Data, I, F> Operation for ZipPartitions<S, T, U, I, F>
where
    I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
    F: Fn(&S, PartitionRows<T>, PartitionRows<U>) -> I + Portable,
{
    type Params = S;
    type Out = I::Item;

    fn open(
        state: Arc<S>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<I::Item>, TaskError> {
        let (left, error) = PartitionRows::new(task.open_parent::<T>(node, 0, partition)?);
        let right = PartitionRows::leaving(task.open_parent::<U>(node, 1, partition)?, &error);
        Ok(checked(task, conjure::<F>()(&state, left, right).into_iter(), error))
    }
}

/// Finds the position of the first row of each partition.
struct FindStarts<T> {
    rows: Rdd<T>,
    starts: Prepared<Vec<u64>>,
}

impl<T: Data> Prepare for FindStarts<T> {
    fn prepare(&self) -> Result<(), Error> {
        if self.starts.is_set() {
            return Ok(());
        }
        let sizes = self.rows.map_partitions(|rows| std::iter::once(rows.count() as u64));
        let mut next = 0;
        let starts = sizes.collect()?.into_iter().map(|size| {
            let start = next;
            next += size;
            start
        });
        self.starts.set(starts.collect());
        Ok(())
    }
}

struct Index<T>(Marker<T>);

impl<T: Data> Operation for Index<T> {
    type Params = Prepared<Vec<u64>>;
    type Out = (T, u64);

    fn open(
        starts: Arc<Prepared<Vec<u64>>>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(T, u64)>, TaskError> {
        let mut next = starts.get()?.get(partition as usize).copied().unwrap_or(0);
        let mut rows = task.open_parent::<T>(node, 0, partition)?;
        Ok(from_fn(move || {
            let Some(chunk) = rows.next_chunk()? else { return Ok(None) };
            let first = next;
            next += chunk.len() as u64;
            Ok(Some(chunk.into_iter().zip(first..).collect()))
        }))
    }
}

/// The parameter is the other side's number of partitions.
struct Cartesian<T, U>(Marker<(T, U)>);

impl<T: Data, U: Data> Operation for Cartesian<T, U> {
    type Params = u32;
    type Out = (T, U);

    fn open(
        others: Arc<u32>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(T, U)>, TaskError> {
        let (mine, other) = (partition / *others, partition % *others);
        let mut left = task.open_parent::<T>(node, 0, mine)?;
        let right_node = node
            .parent(1)
            .cloned()
            .ok_or_else(|| TaskError::internal(format!("{node:?} has no second parent")))?;
        let task = Rc::clone(task);
        // For each chunk of this side the other side is read once.
        let mut block: Option<(Vec<T>, BoxStream<U>)> = None;
        let mut pending: Option<(Vec<U>, usize)> = None;
        Ok(from_fn(move || {
            loop {
                task.check()?;
                if let (Some((rows, _)), Some((others, next))) = (&block, &mut pending) {
                    if let Some(row) = rows.get(*next) {
                        *next += 1;
                        let pairs = others.iter().map(|other| (row.clone(), other.clone()));
                        return Ok(Some(pairs.collect()));
                    }
                    pending = None;
                }
                match &mut block {
                    Some((_, others)) => match others.next_chunk()? {
                        Some(chunk) => pending = Some((chunk, 0)),
                        None => block = None,
                    },
                    None => match left.next_chunk()? {
                        Some(chunk) => block = Some((chunk, task.open(&right_node, other)?)),
                        None => return Ok(None),
                    },
                }
            }
        }))
    }
}
