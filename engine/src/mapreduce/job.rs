//! A job put together from its parts, and run.

use std::path::PathBuf;

use millstream_shuffle::partition::{partition_hash, partition_of};
use serde::{Deserialize, Serialize};

use super::map_side::Mapping;
use super::output::Counters;
use super::reduce_side::Reducing;
use super::{Combiner, Mapper, Reducer};
use crate::error::Error;
use crate::io::output::Manifest;
use crate::rdd::{Data, Key, Partitioner, Rdd};

/// A MapReduce job; see the [module](super) for an example.
#[derive(Clone, Debug)]
pub struct MapReduceJob<M, R, C = NoCombiner, P = HashPartitioner> {
    mapper: M,
    reducer: R,
    combiner: Option<C>,
    partitioner: P,
    partitions: Option<u32>,
}

/// The combiner of a job that has none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum NoCombiner {}

impl<K, V> Combiner<K, V> for NoCombiner {
    fn combine(&self, _: &K, _: V, _: V) -> V {
        match *self {}
    }
}

/// Sends keys to reducers by their hash.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct HashPartitioner;

impl<K: Key> Partitioner<K> for HashPartitioner {
    fn partition(&self, key: &K, partitions: u32) -> u32 {
        partition_of(partition_hash(key), partitions)
    }
}

impl<M, R> MapReduceJob<M, R>
where
    M: Mapper,
    R: Reducer<Key = M::Key, Value = M::Value>,
{
    /// A job without a combiner, whose keys go to reducers by their hash.
    #[must_use]
    pub fn new(mapper: M, reducer: R) -> Self {
        Self { mapper, reducer, combiner: None, partitioner: HashPartitioner, partitions: None }
    }
}

impl<M, R, C, P> MapReduceJob<M, R, C, P>
where
    M: Mapper,
    R: Reducer<Key = M::Key, Value = M::Value>,
    C: Combiner<M::Key, M::Value>,
    P: Partitioner<M::Key>,
{
    /// Merges pairs with equal keys before they are sent.
    #[must_use]
    pub fn combiner<D: Combiner<M::Key, M::Value>>(self, combiner: D) -> MapReduceJob<M, R, D, P> {
        let Self { mapper, reducer, partitioner, partitions, .. } = self;
        MapReduceJob { mapper, reducer, combiner: Some(combiner), partitioner, partitions }
    }

    /// Says which reducer gets a key.
    #[must_use]
    pub fn partitioner<Q: Partitioner<M::Key>>(self, partitioner: Q) -> MapReduceJob<M, R, C, Q> {
        let Self { mapper, reducer, combiner, partitions, .. } = self;
        MapReduceJob { mapper, reducer, combiner, partitioner, partitions }
    }

    /// The number of reducers, at least 1; by default that of any other exchange.
    #[must_use]
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.partitions = Some(partitions);
        self
    }

    /// The job on this input. As with every `Rdd`, nothing is computed before an action asks for rows.
    #[must_use]
    pub fn run(&self, input: &Rdd<M::In>) -> MapReduceResult<R::Out> {
        let counters = Counters::new(input.context());
        let partitions = self
            .partitions
            .or(input.exchange_partitions())
            .unwrap_or_else(|| input.default_exchange_partitions());
        let map = (self.mapper.clone(), self.combiner.clone(), counters.clone());
        let reduce = (self.reducer.clone(), counters.clone());
        let rows = input
            .map_partitions_with(map, |(mapper, combiner, counters), _, rows| {
                Mapping::new(mapper.clone(), combiner.clone(), counters, rows)
            })
            .renamed("map")
            .repartition_and_sort_within_partitions_with(self.partitioner.clone(), partitions)
            .map_partitions_with(reduce, |(reducer, counters), _, rows| {
                Reducing::new(reducer.clone(), counters, rows)
            })
            .renamed("reduce");
        MapReduceResult { rows, counters }
    }
}

/// What a job gives.
#[derive(Clone, Debug)]
pub struct MapReduceResult<T> {
    /// What the reducers emit: a partition a reducer, in the order in which it was emitted.
    pub rows: Rdd<T>,
    /// What mappers and reducers count, complete when an action on the rows has ended.
    pub counters: Counters,
}

impl<K: Data + std::fmt::Display, V: Data + std::fmt::Display> MapReduceResult<(K, V)> {
    /// Writes lines `key<TAB>value`, one part file a reducer; otherwise as [`Rdd::save_as_text`].
    ///
    /// # Errors
    /// As [`Rdd::save_as_text`].
    pub fn save_as_text(&self, dir: impl Into<PathBuf>) -> Result<Manifest, Error> {
        self.rows.map(|(key, value)| format!("{key}\t{value}")).save_as_text(dir)
    }
}
