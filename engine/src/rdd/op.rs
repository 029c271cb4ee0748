//! The three kinds of code a task runs: opening a partition of an operation, writing a map output,
//! and reducing a partition to what an action wants.
//!
//! Each is a trait on a type that names the operation with all its type parameters and closures, and
//! an [`Entry`] made from it. Erased, an operation is that entry and its state; nothing else has to
//! travel to run it elsewhere.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use super::data::{Data, decode_value};
use super::node::Node;
use super::stream::BoxStream;
use crate::closure::{CodeError, Entry, Params};
use crate::executor::{MapResult, Task, TaskError};

/// State of an operation: what its constructor was given.
pub(crate) trait State: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<P: Serialize + DeserializeOwned + Send + Sync + 'static> State for P {}

/// An operation of the lineage: how to read one of its partitions.
pub(crate) trait Operation: 'static {
    type Params: State;
    type Out: 'static;

    fn open(
        params: Arc<Self::Params>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Self::Out>, TaskError>;
}

/// The map side of a shuffle: how to write the rows of one partition.
pub(crate) trait MapSide: 'static {
    type Params: State;
    type In: Data;

    fn write(
        params: Arc<Self::Params>,
        rows: BoxStream<Self::In>,
        task: &Task,
        partitions: u32,
    ) -> Result<MapResult, TaskError>;
}

/// What an action does with one partition. What comes of it travels to the driver.
pub(crate) trait Action: 'static {
    type Params: State;
    type In: Data;
    type Out: Serialize + DeserializeOwned + Send + 'static;

    fn run(
        params: Arc<Self::Params>,
        rows: BoxStream<Self::In>,
        task: &Task,
    ) -> Result<Self::Out, TaskError>;
}

/// A `BoxStream<T>` of unknown `T`.
pub(crate) type ErasedStream = Box<dyn Any>;
/// The result of an action on one partition.
pub(crate) type Payload = Box<dyn Any + Send>;

pub(crate) type OpenFn = fn(&Params, &Node, &Task, u32) -> Result<ErasedStream, TaskError>;
pub(crate) type WriteFn = fn(&Params, &Node, &Task, u32) -> Result<MapResult, TaskError>;

/// What there is to an action: running it on a partition, and carrying its result to the driver.
pub(crate) struct ActionCode {
    pub(crate) run: fn(&Params, &Node, &Task) -> Result<Payload, TaskError>,
    pub(crate) encode: fn(&Payload) -> Result<Vec<u8>, CodeError>,
    pub(crate) decode: fn(Vec<u8>) -> Result<Payload, CodeError>,
}

/// Code with its state.
pub(crate) struct Code<C: 'static> {
    pub(crate) entry: &'static Entry<C>,
    pub(crate) params: Params,
}

impl<C> Clone for Code<C> {
    fn clone(&self) -> Self {
        Self { entry: self.entry, params: Arc::clone(&self.params) }
    }
}

impl<C> fmt::Debug for Code<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entry.fmt(f)
    }
}

/// The code of operation `O`.
pub(crate) fn operation<O: Operation>(params: O::Params) -> Code<OpenFn> {
    Code { entry: operation_entry::<O>(), params: Arc::new(params) }
}

pub(crate) fn operation_entry<O: Operation>() -> &'static Entry<OpenFn> {
    const { &Entry::new::<O::Params>(type_name::<O>, open::<O> as OpenFn) }
}

/// The code of map side `W`.
pub(crate) fn map_side<W: MapSide>(params: W::Params) -> Code<WriteFn> {
    Code { entry: map_side_entry::<W>(), params: Arc::new(params) }
}

pub(crate) fn map_side_entry<W: MapSide>() -> &'static Entry<WriteFn> {
    const { &Entry::new::<W::Params>(type_name::<W>, write::<W> as WriteFn) }
}

/// The code of action `A`.
pub(crate) fn action<A: Action>(params: A::Params) -> Code<ActionCode> {
    Code { entry: action_entry::<A>(), params: Arc::new(params) }
}

pub(crate) fn action_entry<A: Action>() -> &'static Entry<ActionCode> {
    const {
        let code = ActionCode { run: run::<A>, encode: encode::<A::Out>, decode: decode::<A::Out> };
        &Entry::new::<A::Params>(type_name::<A>, code)
    }
}

fn open<O: Operation>(
    params: &Params,
    node: &Node,
    task: &Task,
    partition: u32,
) -> Result<ErasedStream, TaskError> {
    Ok(Box::new(O::open(state::<O::Params>(params)?, node, task, partition)?))
}

fn write<W: MapSide>(
    params: &Params,
    root: &Node,
    task: &Task,
    partitions: u32,
) -> Result<MapResult, TaskError> {
    let rows = task.open::<W::In>(root, task.id.partition)?;
    W::write(state::<W::Params>(params)?, rows, task, partitions)
}

fn run<A: Action>(params: &Params, root: &Node, task: &Task) -> Result<Payload, TaskError> {
    let rows = task.open::<A::In>(root, task.id.partition)?;
    Ok(Box::new(A::run(state::<A::Params>(params)?, rows, task)?))
}

fn encode<T: Serialize + 'static>(result: &Payload) -> Result<Vec<u8>, CodeError> {
    let result = result
        .downcast_ref::<T>()
        .ok_or_else(|| CodeError::Params(format!("a result is not a {}", type_name::<T>())))?;
    postcard::to_stdvec(result).map_err(|error| CodeError::Params(error.to_string()))
}

fn decode<T: DeserializeOwned + Send + 'static>(bytes: Vec<u8>) -> Result<Payload, CodeError> {
    decode_value::<T>(bytes)
        .map(|value| Box::new(value) as Payload)
        .map_err(|error| CodeError::Params(error.to_string()))
}

fn state<P: State>(params: &Params) -> Result<Arc<P>, TaskError> {
    Arc::downcast::<P>(Arc::clone(params))
        .map_err(|_| CodeError::Params(format!("not a {}", type_name::<P>())).into())
}

/// The stream inside an erased one.
pub(crate) fn typed<T: 'static>(stream: ErasedStream) -> Result<BoxStream<T>, TaskError> {
    stream.downcast::<BoxStream<T>>().map(|stream| *stream).map_err(|_| {
        TaskError::internal(format!(
            "an operation was given rows that are not {}",
            type_name::<T>()
        ))
    })
}
