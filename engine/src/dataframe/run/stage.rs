//! A stage of a physical plan as an operation of the lineage.

use std::sync::Arc;

use crate::executor::{Task, TaskError};
use crate::operators::batches::{AsRecords, Batch, Opener, StagePlan};
use crate::rdd::{BoxStream, Node, Operation};

/// Runs the pipeline of one stage.
pub(in crate::dataframe) struct RunStage;

impl Operation for RunStage {
    type Params = StagePlan;
    type Out = Batch;

    fn open(
        stage: Arc<StagePlan>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Batch>, TaskError> {
        let opener = Opener::new(&stage, node, task);
        Ok(Box::new(AsRecords(opener.open_root(partition)?)))
    }
}
