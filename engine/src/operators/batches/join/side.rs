//! One side of a join as it is stored and spilled: the columns that are of use, the keys, and where it is needed the
//! number of each row.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use millstream_planner::physical::Program;

use crate::eval::{Evaluator, RowOrigin};
use crate::executor::TaskError;
use crate::operators::batches::{BatchStream, BoxBatches, batch_of};

/// Turns batches of a side into what is stored of them.
pub(super) struct Side {
    evaluator: Evaluator,
    /// Columns of the input that come first.
    kept: Vec<usize>,
    /// Roots that are columns are not evaluated.
    computed: bool,
    origin: RowOrigin,
    pub(super) layout: Layout,
}

/// Where what is in a stored batch: kept columns, the number of the row, keys that are no kept columns.
#[derive(Clone)]
pub(super) struct Layout {
    pub(super) schema: SchemaRef,
    pub(super) keys: Vec<usize>,
    pub(super) number: Option<usize>,
    /// Kept columns.
    pub(super) kept: usize,
    /// For each key that is not a kept column: which root it is.
    extra: Vec<usize>,
}

impl Side {
    pub(super) fn new(
        keys: &Program,
        schema: &SchemaRef,
        kept: Vec<usize>,
        numbered: bool,
        partition: u32,
    ) -> Result<Self, TaskError> {
        let layout = Layout::new(keys, schema, &kept, numbered);
        let computed = !layout.extra.is_empty();
        let origin = RowOrigin { partition, row: 0 };
        Ok(Self { evaluator: Evaluator::new(keys)?, kept, computed, origin, layout })
    }

    /// What is stored of a batch.
    pub(super) fn store(&mut self, batch: &RecordBatch) -> Result<RecordBatch, TaskError> {
        let rows = batch.num_rows();
        let mut columns: Vec<ArrayRef> =
            self.kept.iter().map(|at| Arc::clone(batch.column(*at))).collect();
        if self.layout.number.is_some() {
            let numbers = self.origin.row..self.origin.row + rows as u64;
            columns.push(Arc::new(UInt64Array::from_iter_values(numbers)));
        }
        if self.computed {
            let keys = self.evaluator.columns(batch, self.origin)?;
            columns.extend(self.layout.extra.iter().map(|root| Arc::clone(&keys[*root])));
        }
        self.origin.row += rows as u64;
        Ok(batch_of(&self.layout.schema, columns, rows)?)
    }
}

impl Layout {
    fn new(keys: &Program, schema: &SchemaRef, kept: &[usize], numbered: bool) -> Self {
        let mut fields: Vec<Arc<Field>> =
            kept.iter().map(|at| Arc::clone(&schema.fields()[*at])).collect();
        let number = numbered.then(|| {
            fields.push(Arc::new(Field::new("row", DataType::UInt64, false)));
            fields.len() - 1
        });
        let (mut at, mut extra) = (Vec::new(), Vec::new());
        for (root, id) in keys.roots.iter().enumerate() {
            let column = keys.get(*id).and_then(|node| match node.op {
                millstream_planner::physical::ExprOp::Column(column) => Some(column as usize),
                _ => None,
            });
            let place = column.and_then(|column| kept.iter().position(|kept| *kept == column));
            at.push(place.unwrap_or(fields.len()));
            if place.is_none() {
                let data_type = keys.get(*id).map_or(DataType::Null, |node| node.data_type.clone());
                fields.push(Arc::new(Field::new(format!("key {root}"), data_type, true)));
                extra.push(root);
            }
        }
        // What a side says of NULLs is not relied on: outer joins below it may have said too much.
        let fields: Vec<Field> =
            fields.iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        let schema = Arc::new(Schema::new(fields));
        Self { schema, keys: at, number, kept: kept.len(), extra }
    }

    /// The keys of a stored batch.
    pub(super) fn keys(&self, batch: &RecordBatch) -> Vec<ArrayRef> {
        self.keys.iter().map(|at| Arc::clone(batch.column(*at))).collect()
    }
}

/// A side, stored batch by stored batch.
pub(super) struct Stored {
    input: BoxBatches,
    side: Side,
}

impl Stored {
    pub(super) fn new(input: BoxBatches, side: Side) -> Self {
        Self { input, side }
    }
}

impl BatchStream for Stored {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        self.input.next()?.map(|batch| self.side.store(&batch)).transpose()
    }
}
