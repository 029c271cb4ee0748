//! Millstream: a dataflow engine in the manner of MapReduce and Spark.
//!
//! A program builds a pipeline of [`Rdd`] operations on a [`Context`]; an action compiles it into a DAG
//! of stages, schedules their tasks and returns the result. Data that does not fit into the memory limit
//! is spilled; the answer is the same.
//!
//! ```
//! # fn main() -> Result<(), millstream::Error> {
//! use millstream::Context;
//!
//! let context = Context::builder().app_name("word count").master("local[2]").build()?;
//! let lines = context.parallelize(["the mill", "the stream"].map(String::from), 2);
//! let words = lines.flat_map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
//! let mut counts = words.map(|word| (word, 1)).reduce_by_key(|a, b| a + b).collect()?;
//! counts.sort();
//! assert_eq!(counts, [("mill".into(), 1), ("stream".into(), 1), ("the".into(), 2)]);
//! # Ok(())
//! # }
//! ```
//!
//! Where to find what: the ways in are [`Context`] and [`Rdd`]; [`mapreduce`] is for jobs of mappers
//! and reducers; [`io`] reads and writes files; [`events`] says what happens while a job runs; [`scheduler`] decides what runs where.

#[cfg(feature = "counting-allocator")]
mod allocator;
pub mod closure;
mod context;
mod dataframe;
mod driver;
mod error;
mod eval;
pub mod events;
mod executor;
pub mod functions;
pub mod io;
pub mod mapreduce;
mod metrics;
mod operators;
mod protocol;
mod rdd;
pub mod scheduler;
/// What the simulation drives beside the scheduler.
#[cfg(feature = "planted-bugs")]
#[doc(hidden)]
pub mod rehearsal {
    pub use crate::driver::{Rehearsed, RehearsedOutput, RehearsedStage};
}
mod shared;
pub mod text;
#[cfg(feature = "tool")]
pub mod tool;

/// The Arrow that columns, schemas and types are of: `millstream::arrow::datatypes::DataType` goes into a cast.
pub use arrow;
pub use context::{Context, ContextBuilder, Demand, ExecutorStatus, SizeError, parse_size};
pub use dataframe::{
    Analysis, DataFrame, GroupBy, IntoColumn, IntoColumns, IntoPaths, OperatorFigures, Reader,
    StageFigures, Udf, UdfArg, UdfClosure, UdfResult, Writer, udf, udf_columns, udf_columns_with,
};
pub use error::Error;
pub use metrics::Metrics;
pub use millstream_planner::logical::JoinType;
pub use millstream_planner::physical::{Adaptive, JoinStrategy};
pub use millstream_shuffle::block::Codec;
pub use millstream_shuffle::net::channel::TlsFiles;
pub use rdd::{
    CheckpointPolicy, Data, Key, PartitionRows, Partitioner, PersistLevel, Portable, Rdd,
};
pub use shared::{Accumulate, Accumulator, Broadcast};
pub use text::Text;

/// Turns this process into an executor and does not return, if it was started as one; otherwise does
/// nothing. [`ContextBuilder::build`] does the same: call this first thing in `main` where the program
/// does much, or prints, before it builds its context.
///
/// An executor of a `cluster://HOST:PORT` master is this program, started with these variables in its
/// environment:
///
/// | Variable | |
/// |---|---|
/// | `MILLSTREAM_DRIVER` | `HOST:PORT` of the driver |
/// | `MILLSTREAM_SECRET_FILE` or `MILLSTREAM_SECRET` | the secret of the driver |
/// | `MILLSTREAM_SLOTS` | tasks at a time; one a processor by default |
/// | `MILLSTREAM_MEMORY` | memory limit, such as `8g`; 60 % of what there is by default |
/// | `MILLSTREAM_LOCAL_DIRS` | directories for shuffle files, with `:` between |
/// | `MILLSTREAM_SHUFFLE_SERVICE` | `HOST:PORT` of this machine's shuffle service; none by default |
/// | `MILLSTREAM_TLS_CERT`, `_KEY`, `_CA`, `_NAME` | for TLS: see [`TlsFiles`]; all four or none |
///
/// # Errors
/// If the environment says that this process is an executor, but not in a way that makes sense.
pub fn become_executor_if_asked() -> Result<(), Error> {
    static ASKED: std::sync::Once = std::sync::Once::new();
    match executor::Role::of_this_process()? {
        None => Ok(()),
        Some(role) => {
            // Of several threads that come here, one runs the executor and the others wait for ever.
            ASKED.call_once(|| executor::run_as_executor(role));
            Ok(())
        }
    }
}
