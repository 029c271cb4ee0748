//! Moving rows to partitions by their keys, and what the results lie like.

use std::marker::PhantomData;
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_planner::lineage::Partitioning;
use millstream_planner::stages::Determinism;

use crate::executor::{MapResult, MapWriter, Task, TaskError, read_rows};
use crate::rdd::op::OpenFn;
use crate::rdd::partitioner::{CustomPlacement, HashPlacement, Placement, code_of};
use crate::rdd::{
    BoxStream, Code, Data, Input, Key, Layout, MapSide, Node, NodeSpec, Operation, Partitioner,
    Prepare, Rdd, Shuffle, WriteFn, map_side, operation,
};

impl<K: Key, V: Data> Rdd<(K, V)> {
    /// Moves equal keys into the same of `partitions` partitions, by the partition hash. Rows keep
    /// the order of the input partitions. Joins and aggregations on the result need no exchange.
    #[must_use]
    pub fn partition_by(&self, partitions: u32) -> Self {
        let partitions = partitions.max(1);
        let partitioning = Partitioning::Hash { partitions };
        if self.node.layout.partitioning.as_ref() == Some(&partitioning) {
            return self.clone();
        }
        self.scatter("partition_by", HashPlacement, partitioning)
    }

    /// Moves rows where a partitioner of yours says.
    #[must_use]
    pub fn partition_by_with<P: Partitioner<K>>(&self, partitioner: P, partitions: u32) -> Self {
        let partitions = partitions.max(1);
        let partitioning = Partitioning::Custom { partitions, code: code_of(&partitioner) };
        if self.node.layout.partitioning.as_ref() == Some(&partitioning) {
            return self.clone();
        }
        self.scatter("partition_by", CustomPlacement(partitioner), partitioning)
    }

    fn scatter<P: Placement<K>>(&self, name: &str, place: P, partitioning: Partitioning) -> Self {
        let partitions = partitioning.partitions();
        let write = map_side::<Scatter<K, V, P>>(place);
        let input = exchange(self, write, None);
        let layout = Layout { partitioning: Some(partitioning), hash_ordered: false };
        let read = operation::<ReadRows<(K, V)>>(());
        self.over(name, vec![input], partitions, layout, read)
    }

    /// How many partitions an exchange of this data has, and whether equal keys already share one.
    pub(super) fn key_placement(&self) -> (u32, bool) {
        let wanted = self.exchange_partitions();
        match &self.node.layout.partitioning {
            Some(known) if wanted.is_none_or(|wanted| wanted == known.partitions()) => {
                (known.partitions(), true)
            }
            _ => (wanted.unwrap_or(self.default_exchange_partitions()), false),
        }
    }

    /// An input that brings equal keys together by hash without combining them.
    pub(super) fn hash_exchange(&self) -> Input {
        exchange(self, map_side::<Scatter<K, V, HashPlacement>>(HashPlacement), None)
    }
}

impl<T: Data> Rdd<T> {
    /// A new node over these inputs.
    pub(in crate::rdd) fn over<U: Data>(
        &self,
        name: &str,
        inputs: Vec<Input>,
        partitions: u32,
        layout: Layout,
        code: Code<OpenFn>,
    ) -> Rdd<U> {
        let determinism = Determinism::Deterministic;
        let name = name.to_owned();
        let spec = NodeSpec { name, partitions, inputs, code, layout, determinism, prepare: None };
        Rdd::from_spec(&self.context, spec)
    }
}

/// The layout of rows whose keys were brought together into hash order.
pub(super) fn by_key(partitioning: Option<Partitioning>) -> Layout {
    Layout { partitioning, hash_ordered: true }
}

/// A new exchange of the rows of `parent`.
pub(in crate::rdd) fn exchange<T>(
    parent: &Rdd<T>,
    write: Code<WriteFn>,
    prepare: Option<Arc<dyn Prepare>>,
) -> Input {
    let context = parent.context.inner();
    Input::Shuffle(Arc::new(Shuffle {
        id: ShuffleId(context.next_number()),
        parent: Arc::clone(&parent.node),
        write,
        prepare,
        context: context.downgrade(),
    }))
}

/// The map side that only places rows.
pub(in crate::rdd) struct Scatter<K, V, P>(PhantomData<fn() -> (K, V, P)>);

impl<K: Data, V: Data, P: Placement<K>> MapSide for Scatter<K, V, P> {
    type Params = P;
    type In = (K, V);

    fn write(
        place: Arc<P>,
        mut rows: BoxStream<(K, V)>,
        task: &Task,
        partitions: u32,
    ) -> Result<MapResult, TaskError> {
        let mut writer = MapWriter::new(task, partitions);
        while let Some(chunk) = rows.next_chunk()? {
            for (key, value) in chunk {
                writer.push(place.place(&key, partitions)?, (key, value))?;
            }
            writer.relieve()?;
        }
        drop(rows);
        writer.finish()
    }
}

/// The reduce side that takes rows as they come, map output by map output.
pub(crate) struct ReadRows<T>(PhantomData<fn() -> T>);

impl<T: Data> Operation for ReadRows<T> {
    type Params = ();
    type Out = T;

    fn open(
        _: Arc<()>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        read_rows(task, node, 0, partition)
    }
}
