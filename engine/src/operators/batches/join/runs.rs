//! Output that could not be given in its order at once: runs on disk, each ordered by its numbers, and their merge.
//!
//! Of equal numbers, those of an earlier run come first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;

use super::plan::numbers_of;
use crate::executor::{Task, TaskError};
use crate::operators::batches::{BatchStream, BoxBatches, SpillWriter, Spilled, batch_of};

/// Runs merged at a time, if memory is ample.
const FAN_IN_MAX: usize = 128;
/// Or when there is hardly any.
const FAN_IN_MIN: usize = 8;
/// What is held of each run while they are merged, or about so much: of that, a piece as it is, and a window of the file.
const RUN_BYTES: usize = 1 << 20;
/// What is written at a time.
const PIECE_BYTES: usize = 128 << 10;

/// Runs of batches whose last column is their numbers.
pub(super) struct Runs {
    task: Task,
    schema: SchemaRef,
    rows_max: usize,
    /// Runs merged at a time.
    fan_in: usize,
    /// Those of a higher tier are merged ones, and earlier.
    tiers: Vec<Vec<Spilled>>,
}

/// Writes one run.
pub(super) struct RunWriter {
    writer: SpillWriter,
    empty: bool,
}

impl RunWriter {
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let bytes: usize = batch.columns().iter().map(super::columns::bytes).sum();
        let pieces = bytes.div_ceil(PIECE_BYTES).max(1);
        let rows = batch.num_rows().div_ceil(pieces).max(1);
        self.empty &= batch.num_rows() == 0;
        for first in (0..batch.num_rows()).step_by(rows) {
            self.writer.write(0, batch.slice(first, rows.min(batch.num_rows() - first)))?;
        }
        Ok(())
    }
}

impl Runs {
    pub(super) fn new(task: &Task, schema: &SchemaRef, rows_max: usize) -> Self {
        let fan_in = task.runtime.budget.floor() as usize / RUN_BYTES;
        Self {
            task: Task::clone(task),
            schema: SchemaRef::clone(schema),
            rows_max,
            fan_in: fan_in.clamp(FAN_IN_MIN, FAN_IN_MAX),
            tiers: Vec::new(),
        }
    }

    pub(super) fn begin(&self) -> Result<RunWriter, TaskError> {
        Ok(RunWriter { writer: SpillWriter::new(&self.task, 1)?, empty: true })
    }

    /// Adds a run after all others.
    pub(super) fn add(&mut self, run: RunWriter) -> Result<(), TaskError> {
        if run.empty {
            return Ok(());
        }
        let mut run = run.writer.finish()?;
        for tier in 0.. {
            if self.tiers.len() == tier {
                self.tiers.push(Vec::new());
            }
            self.tiers[tier].push(run);
            if self.tiers[tier].len() < self.fan_in {
                break;
            }
            run = self.merged(tier)?;
        }
        Ok(())
    }

    /// The runs of a tier as one.
    fn merged(&mut self, tier: usize) -> Result<Spilled, TaskError> {
        let runs = std::mem::take(&mut self.tiers[tier]);
        let mut merge = Merge::new(&self.schema, self.rows_max, self.open(&runs)?)?;
        let mut writer = self.begin()?;
        while let Some(batch) = merge.next()? {
            writer.write(&batch)?;
        }
        writer.writer.finish()
    }

    fn open(&self, runs: &[Spilled]) -> Result<Vec<BoxBatches>, TaskError> {
        runs.iter().map(|run| run.read(&self.task, 0)).collect()
    }

    /// Merges runs until so few are left that they can be read at the same time.
    pub(super) fn settle(&mut self) -> Result<(), TaskError> {
        while self.tiers.iter().map(Vec::len).sum::<usize>() > self.fan_in {
            let Some(lowest) = self.tiers.iter().position(|tier| !tier.is_empty()) else { break };
            let run = self.merged(lowest)?;
            match self.tiers.get_mut(lowest + 1) {
                Some(tier) => tier.push(run),
                None => self.tiers.push(vec![run]),
            }
        }
        Ok(())
    }

    /// All rows in the order of their numbers, and without these. The last run may come without having been written.
    pub(super) fn finish(
        mut self,
        last: Option<BoxBatches>,
        output: &SchemaRef,
    ) -> Result<BoxBatches, TaskError> {
        self.settle()?;
        let runs: Vec<Spilled> =
            std::mem::take(&mut self.tiers).into_iter().rev().flatten().collect();
        let mut inputs = self.open(&runs)?;
        inputs.extend(last);
        let mut merge = Merge::new(&self.schema, self.rows_max, inputs)?;
        let output = SchemaRef::clone(output);
        Ok(Box::new(move || {
            let Some(batch) = merge.next()? else { return Ok(None) };
            let columns = batch.columns()[..output.fields().len()].to_vec();
            Ok(Some(batch_of(&output, columns, batch.num_rows())?))
        }))
    }
}

struct Merge {
    schema: SchemaRef,
    rows_max: usize,
    runs: Vec<Run>,
    /// The next number of each run that is not at its end.
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

struct Run {
    input: BoxBatches,
    batch: RecordBatch,
    row: usize,
    /// Its place among the batches of the output at hand.
    held: Option<usize>,
}

impl Merge {
    fn new(
        schema: &SchemaRef,
        rows_max: usize,
        inputs: Vec<BoxBatches>,
    ) -> Result<Self, TaskError> {
        let mut merge = Self {
            schema: SchemaRef::clone(schema),
            rows_max,
            next: BinaryHeap::with_capacity(inputs.len()),
            runs: Vec::with_capacity(inputs.len()),
        };
        for input in inputs {
            let batch = RecordBatch::new_empty(SchemaRef::clone(schema));
            merge.runs.push(Run { input, batch, row: 0, held: None });
            merge.advance(merge.runs.len() - 1)?;
        }
        Ok(merge)
    }

    /// Enters the next number of a run.
    fn advance(&mut self, index: usize) -> Result<(), TaskError> {
        let run = &mut self.runs[index];
        while run.row == run.batch.num_rows() {
            let Some(batch) = run.input.next()? else { return Ok(()) };
            (run.batch, run.row, run.held) = (batch, 0, None);
        }
        self.next.push(Reverse((run.number(), index)));
        Ok(())
    }
}

impl Run {
    fn number(&self) -> u64 {
        self.batch.columns().last().map_or(0, |column| numbers_of(column)[self.row])
    }
}

impl BatchStream for Merge {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        let mut held: Vec<RecordBatch> = Vec::new();
        let mut picks: Vec<(usize, usize)> = Vec::with_capacity(self.rows_max);
        self.runs.iter_mut().for_each(|run| run.held = None);
        while picks.len() < self.rows_max
            && let Some(Reverse((_, index))) = self.next.pop()
        {
            let run = &mut self.runs[index];
            let place = *run.held.get_or_insert_with(|| {
                held.push(run.batch.clone());
                held.len() - 1
            });
            // As long as no other run has a smaller number, or the same and is earlier.
            let limit = self.next.peek().map_or((u64::MAX, usize::MAX), |Reverse(next)| *next);
            loop {
                picks.push((place, run.row));
                run.row += 1;
                let more = run.row < run.batch.num_rows() && picks.len() < self.rows_max;
                if !more || (run.number(), index) > limit {
                    break;
                }
            }
            self.advance(index)?;
        }
        if picks.is_empty() {
            return Ok(None);
        }
        let column = |at: usize| {
            let columns: Vec<_> = held.iter().map(|batch| batch.column(at).as_ref()).collect();
            interleave(&columns, &picks)
        };
        let columns: Result<Vec<ArrayRef>, _> =
            (0..self.schema.fields().len()).map(column).collect();
        Ok(Some(batch_of(&self.schema, columns?, picks.len())?))
    }
}
