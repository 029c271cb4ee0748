//! `Rdd<T>`: a typed, partitioned, lazily computed collection.
//!
//! An `Rdd` is a handle on a node of the lineage graph. Operations add nodes; actions submit a job that
//! computes a node. What the nodes *do* is code identified as in [`crate::closure`], so that every
//! pipeline could run in another process of the same program.
//!
//! | file | operations |
//! |---|---|
//! | `sources` | parallelize, range, text files |
//! | `narrow` | map, filter, flat_map, map_partitions, ... |
//! | `arrange` | union, coalesce, repartition |
//! | `zip` | zip, zip_partitions, zip_with_index, cartesian |
//! | `sample` | sample, take_sample, random_split |
//! | `pipe` | pipe to a program |
//! | `pair` | reduce_by_key, group_by_key, join, cogroup, ... |
//! | `sort` | sort_by, sort_by_key, repartition_and_sort_within_partitions |
//! | `sets` | distinct, intersection, subtract |
//! | `actions` | collect, count, take, for_each, ... |
//! | `reduce` | reduce, fold, aggregate, max, top, sum, ... |
//! | `save` | text and Parquet files |
//! | `persist` | persist |
//! | `checkpoint` | checkpoint, checkpoint_if_worth |

mod actions;
mod arrange;
mod built_in;
mod checkpoint;
mod data;
mod narrow;
mod node;
mod op;
mod pair;
mod partitioner;
mod persist;
mod pipe;
mod prepare;
mod reduce;
mod sample;
mod save;
mod sets;
mod sort;
mod sources;
mod spent;
mod stream;
mod zip;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use millstream_planner::stages::Determinism;

use crate::context::Context;

pub(crate) use built_in::BuiltIn;
pub(crate) use checkpoint::AutoCheckpoints;
pub use checkpoint::CheckpointPolicy;
pub use data::{Data, Key};
pub(crate) use data::{Postcard, decode_rows};
pub use narrow::PartitionRows;
pub(crate) use node::{Input, Layout, Node, NodeSpec, Shuffle};
pub(crate) use op::{
    Action, ActionCode, Code, MapSide, OpenFn, Operation, Payload, WriteFn, action, action_entry,
    map_side, map_side_entry, operation, operation_entry, typed,
};
pub(crate) use pair::ReadRows;
pub use partitioner::Partitioner;
pub use persist::PersistLevel;
pub(crate) use prepare::{Prepare, Prepared};
pub(crate) use sample::{Draw, KeySample, keys_to_draw};
pub(crate) use stream::{BoxStream, CHUNK_ROWS, ChunkStream, Pace, from_fn};

/// A closure that can be sent to another process by its code alone: it captures nothing. Implemented
/// for every closure that can; that it captures nothing is checked by each operation.
pub trait Portable: Copy + Send + Sync + 'static {}

impl<F: Copy + Send + Sync + 'static> Portable for F {}

/// A typed, partitioned, lazily computed collection.
///
/// Operations return a new `Rdd` and compute nothing; actions (those that return a [`Result`] with a
/// value) run a job.
///
/// Cloning clones the handle, not the data. Rows have an order: partition by partition, and within a
/// partition an order that depends on the input alone, not on threads, memory or retries.
///
/// # Example
/// ```
/// # fn main() -> Result<(), millstream::Error> {
/// let context = millstream::Context::local("squares")?;
/// let squares = context.range(0..10, 3).map(|n| n * n).filter(|n| n % 2 == 0);
/// assert_eq!(squares.collect()?, [0, 4, 16, 36, 64]);
/// # Ok(())
/// # }
/// ```
pub struct Rdd<T> {
    pub(crate) context: Context,
    pub(crate) node: Arc<Node>,
    /// The number of partitions of the next exchange, if it was asked for.
    exchange: Option<u32>,
    marker: PhantomData<fn() -> T>,
}

impl<T> Clone for Rdd<T> {
    fn clone(&self) -> Self {
        let (context, node) = (self.context.clone(), Arc::clone(&self.node));
        Self { context, node, exchange: self.exchange, marker: PhantomData }
    }
}

impl<T> fmt::Debug for Rdd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Rdd<{}>({}, {} partitions)",
            std::any::type_name::<T>(),
            self.node.name,
            self.node.partitions
        )
    }
}

impl<T: Data> Rdd<T> {
    /// A handle on a new node.
    pub(crate) fn from_spec(context: &Context, spec: NodeSpec) -> Self {
        let id = context.inner().next_node();
        let node = Node::new(spec, id, context.inner().downgrade());
        Self { context: context.clone(), node, exchange: None, marker: PhantomData }
    }

    /// A handle on a node whose rows are of this type.
    pub(crate) fn of_node(context: &Context, node: Arc<Node>) -> Self {
        Self { context: context.clone(), node, exchange: None, marker: PhantomData }
    }

    /// A new node over narrow edges from `inputs`.
    pub(crate) fn narrow(
        context: &Context,
        name: impl Into<String>,
        inputs: &[&Arc<Node>],
        partitions: u32,
        layout: Layout,
        code: Code<OpenFn>,
    ) -> Self {
        let inputs = inputs.iter().map(|node| Input::Narrow(Arc::clone(node))).collect();
        let determinism = Determinism::Deterministic;
        let spec = NodeSpec {
            name: name.into(),
            partitions,
            inputs,
            code,
            layout,
            determinism,
            prepare: None,
        };
        Self::from_spec(context, spec)
    }

    /// A new node that maps this one's partitions one to one.
    pub(crate) fn then<O: Operation>(
        &self,
        name: &str,
        layout: Layout,
        params: O::Params,
    ) -> Rdd<O::Out>
    where
        O::Out: Data,
    {
        let code = operation::<O>(params);
        Rdd::narrow(&self.context, name, &[&self.node], self.node.partitions, layout, code)
    }

    /// The number of partitions.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        self.node.partitions
    }

    /// A handle whose next operation, if it needs an exchange, has this many partitions after it.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("with_partitions")?;
    /// let pairs = context.range(0..100, 4).map(|n| (n % 10, 1u32));
    /// assert_eq!(pairs.with_partitions(2).reduce_by_key(|a, b| a + b).partitions(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_partitions(&self, partitions: u32) -> Self {
        Self { exchange: Some(partitions.max(1)), ..self.clone() }
    }

    /// The number of partitions asked for the next exchange.
    pub(crate) fn exchange_partitions(&self) -> Option<u32> {
        self.exchange
    }

    /// `next`, which was made of this one, with the number of partitions that was asked for here.
    pub(crate) fn hand_on<U>(&self, next: Rdd<U>) -> Rdd<U> {
        Rdd { exchange: self.exchange, ..next }
    }

    /// The number of partitions of an exchange nobody has asked a number for.
    pub(crate) fn default_exchange_partitions(&self) -> u32 {
        self.context.inner().default_partitions().unwrap_or(self.node.partitions).max(1)
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Says that the operation which made this `Rdd` may give other rows when it is run again: it
    /// uses random numbers, the clock or the outside world. Retries then take care not to mix two runs.
    #[must_use]
    pub fn indeterminate(&self) -> Self {
        let name = format!("{} (indeterminate)", self.node.name);
        let determinism = Determinism::Indeterminate;
        let spec = NodeSpec { name, determinism, ..NodeSpec::like(&self.node) };
        Self::from_spec(&self.context, spec)
    }

    /// The stages that computing this `Rdd` takes, for reading.
    ///
    /// # Errors
    /// When values the plan needs, such as the bounds of a sort, cannot be computed.
    pub fn explain(&self) -> Result<String, crate::Error> {
        self.context.inner().explain(&self.node)
    }
}
