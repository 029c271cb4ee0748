//! The map side of an exchange of batches.

use std::sync::Arc;

use arrow::array::RecordBatch;
use millstream_planner::physical::Distribution;
use millstream_shuffle::partition::{hash_columns, partition_of};
use serde::{Deserialize, Serialize};

use crate::eval::{Evaluator, RowOrigin};
use crate::executor::{MapResult, MapWriter, Task, TaskError};
use crate::operators::batches::sort::KeyColumns;
use crate::operators::batches::{BATCH_ROWS, Batch, Scatter, compact, give};
use crate::rdd::{BoxStream, MapSide, Prepared};

/// The bounds of ranges, as encoded keys.
pub(super) type Bounds = Prepared<Vec<Vec<u8>>>;

/// Where rows go.
#[derive(Serialize, Deserialize)]
pub(super) struct Exchange {
    pub(super) to: Distribution,
    /// For ranges.
    pub(super) bounds: Bounds,
    /// Whether it is of interest how much goes to each partition.
    pub(super) measured: bool,
}

/// Writes the rows of a stage by partition.
pub(super) struct WriteExchange;

impl MapSide for WriteExchange {
    type Params = Exchange;
    type In = Batch;

    fn write(
        exchange: Arc<Exchange>,
        mut rows: BoxStream<Batch>,
        task: &Task,
        partitions: u32,
    ) -> Result<MapResult, TaskError> {
        let mut writer = MapWriter::new(task, partitions);
        if exchange.measured {
            writer.keep_account();
        }
        let mut placement = Placement::new(&exchange, task.id.partition)?;
        let mut scatter = Scatter::new(partitions);
        while let Some(chunk) = rows.next_chunk()? {
            for Batch(batch) in chunk {
                match partitions {
                    1 => whole(batch, &mut writer)?,
                    _ => placement.scatter(batch, partitions, &mut scatter, &mut writer)?,
                }
            }
            writer.relieve()?;
        }
        drop(rows);
        scatter.flush(&mut writer)?;
        writer.finish()
    }
}

/// Hands on a batch as it is, in pieces that readers can hold.
fn whole(batch: RecordBatch, writer: &mut MapWriter<Batch>) -> Result<(), TaskError> {
    for start in (0..batch.num_rows()).step_by(BATCH_ROWS) {
        let piece = batch.slice(start, BATCH_ROWS.min(batch.num_rows() - start));
        give(compact(&piece)?, 0, writer)?;
    }
    Ok(())
}

/// Finds the partitions of rows.
enum Placement<'a> {
    Hash {
        keys: Evaluator,
    },
    Range {
        keys: KeyColumns,
        bounds: &'a [Vec<u8>],
    },
    /// The partition of the next row.
    Turns {
        next: u32,
    },
}

impl<'a> Placement<'a> {
    fn new(exchange: &'a Exchange, map: u32) -> Result<Self, TaskError> {
        Ok(match &exchange.to {
            Distribution::Hash { keys, .. } => Self::Hash { keys: Evaluator::new(keys)? },
            Distribution::Range { keys, options, .. } => Self::Range {
                keys: KeyColumns::new(keys, options)?,
                bounds: exchange.bounds.get()?,
            },
            // Tasks begin at different partitions, so that small ones do not all fill the first.
            Distribution::RoundRobin { partitions } => {
                Self::Turns { next: map % (*partitions).max(1) }
            }
            Distribution::Single | Distribution::Broadcast => Self::Turns { next: 0 },
        })
    }

    fn scatter(
        &mut self,
        batch: RecordBatch,
        partitions: u32,
        scatter: &mut Scatter,
        writer: &mut MapWriter<Batch>,
    ) -> Result<(), TaskError> {
        let rows = batch.num_rows();
        match self {
            Self::Hash { keys } => {
                let columns = keys.columns(&batch, RowOrigin::default())?;
                let hashes = hash_columns(&columns, rows)?;
                let places = hashes.into_iter().map(|hash| partition_of(hash, partitions));
                scatter.push(batch, places, writer)
            }
            Self::Range { keys, bounds } => {
                let keys = keys.encode(&batch)?;
                let place = |row: usize| {
                    let at =
                        bounds.partition_point(|bound| bound.as_slice() < keys.row(row).as_ref());
                    (at as u32).min(partitions - 1)
                };
                scatter.push(batch, (0..rows).map(place), writer)
            }
            Self::Turns { next } => {
                let first = *next;
                *next = (first + (rows as u64 % u64::from(partitions)) as u32) % partitions;
                let place =
                    |row: usize| ((u64::from(first) + row as u64) % u64::from(partitions)) as u32;
                scatter.push(batch, (0..rows).map(place), writer)
            }
        }
    }
}
