//! Reading an exchange in other parts than it was written in: several partitions as one, or of one what some of the map
//! tasks wrote.

use std::sync::Arc;

use millstream_planner::physical::Group;

use crate::executor::{Chunk, ReduceReader, Task, TaskError};
use crate::operators::batches::Batch;
use crate::rdd::{BoxStream, Node, Operation, from_fn};

/// Reads the exchange below by groups.
pub(super) struct ReadGroups;

impl Operation for ReadGroups {
    type Params = Vec<Group>;
    type Out = Batch;

    fn open(
        groups: Arc<Vec<Group>>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Batch>, TaskError> {
        let missing = |what| TaskError::internal(format!("{node:?} has no {what} {partition}"));
        let group = groups.get(partition as usize).ok_or_else(|| missing("group"))?;
        let Group { partitions, maps } = group.clone();
        let exchange = Arc::clone(node.parent(0).ok_or_else(|| missing("exchange for group"))?);
        let task = Task::clone(task);
        let (mut partitions, mut current) = (partitions, None::<ReduceReader<Batch>>);
        Ok(from_fn(move || {
            loop {
                if let Some(reader) = &mut current
                    && let Some(chunk) = reader.next_chunk()?
                {
                    return Ok(Some(Chunk::into_vec(chunk)));
                }
                let Some(partition) = partitions.next() else { return Ok(None) };
                let reader = ReduceReader::of_maps(&task, &exchange, 0, partition, maps.clone());
                current = Some(reader?);
            }
        }))
    }
}
