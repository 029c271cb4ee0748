//! Finding the bounds of a range exchange: from a seeded sample of whole keys, drawn by a job of its own.

use std::sync::Arc;

use millstream_planner::physical::{Program, SortOption};
use millstream_shuffle::partition::range_bounds;
use serde::{Deserialize, Serialize};

use super::exchange::Bounds;
use crate::context::Context;
use crate::error::Error;
use crate::executor::{Task, TaskError};
use crate::operators::batches::Batch;
use crate::operators::batches::sort::KeyColumns;
use crate::rdd::{Action, BoxStream, KeySample, Node, Prepare, keys_to_draw};

const SAMPLE_SEED: u64 = 0x2a1f_6c83_9d0e_57b4;

/// Finds bounds when a job needs them.
pub(super) struct FindBounds {
    pub(super) context: Context,
    /// The rows to be spread.
    pub(super) rows: Arc<Node>,
    pub(super) keys: Program,
    pub(super) options: Vec<SortOption>,
    pub(super) partitions: u32,
    pub(super) bounds: Bounds,
}

impl Prepare for FindBounds {
    fn prepare(&self) -> Result<(), Error> {
        if self.bounds.is_set() {
            return Ok(());
        }
        let share = keys_to_draw(self.partitions, self.rows.partitions);
        let draw = DrawKeys { keys: self.keys.clone(), options: self.options.clone(), share };
        let (inner, scope) = (self.context.inner(), self.context.scope());
        let all = 0..self.rows.partitions;
        let drawn = inner.run::<Sample>(scope, "sample keys", &self.rows, all, draw)?;
        self.bounds.set(range_bounds(drawn.into_iter().flatten().collect(), self.partitions));
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
pub(in crate::dataframe) struct DrawKeys {
    keys: Program,
    options: Vec<SortOption>,
    share: usize,
}

pub(in crate::dataframe) struct Sample;

impl Action for Sample {
    type Params = DrawKeys;
    type In = Batch;
    type Out = Vec<(Vec<u8>, f64)>;

    fn run(
        draw: Arc<DrawKeys>,
        mut rows: BoxStream<Batch>,
        task: &Task,
    ) -> Result<Self::Out, TaskError> {
        let keys = KeyColumns::new(&draw.keys, &draw.options)?;
        let mut sample = KeySample::new(draw.share, SAMPLE_SEED, task.id.partition);
        while let Some(chunk) = rows.next_chunk()? {
            for Batch(batch) in chunk {
                for key in &keys.encode(&batch)? {
                    sample.see(|| key.as_ref().to_vec());
                }
            }
        }
        Ok(sample.weighted())
    }
}
