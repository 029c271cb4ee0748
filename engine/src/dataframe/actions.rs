//! What runs a job and gives its result to the program.

use std::sync::Arc;

use arrow::array::RecordBatch;
use serde::Deserialize;

use super::DataFrame;
use super::run::{adapt, lower};
use crate::context::Context;
use crate::error::Error;
use crate::executor::{Metrics, Task, TaskError};
use crate::operators::batches::Batch;
use crate::rdd::{Action, BoxStream, PersistLevel, Rdd};

impl DataFrame {
    /// All rows, as batches of columns, in order.
    ///
    /// # Errors
    /// A mistake in the plan, or if the job fails.
    pub fn collect(&self) -> Result<Vec<RecordBatch>, Error> {
        let schema = self.schema()?;
        let parts = self.rows_now()?.run::<Collect>("collect", ())?;
        let batches: Vec<RecordBatch> = parts.into_iter().flatten().map(|batch| batch.0).collect();
        batches.into_iter().map(|batch| with_schema(&batch, &schema)).collect()
    }

    /// All rows in one batch.
    ///
    /// # Errors
    /// As [`Self::collect`].
    pub fn collect_batch(&self) -> Result<RecordBatch, Error> {
        let batches = self.collect()?;
        arrow::compute::concat_batches(&self.schema()?, &batches).map_err(Error::of_arrow)
    }

    /// All rows as values of a Rust type: a struct with fields named as the columns are, or a tuple of as many.
    ///
    /// # Errors
    /// As [`Self::collect`], and if a row is no such value.
    pub fn collect_rows<T: for<'de> Deserialize<'de>>(&self) -> Result<Vec<T>, Error> {
        let batch = self.collect_batch()?;
        if batch.num_columns() == 0 {
            return Ok(Vec::new());
        }
        serde_arrow::from_record_batch(&batch).map_err(|error| Error::Rows {
            row_type: std::any::type_name::<T>(),
            why: error.to_string(),
        })
    }

    /// The batches one after the other; a partition is computed when the iterator comes to it.
    ///
    /// # Errors
    /// A mistake in the plan.
    pub fn to_batches(
        &self,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, Error>> + use<>, Error> {
        let schema = self.schema()?;
        let rows = self.rows()?.to_local_iterator();
        Ok(rows.map(move |batch| with_schema(&batch?.0, &schema)))
    }

    /// The number of rows.
    ///
    /// # Errors
    /// As [`Self::collect`].
    pub fn count(&self) -> Result<u64, Error> {
        let counted =
            self.agg([millstream_planner::expr::functions_api::count_star().alias("count")]);
        let batch = counted.collect_batch()?;
        let counts = batch.column(0);
        let count = arrow::array::AsArray::as_primitive_opt::<arrow::datatypes::Int64Type>(counts)
            .and_then(|counts| counts.iter().flatten().next());
        Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
    }

    /// Whether there is no row.
    ///
    /// # Errors
    /// As [`Self::collect`].
    pub fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.limit(1).count()? == 0)
    }

    /// Keeps the rows of each partition in memory once they have been computed, as far as there is room, and on disk
    /// beyond: further actions read them from there. Kept until the returned frame and all made of it are gone.
    ///
    /// # Errors
    /// A mistake in the plan.
    pub fn cache(&self) -> Result<Self, Error> {
        self.persist(PersistLevel::MemoryAndDisk)
    }

    /// As [`Self::cache`], at a level of your choice.
    ///
    /// # Errors
    /// A mistake in the plan.
    pub fn persist(&self, level: PersistLevel) -> Result<Self, Error> {
        let schema = self.schema()?;
        Ok(Self::of_rows(self.rows()?.persist(level), "cached", schema))
    }

    /// Computes the rows now and writes them to a directory or bucket, from where they are read from then on: what they
    /// were made of is forgotten.
    ///
    /// # Errors
    /// A mistake in the plan, or if the rows cannot be written.
    pub fn checkpoint(&self, location: &str) -> Result<Self, Error> {
        let schema = self.schema()?;
        Ok(Self::of_rows(self.rows_now()?.checkpoint(location)?, "checkpoint", schema))
    }

    /// The rows as an `Rdd` of batches, as they are planned.
    pub(super) fn rows(&self) -> Result<Rdd<Batch>, Error> {
        lower(&self.context, self.plan()?)
    }

    /// The same for an action that runs all of it now: what is exchanged on the way may have been.
    pub(super) fn rows_now(&self) -> Result<Rdd<Batch>, Error> {
        adapt(&self.context, self.plan()?)
    }

    pub(super) fn context_ref(&self) -> &Context {
        &self.context
    }
}

/// The batch under the names that the plan gives its columns.
fn with_schema(
    batch: &RecordBatch,
    schema: &arrow::datatypes::SchemaRef,
) -> Result<RecordBatch, Error> {
    let rows = batch.num_rows();
    crate::operators::batches::batch_of(schema, batch.columns().to_vec(), rows)
        .map_err(Error::of_arrow)
}

struct Collect;

impl Action for Collect {
    type Params = ();
    type In = Batch;
    type Out = Vec<Batch>;

    fn run(_: Arc<()>, mut rows: BoxStream<Batch>, task: &Task) -> Result<Vec<Batch>, TaskError> {
        let mut all = Vec::new();
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            let count: usize = chunk.iter().map(|batch| batch.0.num_rows()).sum();
            Metrics::add(&task.metrics.rows_out, count as u64);
            all.extend(chunk.into_iter().filter(|batch| batch.0.num_rows() > 0));
        }
        Ok(all)
    }
}
