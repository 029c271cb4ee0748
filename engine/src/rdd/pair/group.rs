//! Grouping: all values of a key at once.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use millstream_planner::lineage::Partitioning;

use super::exchange::by_key;
use crate::closure::assert_zero_sized;
use crate::executor::{ReduceReader, Task, TaskError};
use crate::operators::{ByHash, HashGroups, HashSpan, Sorter, split_by_key};
use crate::rdd::{
    BoxStream, Data, Input, Key, Node, Operation, Pace, Portable, Rdd, from_fn, operation,
};

impl<K: Key, V: Data> Rdd<(K, V)> {
    /// All values of each key, in the order of the input.
    ///
    /// The values of one key have to fit into memory together. To count, sum or find the largest use
    /// [`reduce_by_key`](Self::reduce_by_key) or [`aggregate_by_key`](Self::aggregate_by_key), which
    /// never hold them.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("group_by_key")?;
    /// let rows = context.parallelize([(1, 'a'), (2, 'b'), (1, 'c')], 2);
    /// let mut groups = rows.group_by_key().collect()?;
    /// groups.sort();
    /// assert_eq!(groups, [(1, vec!['a', 'c']), (2, vec!['b'])]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn group_by_key(&self) -> Rdd<(K, Vec<V>)> {
        let (input, partitioning) = self.together();
        let partitions = partitioning.partitions();
        let code = operation::<Group<K, V>>(());
        self.over("group_by_key", vec![input], partitions, by_key(Some(partitioning)), code)
    }

    /// An input in which equal keys share a partition, without an exchange if they do already.
    fn together(&self) -> (Input, Partitioning) {
        match (self.key_placement(), &self.node.layout.partitioning) {
            ((_, true), Some(known)) => (Input::Narrow(Arc::clone(&self.node)), known.clone()),
            ((partitions, _), _) => (self.hash_exchange(), Partitioning::Hash { partitions }),
        }
    }
}

impl<T: Data> Rdd<T> {
    /// The rows with each key, found by `f`, in the order of the input. The rows of one key have to fit
    /// into memory together; see [`group_by_key`](Rdd::group_by_key).
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("group_by")?;
    /// let mut groups = context.range(0..5, 2).group_by(|n| n % 2).collect()?;
    /// groups.sort();
    /// assert_eq!(groups, [(0, vec![0, 2, 4]), (1, vec![1, 3])]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn group_by<K: Key, F: Fn(&T) -> K + Portable>(&self, f: F) -> Rdd<(K, Vec<T>)> {
        assert_zero_sized!(F, "group_by_with");
        self.group_by_with((), move |(), row| f(row))
    }

    /// The rows with each key, found by `f` with the help of `state`.
    #[must_use]
    pub fn group_by_with<S: Data, K: Key, F>(&self, state: S, f: F) -> Rdd<(K, Vec<T>)>
    where
        F: Fn(&S, &T) -> K + Portable,
    {
        assert_zero_sized!(F, "group_by_with");
        self.hand_on(self.key_by_with(state, f)).group_by_key()
    }
}

/// Opens an input in which equal keys share a partition, and brings it into hash order if it is not.
pub(super) fn open_groups<K: Key, V: Data>(
    task: &Task,
    node: &Node,
    index: usize,
    partition: u32,
) -> Result<HashGroups<K, V>, TaskError> {
    let mut sorter = Sorter::<ByHash<K, V>>::new(task);
    let mut rows = match node.inputs.get(index) {
        Some(Input::Narrow(parent)) => {
            let rows = task.open::<(K, V)>(parent, partition)?;
            if parent.layout.hash_ordered {
                return Ok(HashGroups::ordered(task, rows));
            }
            rows
        }
        _ => {
            let reader = ReduceReader::new(task, node, index, partition)?;
            if let Some(rows) = reader.rows() {
                sorter.expect(rows, HashSpan::of_partition(partition, node.partitions));
            }
            reader.into_stream()
        }
    };
    while let Some(chunk) = rows.next_chunk()? {
        sorter.push(chunk)?;
    }
    drop(rows);
    Ok(HashGroups::sorted(task, sorter.finish()?))
}

struct Group<K, V>(PhantomData<fn() -> (K, V)>);

impl<K: Key, V: Data> Operation for Group<K, V> {
    type Params = ();
    type Out = (K, Vec<V>);

    fn open(
        _: Arc<()>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Self::Out>, TaskError> {
        let mut groups = open_groups::<K, V>(task, node, 0, partition)?;
        let task = Rc::clone(task);
        let mut pace = Pace::default();
        let mut group = Vec::new();
        let mut next = move |count| {
            let mut out = Vec::new();
            let mut rows = 0;
            // Few large groups make a chunk as well as many small ones.
            while rows < count {
                let Some(hash) = groups.peek()? else { break };
                groups.take_group(hash, &mut group, "group_by_key")?;
                rows += group.len();
                split_by_key(&mut group, |key, values| out.push((key, values)));
            }
            Ok((!out.is_empty()).then_some(out))
        };
        Ok(from_fn(move || {
            task.check()?;
            pace.make(&mut next)
        }))
    }
}
