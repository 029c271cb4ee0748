//! Where the rows of an exchange go.

use std::hash::Hash;

use millstream_shuffle::partition::{partition_hash, partition_of, range_partition};
use serde::{Deserialize, Serialize};

use super::Data;
use super::op::State;
use super::prepare::Prepared;
use crate::executor::TaskError;

/// A partitioning function of the user's.
///
/// Two exchanges by equal partitioners (same type, same state) into the same number of partitions put
/// equal keys into the same partition, and are joined without another exchange.
///
/// # Example
/// ```
/// use millstream::Partitioner;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct ByParity;
///
/// impl Partitioner<i64> for ByParity {
///     fn partition(&self, key: &i64, partitions: u32) -> u32 {
///         key.rem_euclid(2) as u32 % partitions
///     }
/// }
/// # fn main() -> Result<(), millstream::Error> {
/// let context = millstream::Context::local("parity")?;
/// let rows = context.range(0..6, 3).map(|n| (n, ())).partition_by_with(ByParity, 2).keys().glom();
/// assert_eq!(rows.collect()?, [vec![0, 2, 4], vec![1, 3, 5]]);
/// # Ok(())
/// # }
/// ```
pub trait Partitioner<K>: Data {
    /// The partition of a key, below `partitions`. Equal keys must get equal partitions.
    fn partition(&self, key: &K, partitions: u32) -> u32;
}

/// Places rows by key.
pub(crate) trait Placement<K>: State + Clone {
    fn place(&self, key: &K, partitions: u32) -> Result<u32, TaskError>;
}

/// By the partition hash.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct HashPlacement;

impl<K: Hash> Placement<K> for HashPlacement {
    #[inline]
    fn place(&self, key: &K, partitions: u32) -> Result<u32, TaskError> {
        Ok(partition_of(partition_hash(key), partitions))
    }
}

/// By ranges, with bounds that a job finds first.
pub(crate) struct RangePlacement<K> {
    pub(crate) bounds: Prepared<Vec<K>>,
    pub(crate) descending: bool,
}

impl<K> Clone for RangePlacement<K> {
    fn clone(&self) -> Self {
        Self { bounds: self.bounds.clone(), descending: self.descending }
    }
}

impl<K: Serialize> Serialize for RangePlacement<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.bounds, self.descending).serialize(serializer)
    }
}

impl<'de, K: Deserialize<'de>> Deserialize<'de> for RangePlacement<K> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (bounds, descending) = Deserialize::deserialize(deserializer)?;
        Ok(Self { bounds, descending })
    }
}

impl<K: Data + Ord> Placement<K> for RangePlacement<K> {
    #[inline]
    fn place(&self, key: &K, partitions: u32) -> Result<u32, TaskError> {
        let at = range_partition(self.bounds.get()?, key).min(partitions - 1);
        Ok(if self.descending { partitions - 1 - at } else { at })
    }
}

/// By a function of the user's.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct CustomPlacement<P>(pub(crate) P);

impl<K, P: Partitioner<K>> Placement<K> for CustomPlacement<P> {
    fn place(&self, key: &K, partitions: u32) -> Result<u32, TaskError> {
        let at = self.0.partition(key, partitions);
        match at < partitions {
            true => Ok(at),
            false => Err(TaskError::Data(format!(
                "the partitioner {} put a key into partition {at} of {partitions}: they are counted from 0",
                std::any::type_name::<P>()
            ))),
        }
    }
}

/// The identity of a partitioning function with its state, by which co-partitioning is recognised.
pub(crate) fn code_of<P: Serialize>(partitioner: &P) -> u64 {
    let state = postcard::to_stdvec(partitioner).unwrap_or_default();
    partition_hash(&(std::any::type_name::<P>(), state))
}
