//! MapReduce: mappers, combiners, partitioners, reducers and counters, for programs that think in them.
//!
//! A thin layer on [`Rdd`](crate::Rdd), with the contract that Hadoop's users know:
//!
//! - A [`Mapper`] is given each row of one partition and emits pairs of a key and a value.
//! - A [`Combiner`], if there is one, may merge pairs with equal keys before they are sent. It is called
//!   as often as pays, or not at all; the result must not depend on it.
//! - A [`Partitioner`](crate::Partitioner) says which reducer gets a key; by default its hash does.
//! - A [`Reducer`] is given the keys of its partition in ascending order, each with an iterator over its
//!   values. Values stream: a key may have more of them than fit into memory. They come in the order of
//!   the input.
//! - [`Counters`] add up what mappers and reducers count, each partition once.
//!
//! Mappers, combiners and reducers are values, so that their settings travel with them: each task works
//! on a clone of its own, in which `setup`, `map` and `cleanup` may also keep state.
//!
//! What is not here: input and output formats, which are [`Context`](crate::Context)'s sources and the
//! `save_as_*` actions of the result; and jobs without a reducer, which are
//! [`flat_map`](crate::Rdd::flat_map)s.
//!
//! # Example
//! ```
//! use millstream::mapreduce::{Combiner, MapReduceJob, Mapper, Output, Reducer, Values};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Split;
//!
//! impl Mapper for Split {
//!     type In = String;
//!     type Key = String;
//!     type Value = u64;
//!
//!     fn map(&mut self, line: String, out: &mut Output<(String, u64)>) {
//!         if line.is_empty() {
//!             out.count("empty lines", 1);
//!         }
//!         for word in line.split_whitespace() {
//!             out.emit((word.to_owned(), 1));
//!         }
//!     }
//! }
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Sum;
//!
//! impl Combiner<String, u64> for Sum {
//!     fn combine(&self, _word: &String, a: u64, b: u64) -> u64 {
//!         a + b
//!     }
//! }
//!
//! impl Reducer for Sum {
//!     type Key = String;
//!     type Value = u64;
//!     type Out = (String, u64);
//!
//!     fn reduce(&mut self, word: &String, counts: &mut Values<'_, String, u64>, out: &mut Output<Self::Out>) {
//!         out.emit((word.clone(), counts.sum()));
//!     }
//! }
//!
//! # fn main() -> Result<(), millstream::Error> {
//! let context = millstream::Context::local("word count")?;
//! let lines = context.parallelize(["the mill", "", "the stream"].map(String::from), 2);
//! let job = MapReduceJob::new(Split, Sum).combiner(Sum).partitions(1);
//! let result = job.run(&lines);
//! let counts = result.rows.collect()?;
//! assert_eq!(counts, [("mill".into(), 1), ("stream".into(), 1), ("the".into(), 2)]);
//! assert_eq!(result.counters.get("empty lines"), 1);
//! # Ok(())
//! # }
//! ```

mod job;
mod map_side;
mod output;
mod reduce_side;
#[cfg(test)]
mod tests;

pub use job::{HashPartitioner, MapReduceJob, MapReduceResult, NoCombiner};
pub use output::{Counters, Output};
pub use reduce_side::Values;

use crate::rdd::{Data, Key};

/// The map side of a job. Each partition is mapped by a clone of its own.
pub trait Mapper: Data {
    /// A row of the input.
    type In: Data;
    /// What rows are grouped and ordered by.
    type Key: Key + Ord;
    /// What comes with a key.
    type Value: Data;

    /// Called once before the first row of a partition.
    fn setup(&mut self, out: &mut Output<(Self::Key, Self::Value)>) {
        let _ = out;
    }

    /// Called for each row of the partition, in order.
    fn map(&mut self, row: Self::In, out: &mut Output<(Self::Key, Self::Value)>);

    /// Called once after the last row of a partition.
    fn cleanup(&mut self, out: &mut Output<(Self::Key, Self::Value)>) {
        let _ = out;
    }
}

/// Merges values of one key on the map side, so that fewer are sent.
pub trait Combiner<K, V>: Data {
    /// One value that stands for two of them; must be associative and commutative.
    fn combine(&self, key: &K, a: V, b: V) -> V;
}

/// The reduce side of a job. Each partition is reduced by a clone of its own.
pub trait Reducer: Data {
    /// The mapper's key.
    type Key: Key + Ord;
    /// The mapper's value.
    type Value: Data;
    /// A row of the result.
    type Out: Data;

    /// Called once before the first key of a partition.
    fn setup(&mut self, out: &mut Output<Self::Out>) {
        let _ = out;
    }

    /// Called for each key of the partition, in ascending order, with its values in the order of the
    /// input. Values that it does not take are skipped. What it emits for one key is held in memory.
    fn reduce(
        &mut self,
        key: &Self::Key,
        values: &mut Values<'_, Self::Key, Self::Value>,
        out: &mut Output<Self::Out>,
    );

    /// Called once after the last key of a partition.
    fn cleanup(&mut self, out: &mut Output<Self::Out>) {
        let _ = out;
    }
}

/// Rows emitted before they are handed on.
const BATCH_ROWS: usize = 1024;
