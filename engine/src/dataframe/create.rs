//! Frames of what is in memory, and of `Rdd`s; and back.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use millstream_planner::logical::{Source, Table, builder};
use serde::{Deserialize, Serialize};
use serde_arrow::schema::{SchemaLike, TracingOptions};

use super::DataFrame;
use super::run::TableSource;
use crate::context::Context;
use crate::error::Error;
use crate::executor::{Task, TaskError};
use crate::io::files::{cast_column, table_schema};
use crate::operators::batches::{BATCH_ROWS, Batch};
use crate::rdd::{BoxStream, Data, Layout, Node, Operation, Rdd, from_fn};

impl Context {
    /// A frame of batches of columns, all of one schema; each is a part of one partition.
    ///
    /// # Errors
    /// If the schemas differ.
    pub fn from_batches(
        &self,
        schema: SchemaRef,
        batches: impl IntoIterator<Item = RecordBatch>,
    ) -> Result<DataFrame, Error> {
        let columns = table_schema(&schema);
        let mut pieces = Vec::new();
        let mut rows = 0;
        for batch in batches {
            if batch.schema().fields() != schema.fields() {
                return Err(Error::Mismatch {
                    operation: "from_batches",
                    why: "the batches have different columns; cast them to one schema".to_owned(),
                });
            }
            rows += batch.num_rows() as u64;
            let batch = table_batch(&batch, &columns)?;
            for start in (0..batch.num_rows()).step_by(BATCH_ROWS) {
                let count = BATCH_ROWS.min(batch.num_rows() - start);
                pieces.push(Batch(batch.slice(start, count)));
            }
        }
        let partitions = self.inner().default_partitions().unwrap_or(8).max(1);
        let partitions = partitions.min(pieces.len().max(1) as u32);
        let rdd = self.parallelize(pieces, partitions);
        Ok(DataFrame::of_rows_known(rdd, "batches", columns, Some(rows)))
    }

    /// A frame of Rust values: structs, whose fields become columns, or tuples, whose columns are named `0`, `1`, ...
    /// (see [`DataFrame::rename_all`]). Types follow from the Rust type, or from the values where it does not say.
    ///
    /// # Errors
    /// If the values have no common columns.
    pub fn from_rows<T: Serialize + Deserialize<'static>>(
        &self,
        rows: impl IntoIterator<Item = T>,
    ) -> Result<DataFrame, Error> {
        let rows: Vec<T> = rows.into_iter().collect();
        let fields = fields_of(&rows)?;
        let batch = serde_arrow::to_record_batch(&fields, &rows).map_err(rows_error::<T>)?;
        self.from_batches(batch.schema(), [batch])
    }

    /// The numbers from `start` to below `end`, in the column `id`.
    #[must_use]
    pub fn frame_range(&self, start: i64, end: i64, partitions: u32) -> DataFrame {
        let schema =
            Arc::new(Schema::new(vec![arrow::datatypes::Field::new("id", DataType::Int64, false)]));
        let of = Arc::clone(&schema);
        let batches = self.range(start..end, partitions).then::<Ids>("ids", Layout::default(), ());
        let rows = u64::try_from(i128::from(end) - i128::from(start)).unwrap_or(0);
        DataFrame::of_rows_known(batches, "range", of, Some(rows))
    }
}

/// Numbers as batches of one column.
pub(super) struct Ids;

impl Operation for Ids {
    type Params = ();
    type Out = Batch;

    fn open(
        _: Arc<()>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Batch>, TaskError> {
        let mut numbers = task.open_parent::<i64>(node, 0, partition)?;
        let mut ids: Vec<i64> = Vec::new();
        Ok(from_fn(move || {
            while ids.len() < BATCH_ROWS {
                match numbers.next_chunk()? {
                    Some(chunk) => ids.extend(chunk),
                    None if ids.is_empty() => return Ok(None),
                    None => break,
                }
            }
            let rest = ids.split_off(BATCH_ROWS.min(ids.len()));
            Ok(Some(vec![id_batch(std::mem::replace(&mut ids, rest))?]))
        }))
    }
}

fn id_batch(ids: Vec<i64>) -> Result<Batch, TaskError> {
    let ids = arrow::array::Int64Array::from(ids);
    let schema = Schema::new(vec![arrow::datatypes::Field::new("id", DataType::Int64, false)]);
    Ok(Batch(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ids)])?))
}

impl DataFrame {
    /// The frame of an `Rdd` of batches.
    pub(super) fn of_rows(rows: Rdd<Batch>, name: &str, schema: SchemaRef) -> Self {
        Self::of_rows_known(rows, name, schema, None)
    }

    pub(super) fn of_rows_known(
        rows: Rdd<Batch>,
        name: &str,
        schema: SchemaRef,
        count: Option<u64>,
    ) -> Self {
        let context = rows.context().clone();
        let table = Table {
            id: rows.node.id.0,
            name: name.into(),
            schema,
            rows: count,
            bytes: None,
            partitions: rows.partitions(),
            takes_predicates: false,
            columns: Vec::new(),
            source: Source(Arc::new(TableSource::Rows(rows))),
        };
        Self::new(&context, Ok(builder::scan(Arc::new(table))))
    }

    /// The rows as values of a Rust type, as [`Self::collect_rows`] has them.
    ///
    /// # Errors
    /// A mistake in the plan. A row that is no such value fails the job.
    pub fn to_rdd<T: Data>(&self) -> Result<Rdd<T>, Error> {
        Ok(self.rows()?.map_partitions(|batches| {
            batches.flat_map(|Batch(batch)| {
                match serde_arrow::from_record_batch::<Vec<T>>(&batch) {
                    Ok(rows) => rows,
                    #[expect(
                        clippy::panic,
                        reason = "a panic of user code is how a closure fails a task"
                    )]
                    Err(error) => {
                        panic!("a row of the frame is no {}: {error}", std::any::type_name::<T>())
                    }
                }
            })
        }))
    }
}

impl<T: Data> Rdd<T> {
    /// The rows as a frame; see [`Context::from_rows`]. The columns follow from the type, or from the first rows where
    /// it does not say.
    ///
    /// # Errors
    /// If the type has no columns.
    pub fn to_frame(&self) -> Result<DataFrame, Error> {
        let fields = match fields_of::<T>(&[]) {
            Ok(fields) => fields,
            Err(_) => fields_of(&self.take(1000)?)?,
        };
        let schema = table_schema(&Schema::new(fields.clone()));
        let batches = self.map_partitions_with(fields, |fields, _, rows| {
            let fields = fields.clone();
            let mut rows = rows;
            std::iter::from_fn(move || {
                let chunk: Vec<T> = rows.by_ref().take(BATCH_ROWS).collect();
                (!chunk.is_empty()).then(|| to_batch(&fields, &chunk))
            })
        });
        Ok(DataFrame::of_rows(batches, "rdd", schema))
    }
}

fn to_batch<T: Data>(fields: &[FieldRef], rows: &[T]) -> Batch {
    let batch = serde_arrow::to_record_batch(fields, &rows).map_err(|error| error.to_string());
    let columns = batch.and_then(|batch| {
        let schema = table_schema(&batch.schema());
        table_batch(&batch, &schema).map_err(|error| error.to_string())
    });
    match columns {
        Ok(batch) => Batch(batch),
        #[expect(clippy::panic, reason = "a panic of user code is how a closure fails a task")]
        Err(error) => panic!("a {} does not fit its columns: {error}", std::any::type_name::<T>()),
    }
}

fn fields_of<T: Serialize + Deserialize<'static>>(rows: &[T]) -> Result<Vec<FieldRef>, Error> {
    let options = || TracingOptions::default().strings_as_large_utf8(false);
    let of_type = Vec::<FieldRef>::from_type::<T>(options());
    let fields = match of_type {
        Err(_) if !rows.is_empty() => {
            Vec::<FieldRef>::from_samples(rows, options().coerce_numbers(true))
        }
        of_type => of_type,
    };
    fields.map_err(rows_error::<T>)
}

fn rows_error<T>(error: serde_arrow::Error) -> Error {
    Error::Rows { row_type: std::any::type_name::<T>(), why: error.to_string() }
}

/// The batch with the types of a table.
fn table_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    let cast = |(column, field): (&ArrayRef, &FieldRef)| cast_column(column, field.data_type());
    let columns = batch.columns().iter().zip(schema.fields()).map(cast).collect::<Result<_, _>>();
    columns
        .and_then(|columns| crate::operators::batches::batch_of(schema, columns, batch.num_rows()))
        .map_err(Error::of_arrow)
}
