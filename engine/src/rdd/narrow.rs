//! Operations of one partition on one partition: no data moves between tasks.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use super::stream::{BoxStream, CHUNK_ROWS, Pace, Rows, from_fn, from_iter};
use super::{Data, Layout, Node, NodeSpec, Operation, Portable, Rdd};
use crate::closure::{assert_zero_sized, conjure};
use crate::executor::{Place, Task, TaskError};

impl<T: Data> Rdd<T> {
    /// Each row through `f`.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("map")?;
    /// assert_eq!(context.parallelize(vec!["a", "b"].into_iter().map(String::from), 2)
    ///     .map(|s| s.to_uppercase()).collect()?, ["A", "B"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn map<U: Data, F: Fn(T) -> U + Portable>(&self, f: F) -> Rdd<U> {
        assert_zero_sized!(F, "map_with");
        self.map_with((), move |(), row| f(row))
    }

    /// Each row through `f`, which also sees `state`.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("map_with")?;
    /// let factor = 3;
    /// assert_eq!(context.range(0..4, 2).map_with(factor, |factor, n| n * factor).collect()?, [0, 3, 6, 9]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn map_with<S: Data, U: Data, F>(&self, state: S, f: F) -> Rdd<U>
    where
        F: Fn(&S, T) -> U + Portable,
    {
        assert_zero_sized!(F, "map_with");
        let _ = f;
        self.then::<Map<S, T, U, F>>("map", Layout::default(), state)
    }

    /// The rows for which `f` holds.
    #[must_use]
    pub fn filter<F: Fn(&T) -> bool + Portable>(&self, f: F) -> Self {
        assert_zero_sized!(F, "filter_with");
        self.filter_with((), move |(), row| f(row))
    }

    /// The rows for which `f` holds, which also sees `state`.
    #[must_use]
    pub fn filter_with<S: Data, F>(&self, state: S, f: F) -> Self
    where
        F: Fn(&S, &T) -> bool + Portable,
    {
        assert_zero_sized!(F, "filter_with");
        let _ = f;
        self.then::<Filter<S, T, F>>("filter", self.node.layout.clone(), state)
    }

    /// All items of what `f` makes of each row.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("flat_map")?;
    /// let rows = context.parallelize([1, 3], 1).flat_map(|n| 0..n);
    /// assert_eq!(rows.collect()?, [0, 0, 1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn flat_map<I, F>(&self, f: F) -> Rdd<I::Item>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(T) -> I + Portable,
    {
        assert_zero_sized!(F, "flat_map_with");
        self.flat_map_with((), move |(), row| f(row))
    }

    /// All items of what `f` makes of each row; `f` also sees `state`.
    #[must_use]
    pub fn flat_map_with<S: Data, I, F>(&self, state: S, f: F) -> Rdd<I::Item>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(&S, T) -> I + Portable,
    {
        assert_zero_sized!(F, "flat_map_with");
        let _ = f;
        self.then::<FlatMap<S, T, I, F>>("flat_map", Layout::default(), state)
    }

    /// The rows of each partition through `f`, which is called once a partition.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("map_partitions")?;
    /// let sums = context.range(0..10, 2).map_partitions(|rows| std::iter::once(rows.sum::<i64>()));
    /// assert_eq!(sums.collect()?, [10, 35]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn map_partitions<I, F>(&self, f: F) -> Rdd<I::Item>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(PartitionRows<T>) -> I + Portable,
    {
        assert_zero_sized!(F, "map_partitions_with");
        self.map_partitions_with((), move |(), _, rows| f(rows))
    }

    /// The rows of each partition through `f`, which is called once a partition with the partition's
    /// index.
    #[must_use]
    pub fn map_partitions_with_index<I, F>(&self, f: F) -> Rdd<I::Item>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(u32, PartitionRows<T>) -> I + Portable,
    {
        assert_zero_sized!(F, "map_partitions_with");
        self.map_partitions_with((), move |(), partition, rows| f(partition, rows))
    }

    /// The rows of each partition through `f`, which is called once a partition with `state` and the
    /// partition's index.
    #[must_use]
    pub fn map_partitions_with<S: Data, I, F>(&self, state: S, f: F) -> Rdd<I::Item>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(&S, u32, PartitionRows<T>) -> I + Portable,
    {
        self.partitions_with("map_partitions", Layout::default(), state, f)
    }

    pub(crate) fn partitions_with<S: Data, I, F>(
        &self,
        name: &str,
        layout: Layout,
        state: S,
        f: F,
    ) -> Rdd<I::Item>
    where
        I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
        F: Fn(&S, u32, PartitionRows<T>) -> I + Portable,
    {
        assert_zero_sized!(F, "map_partitions_with");
        let _ = f;
        self.then::<MapPartitions<S, T, I, F>>(name, layout, state)
    }

    /// Pairs of a key, found by `f`, and the row.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("key_by")?;
    /// assert_eq!(context.range(5..8, 1).key_by(|n| n % 2).collect()?, [(1, 5), (0, 6), (1, 7)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn key_by<K: Data, F: Fn(&T) -> K + Portable>(&self, f: F) -> Rdd<(K, T)> {
        assert_zero_sized!(F, "key_by_with");
        self.key_by_with((), move |(), row| f(row))
    }

    /// Pairs of a key, found by `f` with the help of `state`, and the row.
    #[must_use]
    pub fn key_by_with<S: Data, K: Data, F>(&self, state: S, f: F) -> Rdd<(K, T)>
    where
        F: Fn(&S, &T) -> K + Portable,
    {
        assert_zero_sized!(F, "key_by_with");
        self.map_with(state, move |state, row| (f(state, &row), row)).renamed("key_by")
    }

    /// Each partition as one row.
    #[must_use]
    pub fn glom(&self) -> Rdd<Vec<T>> {
        self.partitions_with("glom", Layout::default(), (), |(), _, rows| {
            std::iter::once(rows.collect::<Vec<T>>())
        })
    }

    /// The same operation under another name in plans.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        let spec = NodeSpec { name: name.to_owned(), ..NodeSpec::like(&self.node) };
        Self::from_spec(&self.context, spec)
    }

    /// The same operation with a layout that its maker vouches for.
    pub(crate) fn laid_out(&self, layout: Layout) -> Self {
        Self::from_spec(&self.context, NodeSpec { layout, ..NodeSpec::like(&self.node) })
    }
}

/// The rows of one partition, handed to the closure of `map_partitions` and its like.
///
/// If reading fails in the middle it ends early; the task then fails with the cause, whatever the
/// closure made of the rows before.
pub struct PartitionRows<T> {
    rows: Rows<T>,
    error: Rc<RefCell<Option<TaskError>>>,
}

impl<T> Iterator for PartitionRows<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        match self.rows.next()? {
            Ok(row) => Some(row),
            Err(error) => {
                *self.error.borrow_mut() = Some(error);
                None
            }
        }
    }
}

impl<T> PartitionRows<T> {
    /// The iterator, and where it leaves the error that ended it.
    pub(crate) fn new(stream: BoxStream<T>) -> (Self, Rc<RefCell<Option<TaskError>>>) {
        let error = Rc::default();
        (Self::leaving(stream, &error), error)
    }

    /// An iterator that leaves the error which ends it in `error`.
    pub(crate) fn leaving(stream: BoxStream<T>, error: &Rc<RefCell<Option<TaskError>>>) -> Self {
        Self { rows: Rows::new(stream), error: Rc::clone(error) }
    }
}

/// `rows` as a stream that fails with what is left in `error`.
pub(crate) fn checked<T: 'static>(
    task: &Task,
    rows: impl Iterator<Item = T> + 'static,
    error: Rc<RefCell<Option<TaskError>>>,
) -> BoxStream<T> {
    let mut stream = from_iter(task, rows);
    from_fn(move || {
        let chunk = stream.next_chunk()?;
        match error.borrow_mut().take() {
            Some(error) => Err(error),
            None => Ok(chunk),
        }
    })
}

type Marker<T> = PhantomData<fn() -> T>;

struct Map<S, T, U, F>(Marker<(S, T, U, F)>);

impl<S: Data, T: Data, U: Data, F> Operation for Map<S, T, U, F>
where
    F: Fn(&S, T) -> U + Portable,
{
    type Params = S;
    type Out = U;

    fn open(
        state: Arc<S>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<U>, TaskError> {
        let f = conjure::<F>();
        let mut input = task.open_parent::<T>(node, 0, partition)?;
        let mut place = Place::new(node);
        let mut pace = Pace::default();
        let mut chunk = Vec::new().into_iter();
        Ok(from_fn(move || {
            if chunk.len() == 0 {
                let Some(next) = input.next_chunk()? else { return Ok(None) };
                chunk = next.into_iter();
            }
            let mut rows = place.rows();
            let mut one = |row| {
                rows.step();
                f(&state, row)
            };
            Ok(Some(pace.make(|count| match count == CHUNK_ROWS || count >= chunk.len() {
                true => std::mem::take(&mut chunk).map(one).collect(),
                false => chunk.by_ref().take(count).map(&mut one).collect(),
            })))
        }))
    }
}

struct Filter<S, T, F>(Marker<(S, T, F)>);

impl<S: Data, T: Data, F> Operation for Filter<S, T, F>
where
    F: Fn(&S, &T) -> bool + Portable,
{
    type Params = S;
    type Out = T;

    fn open(
        state: Arc<S>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        let f = conjure::<F>();
        let mut input = task.open_parent::<T>(node, 0, partition)?;
        let mut place = Place::new(node);
        Ok(from_fn(move || {
            let Some(mut chunk) = input.next_chunk()? else { return Ok(None) };
            let mut rows = place.rows();
            chunk.retain(|row| {
                rows.step();
                f(&state, row)
            });
            Ok(Some(chunk))
        }))
    }
}

struct FlatMap<S, T, I, F>(Marker<(S, T, I, F)>);

impl<S: Data, T: Data, I, F> Operation for FlatMap<S, T, I, F>
where
    I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
    F: Fn(&S, T) -> I + Portable,
{
    type Params = S;
    type Out = I::Item;

    fn open(
        state: Arc<S>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<I::Item>, TaskError> {
        let f = conjure::<F>();
        let mut input = task.open_parent::<T>(node, 0, partition)?;
        let mut place = Place::new(node);
        let mut chunk = Vec::new().into_iter();
        let mut long: Option<I::IntoIter> = None;
        let task = Rc::clone(task);
        let mut pace = Pace::default();
        let mut next = move |count: usize| {
            let mut out = Vec::with_capacity(count + ITEMS_SHORT);
            loop {
                if let Some(items) = &mut long {
                    task.check()?;
                    out.extend(items.take(count.saturating_sub(out.len())));
                    if out.len() >= count {
                        return Ok(Some(out));
                    }
                    long = None;
                }
                let mut rows = place.rows();
                for row in chunk.by_ref() {
                    rows.step();
                    let items = f(&state, row).into_iter();
                    // Items that are known to be few are taken by internal iteration, which is
                    // faster; the chunk may then be that much longer. Where it is known how many there
                    // are, room for them is looked for once.
                    match items.size_hint() {
                        (least, Some(most)) if least == most && most <= ITEMS_SHORT => {
                            out.extend(items);
                        }
                        (_, Some(most)) if most <= ITEMS_SHORT => {
                            items.for_each(|item| out.push(item));
                        }
                        _ => {
                            long = Some(items);
                            break;
                        }
                    }
                    if out.len() >= count {
                        return Ok(Some(out));
                    }
                }
                drop(rows);
                if long.is_some() {
                    continue;
                }
                match input.next_chunk()? {
                    Some(next) => chunk = next.into_iter(),
                    None if out.is_empty() => return Ok(None),
                    None => return Ok(Some(out)),
                }
            }
        };
        Ok(from_fn(move || pace.make(&mut next)))
    }
}

/// As many items of one row as may be added to a chunk at once.
const ITEMS_SHORT: usize = CHUNK_ROWS;

struct MapPartitions<S, T, I, F>(Marker<(S, T, I, F)>);

impl<S: Data, T: Data, I, F> Operation for MapPartitions<S, T, I, F>
where
    I: IntoIterator<Item: Data, IntoIter: 'static> + 'static,
    F: Fn(&S, u32, PartitionRows<T>) -> I + Portable,
{
    type Params = S;
    type Out = I::Item;

    fn open(
        state: Arc<S>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<I::Item>, TaskError> {
        let (rows, error) = PartitionRows::new(task.open_parent::<T>(node, 0, partition)?);
        Ok(checked(task, conjure::<F>()(&state, partition, rows).into_iter(), error))
    }
}
