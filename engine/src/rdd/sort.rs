//! Sorting: ranges of keys to partitions, and an external sort in each.
//!
//! The bounds of the ranges come from a seeded sample of all keys, drawn by a job of its own when the
//! first action needs them, so that they repeat from run to run.

use std::marker::PhantomData;
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_planner::lineage::Partitioning;
use millstream_shuffle::partition::range_bounds;

use super::pair::{Scatter, exchange};
use super::partitioner::{CustomPlacement, HashPlacement, Placement, RangePlacement, code_of};
use super::prepare::{Prepare, Prepared};
use super::sample::{KeySample, keys_to_draw};
use super::stream::BoxStream;
use super::{
    Data, Input, Key, Layout, Node, Operation, Partitioner, Portable, Rdd, map_side, operation,
};
use crate::closure::assert_zero_sized;
use crate::error::Error;
use crate::executor::{Task, TaskError, read_rows};
use crate::operators::{ByKey, Sorter, compact};

impl<K: Data + Ord, V: Data> Rdd<(K, V)> {
    /// The rows in the order of their keys: partition by partition, and within each. Rows with equal
    /// keys stay in the order of the input.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("sort_by_key")?;
    /// let rows = context.parallelize([(3, 'c'), (1, 'a'), (2, 'b')], 2);
    /// assert_eq!(rows.sort_by_key().collect()?, [(1, 'a'), (2, 'b'), (3, 'c')]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn sort_by_key(&self) -> Self {
        self.sorted::<false>()
    }

    /// The rows in the reverse order of their keys. Rows with equal keys stay in the order of the
    /// input.
    #[must_use]
    pub fn sort_by_key_descending(&self) -> Self {
        self.sorted::<true>()
    }

    fn sorted<const DESCENDING: bool>(&self) -> Self {
        let partitions =
            self.exchange_partitions().unwrap_or_else(|| self.default_exchange_partitions());
        let place = RangePlacement { bounds: Prepared::new(), descending: DESCENDING };
        let prepare =
            Arc::new(FindBounds { rows: self.clone(), partitions, bounds: place.bounds.clone() });
        let write = map_side::<Scatter<K, V, RangePlacement<K>>>(place);
        let input = exchange(self, write, Some(prepare));
        let shuffle = match &input {
            Input::Shuffle(shuffle) => shuffle.id,
            Input::Sent { shuffle, .. } => *shuffle,
            Input::Narrow(node) => ShuffleId(node.id.0),
        };
        let partitioning = Some(Partitioning::Range { partitions, shuffle });
        let layout = Layout { partitioning, hash_ordered: false };
        let code = operation::<ReadSorted<K, V, DESCENDING>>(());
        self.over("sort_by_key", vec![input], partitions, layout, code)
    }

    /// The rows of each partition in the order of their keys; no row moves to another partition.
    #[must_use]
    pub fn sort_within_partitions(&self) -> Self {
        let layout = Layout { hash_ordered: false, ..self.node.layout.clone() };
        self.then::<SortHere<K, V>>("sort_within_partitions", layout, ())
    }
}

impl<K: Key + Ord, V: Data> Rdd<(K, V)> {
    /// Equal keys in the same of `partitions` partitions, by hash, and each partition in the order of
    /// its keys: one exchange for both.
    #[must_use]
    pub fn repartition_and_sort_within_partitions(&self, partitions: u32) -> Self {
        let partitions = partitions.max(1);
        self.scatter_sorted(HashPlacement, Partitioning::Hash { partitions })
    }

    /// Rows where a partitioner of yours says, and each partition in the order of its keys.
    #[must_use]
    pub fn repartition_and_sort_within_partitions_with<P: Partitioner<K>>(
        &self,
        partitioner: P,
        partitions: u32,
    ) -> Self {
        let partitions = partitions.max(1);
        let partitioning = Partitioning::Custom { partitions, code: code_of(&partitioner) };
        self.scatter_sorted(CustomPlacement(partitioner), partitioning)
    }

    fn scatter_sorted<P: Placement<K>>(&self, place: P, partitioning: Partitioning) -> Self {
        let partitions = partitioning.partitions();
        let input = exchange(self, map_side::<Scatter<K, V, P>>(place), None);
        let layout = Layout { partitioning: Some(partitioning), hash_ordered: false };
        let code = operation::<ReadSorted<K, V, false>>(());
        let name = "repartition_and_sort_within_partitions";
        self.over(name, vec![input], partitions, layout, code)
    }
}

impl<T: Data> Rdd<T> {
    /// The rows in the order of a key, found by `f`.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("sort_by")?;
    /// let words = context.parallelize(["aaa", "b", "cc"].map(String::from), 2);
    /// assert_eq!(words.sort_by(|word| word.len()).collect()?, ["b", "cc", "aaa"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn sort_by<K: Data + Ord, F: Fn(&T) -> K + Portable>(&self, f: F) -> Self {
        assert_zero_sized!(F, "sort_by_with");
        self.hand_on(self.key_by(f)).sort_by_key().values()
    }

    /// The rows in the order of a key, found by `f` with the help of `state`.
    #[must_use]
    pub fn sort_by_with<S: Data, K: Data + Ord, F>(&self, state: S, f: F) -> Self
    where
        F: Fn(&S, &T) -> K + Portable,
    {
        assert_zero_sized!(F, "sort_by_with");
        self.hand_on(self.key_by_with(state, f)).sort_by_key().values()
    }

    /// The rows in the reverse order of a key, found by `f`.
    #[must_use]
    pub fn sort_by_descending<K: Data + Ord, F: Fn(&T) -> K + Portable>(&self, f: F) -> Self {
        assert_zero_sized!(F, "sort_by_with");
        self.hand_on(self.key_by(f)).sort_by_key_descending().values()
    }
}

const SAMPLE_SEED: u64 = 0x5eed_0f5a_3b1e_57a7;

/// Finds the bounds of a range partitioning.
struct FindBounds<K, V> {
    rows: Rdd<(K, V)>,
    partitions: u32,
    bounds: Prepared<Vec<K>>,
}

impl<K: Data + Ord, V: Data> Prepare for FindBounds<K, V> {
    fn prepare(&self) -> Result<(), Error> {
        if self.bounds.is_set() {
            return Ok(());
        }
        if self.partitions == 1 {
            self.bounds.set(Vec::new());
            return Ok(());
        }
        let share = keys_to_draw(self.partitions, self.rows.partitions());
        let drawn = self.rows.map_partitions_with(share, |share, partition, rows| {
            let mut sample = KeySample::new(*share, SAMPLE_SEED, partition);
            rows.for_each(|(key, _)| sample.see(|| compact(key)));
            sample.weighted()
        });
        let sample = drawn.renamed("sample keys").collect()?;
        self.bounds.set(range_bounds(sample, self.partitions));
        Ok(())
    }
}

/// The reduce side of a sort.
struct ReadSorted<K, V, const DESCENDING: bool>(PhantomData<fn() -> (K, V)>);

impl<K: Data + Ord, V: Data, const DESCENDING: bool> Operation for ReadSorted<K, V, DESCENDING> {
    type Params = ();
    type Out = (K, V);

    fn open(
        _: Arc<()>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(K, V)>, TaskError> {
        sort_stream::<K, V, DESCENDING>(task, read_rows(task, node, 0, partition)?)
    }
}

struct SortHere<K, V>(PhantomData<fn() -> (K, V)>);

impl<K: Data + Ord, V: Data> Operation for SortHere<K, V> {
    type Params = ();
    type Out = (K, V);

    fn open(
        _: Arc<()>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(K, V)>, TaskError> {
        sort_stream::<K, V, false>(task, task.open_parent(node, 0, partition)?)
    }
}

fn sort_stream<K: Data + Ord, V: Data, const DESCENDING: bool>(
    task: &Task,
    mut rows: BoxStream<(K, V)>,
) -> Result<BoxStream<(K, V)>, TaskError> {
    let mut sorter = Sorter::<ByKey<K, V, DESCENDING>>::new(task);
    while let Some(chunk) = rows.next_chunk()? {
        sorter.push(chunk)?;
    }
    drop(rows);
    sorter.into_stream()
}
