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
use crate::rdd::{Action, BoxStream, Draw, Node, Prepare};

/// Keys drawn for each partition of the result.
const SAMPLE_A_PARTITION: usize = 100;
const SAMPLE_MAX: usize = 1 << 20;
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
        let total = (self.partitions as usize * SAMPLE_A_PARTITION).min(SAMPLE_MAX);
        let rows = total.div_ceil(self.rows.partitions.max(1) as usize).max(20);
        let draw = DrawKeys { keys: self.keys.clone(), options: self.options.clone(), rows };
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
    rows: usize,
}

pub(in crate::dataframe) struct Sample;

impl Action for Sample {
    type Params = DrawKeys;
    type In = Batch;
    type Out = Vec<(Vec<u8>, f64)>;

    /// A fair sample of the keys, each with the number of rows it stands for (reservoir sampling,
    /// Vitter's algorithm R).
    fn run(
        draw: Arc<DrawKeys>,
        mut rows: BoxStream<Batch>,
        task: &Task,
    ) -> Result<Self::Out, TaskError> {
        let keys = KeyColumns::new(&draw.keys, &draw.options)?;
        let mut random = Draw::new(SAMPLE_SEED, task.id.partition);
        let mut sample: Vec<Vec<u8>> = Vec::with_capacity(draw.rows);
        let mut seen = 0u64;
        while let Some(chunk) = rows.next_chunk()? {
            for Batch(batch) in chunk {
                for key in &keys.encode(&batch)? {
                    seen += 1;
                    if sample.len() < draw.rows {
                        sample.push(key.as_ref().to_vec());
                        continue;
                    }
                    let at = (u128::from(random.bits()) * u128::from(seen)) >> 64;
                    if let Some(kept) = sample.get_mut(at as usize) {
                        kept.clear();
                        kept.extend_from_slice(key.as_ref());
                    }
                }
            }
        }
        let weight = seen as f64 / sample.len().max(1) as f64;
        Ok(sample.into_iter().map(|key| (key, weight)).collect())
    }
}
