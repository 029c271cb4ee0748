//! Operators that hold nothing: what they give for a batch depends on that batch and its place alone.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, RecordBatch, StructArray, UInt32Array, new_null_array,
};
use arrow::compute::{concat, filter_record_batch, take as take_column};
use arrow::datatypes::{DataType, SchemaRef};
use millstream_planner::physical::Program;

use super::{BATCH_ROWS, BatchStream, BoxBatches, batch_of};
use crate::eval::{Evaluator, RowOrigin};
use crate::executor::{Task, TaskError};
use crate::rdd::Draw;

/// Keeps the rows for which a condition is true.
pub(crate) struct Filter {
    input: BoxBatches,
    predicate: Evaluator,
    origin: RowOrigin,
}

impl Filter {
    pub(crate) fn new(
        input: BoxBatches,
        predicate: &Program,
        partition: u32,
    ) -> Result<Self, TaskError> {
        let origin = RowOrigin { partition, row: 0 };
        Ok(Self { input, predicate: Evaluator::new(predicate)?, origin })
    }
}

impl BatchStream for Filter {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        while let Some(batch) = self.input.next()? {
            let mask = self.predicate.mask(&batch, self.origin)?;
            self.origin.row += batch.num_rows() as u64;
            match mask.true_count() {
                0 => {}
                all if all == batch.num_rows() => return Ok(Some(batch)),
                _ => return Ok(Some(filter_record_batch(&batch, &mask)?)),
            }
        }
        Ok(None)
    }
}

/// Gives expressions over the input as columns.
pub(crate) struct Project {
    input: BoxBatches,
    columns: Evaluator,
    schema: SchemaRef,
    origin: RowOrigin,
}

impl Project {
    pub(crate) fn new(
        input: BoxBatches,
        columns: &Program,
        schema: SchemaRef,
        partition: u32,
    ) -> Result<Self, TaskError> {
        let origin = RowOrigin { partition, row: 0 };
        Ok(Self { input, columns: Evaluator::new(columns)?, schema, origin })
    }
}

impl BatchStream for Project {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        let Some(batch) = self.input.next()? else { return Ok(None) };
        let columns = self.columns.columns(&batch, self.origin)?;
        self.origin.row += batch.num_rows() as u64;
        Ok(Some(batch_of(&self.schema, columns, batch.num_rows())?))
    }
}

/// Gives each batch once a projection.
pub(crate) struct Expand {
    input: BoxBatches,
    projections: Vec<Evaluator>,
    schema: SchemaRef,
    current: Option<(RecordBatch, usize)>,
    origin: RowOrigin,
}

impl Expand {
    pub(crate) fn new(
        input: BoxBatches,
        projections: &[Program],
        schema: SchemaRef,
        partition: u32,
    ) -> Result<Self, TaskError> {
        let projections = projections.iter().map(Evaluator::new).collect::<Result<_, _>>()?;
        let origin = RowOrigin { partition, row: 0 };
        Ok(Self { input, projections, schema, current: None, origin })
    }
}

impl BatchStream for Expand {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if let Some((batch, next)) = &mut self.current {
                if let Some(projection) = self.projections.get(*next) {
                    *next += 1;
                    let columns = projection.columns(batch, self.origin)?;
                    return Ok(Some(batch_of(&self.schema, columns, batch.num_rows())?));
                }
                self.origin.row += batch.num_rows() as u64;
            }
            self.current = self.input.next()?.map(|batch| (batch, 0));
            if self.current.is_none() {
                return Ok(None);
            }
        }
    }
}

/// Passes over rows, and ends after some. What it reads is not read further than that.
pub(crate) struct Limit {
    input: Option<BoxBatches>,
    skip: u64,
    left: u64,
}

impl Limit {
    pub(crate) fn new(input: BoxBatches, skip: u64, fetch: Option<u64>) -> Self {
        Self { input: Some(input), skip, left: fetch.unwrap_or(u64::MAX) }
    }
}

impl BatchStream for Limit {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        while self.left > 0 {
            let Some(input) = &mut self.input else { break };
            let Some(batch) = input.next()? else { break };
            let rows = batch.num_rows() as u64;
            if rows <= self.skip {
                self.skip -= rows;
                continue;
            }
            let take = (rows - self.skip).min(self.left);
            let batch = batch.slice(self.skip as usize, take as usize);
            self.skip = 0;
            self.left -= take;
            return Ok(Some(batch));
        }
        self.input = None;
        Ok(None)
    }
}

/// A seeded sample: each row is drawn by itself.
pub(crate) struct Sample {
    input: BoxBatches,
    fraction: f64,
    draw: Draw,
}

impl Sample {
    pub(crate) fn new(input: BoxBatches, fraction: f64, seed: u64, partition: u32) -> Self {
        Self { input, fraction, draw: Draw::new(seed, partition) }
    }
}

impl BatchStream for Sample {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        let Some(batch) = self.input.next()? else { return Ok(None) };
        let drawn = (0..batch.num_rows()).map(|_| Some(self.draw.next() < self.fraction));
        Ok(Some(filter_record_batch(&batch, &drawn.collect())?))
    }
}

/// Gives one row for each element of a list, or entry of a map.
pub(crate) struct Explode {
    task: Task,
    input: BoxBatches,
    schema: SchemaRef,
    column: usize,
    outer: bool,
    position: bool,
    /// The batch at hand and its next row.
    current: Option<(RecordBatch, usize)>,
}

impl Explode {
    pub(crate) fn new(
        task: &Task,
        input: BoxBatches,
        schema: SchemaRef,
        column: u32,
        outer: bool,
        position: bool,
    ) -> Self {
        let (task, column) = (Rc::clone(task), column as usize);
        Self { task, input, schema, column, outer, position, current: None }
    }

    /// The rows from `start` on whose elements make about one batch, and where to go on.
    fn explode(
        &self,
        batch: &RecordBatch,
        start: usize,
    ) -> Result<(RecordBatch, usize), TaskError> {
        let (mut rows, mut places): (Vec<u32>, Vec<i64>) = (Vec::new(), Vec::new());
        let mut elements: Vec<ArrayRef> = Vec::new();
        let mut at = start;
        while at < batch.num_rows() && rows.len() < BATCH_ROWS {
            let list = element_of(batch.column(self.column), at)?;
            match list.filter(|list| !list.is_empty()) {
                Some(list) => {
                    rows.extend(std::iter::repeat_n(at as u32, list.len()));
                    places.extend(0..list.len() as i64);
                    elements.push(list);
                }
                None if self.outer => {
                    rows.push(at as u32);
                    places.push(-1);
                    let element = self.column + usize::from(self.position);
                    elements.push(new_null_array(self.schema.field(element).data_type(), 1));
                }
                None => {}
            }
            at += 1;
        }
        let picked = UInt32Array::from(rows);
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (index, column) in batch.columns().iter().enumerate() {
            if index != self.column {
                columns.push(take_column(column, &picked, None)?);
                continue;
            }
            if self.position {
                let place = |place: &i64| (*place >= 0).then_some(*place);
                columns
                    .push(Arc::new(places.iter().map(place).collect::<Int64Array>()) as ArrayRef);
            }
            let pieces: Vec<&dyn Array> = elements.iter().map(AsRef::as_ref).collect();
            let element = self.schema.field(columns.len()).data_type();
            columns.push(match pieces.is_empty() {
                true => new_null_array(element, 0),
                false => concat(&pieces)?,
            });
        }
        Ok((batch_of(&self.schema, columns, picked.len())?, at))
    }
}

impl BatchStream for Explode {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            self.task.check()?;
            if let Some((batch, start)) = self.current.take()
                && start < batch.num_rows()
            {
                let (exploded, next) = self.explode(&batch, start)?;
                self.current = Some((batch, next));
                return Ok(Some(exploded));
            }
            match self.input.next()? {
                Some(batch) => self.current = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}

/// The elements of one row; none where it is NULL.
fn element_of(column: &ArrayRef, row: usize) -> Result<Option<ArrayRef>, TaskError> {
    if column.is_null(row) {
        return Ok(None);
    }
    Ok(Some(match column.data_type() {
        DataType::List(_) => column.as_list::<i32>().value(row),
        DataType::LargeList(_) => column.as_list::<i64>().value(row),
        DataType::FixedSizeList(_, _) => column.as_fixed_size_list().value(row),
        DataType::Map(_, _) => {
            let entries: StructArray = column.as_map().value(row);
            Arc::new(entries)
        }
        other => return Err(TaskError::internal(format!("a {other} has no elements"))),
    }))
}

/// Small batches put together, so that what follows works on many rows at a time.
pub(crate) struct Coalesce {
    input: BoxBatches,
    schema: SchemaRef,
    held: Vec<RecordBatch>,
    rows: usize,
}

impl Coalesce {
    /// Batches with at least this many rows pass as they are.
    const ROWS_MIN: usize = BATCH_ROWS / 8;

    pub(crate) fn new(input: BoxBatches, schema: SchemaRef) -> Self {
        Self { input, schema, held: Vec::new(), rows: 0 }
    }

    fn give(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        self.rows = 0;
        match self.held.len() {
            0 => Ok(None),
            1 => Ok(self.held.pop()),
            _ => {
                let whole = arrow::compute::concat_batches(&self.schema, &self.held)?;
                self.held.clear();
                Ok(Some(whole))
            }
        }
    }
}

impl BatchStream for Coalesce {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        while let Some(batch) = self.input.next()? {
            if self.held.is_empty() && batch.num_rows() >= Self::ROWS_MIN {
                return Ok(Some(batch));
            }
            if batch.num_rows() > 0 {
                self.rows += batch.num_rows();
                self.held.push(batch);
            }
            if self.rows >= BATCH_ROWS / 2 {
                return self.give();
            }
        }
        self.give()
    }
}
