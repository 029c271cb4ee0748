//! The condition of a scan over the columns of one file: some are read, others are the same in all its rows.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use millstream_planner::expr::Scalar;
use millstream_planner::physical::{ExprOp, Program};

use super::prune::{self, Bounds};
use crate::eval::{Evaluator, RowOrigin, to_array};
use crate::executor::TaskError;
use crate::operators::batches::batch_of;

/// Where a column of a scan comes from.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// It is the one at this place among those that are read of the file.
    Data(usize),
    /// It is the same in all rows.
    Constant(Scalar),
}

/// A condition over the columns that it uses, whichever else the scan gives.
#[derive(Clone)]
pub(super) struct Test {
    program: Rc<Program>,
    evaluator: Rc<Evaluator>,
    schema: SchemaRef,
    /// By column of the program: its place among those that the scan gives.
    used: Vec<u32>,
    partition: u32,
}

impl Test {
    /// A condition over columns that a scan gives.
    pub(super) fn new(
        condition: &Program,
        given: &[FieldRef],
        partition: u32,
    ) -> Result<Self, TaskError> {
        let used = condition.columns();
        let mut program = condition.clone();
        for node in &mut program.nodes {
            if let ExprOp::Column(column) = &mut node.op {
                *column = used.binary_search(column).unwrap_or_default() as u32;
            }
        }
        let fields: Vec<FieldRef> =
            used.iter().map(|at| Arc::clone(&given[*at as usize])).collect();
        let evaluator = Rc::new(Evaluator::new(&program)?);
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { program: Rc::new(program), evaluator, schema, used, partition })
    }

    /// The condition over a file in which the given columns come from these places.
    pub(super) fn over(&self, columns: &[Column]) -> Condition {
        let inputs = self.used.iter().map(|at| columns[*at as usize].clone()).collect();
        Condition { test: self.clone(), inputs }
    }
}

/// A condition over one file.
#[derive(Clone)]
pub(crate) struct Condition {
    test: Test,
    inputs: Vec<Column>,
}

impl Condition {
    /// The columns of the file that it uses, in increasing order.
    pub(crate) fn data_columns(&self) -> Vec<usize> {
        let mut data: Vec<usize> = self
            .inputs
            .iter()
            .filter_map(|input| match input {
                Column::Data(at) => Some(*at),
                Column::Constant(_) => None,
            })
            .collect();
        data.sort_unstable();
        data.dedup();
        data
    }

    /// Whether any row can pass, by what is known of the columns of the file.
    pub(crate) fn may_pass(&self, columns: impl Fn(usize) -> Bounds) -> bool {
        prune::may_pass(&self.test.program, |input| match self.inputs.get(input as usize) {
            Some(Column::Data(at)) => columns(*at),
            Some(Column::Constant(value)) => Bounds::constant(value),
            None => Bounds::ANY,
        })
    }

    /// The values that a column of the file must have one of for any row to pass, where the condition says so.
    pub(crate) fn wanted_values(&self, column: usize) -> Option<Vec<&Scalar>> {
        let is_column = |input: u32| matches!(self.inputs.get(input as usize), Some(Column::Data(at)) if *at == column);
        prune::wanted_values(&self.test.program, is_column)
    }

    /// Which of so many rows pass: those for which it is true. `row` is the number of the first.
    pub(crate) fn mask(
        &self,
        column: impl Fn(usize) -> ArrayRef,
        rows: usize,
        row: u64,
    ) -> Result<BooleanArray, TaskError> {
        let input = |input: &Column| match input {
            Column::Data(at) => Ok(column(*at)),
            Column::Constant(value) => repeat(value, rows),
        };
        let columns = self.inputs.iter().map(input).collect::<Result<Vec<_>, _>>();
        let batch = columns.and_then(|columns| batch_of(&self.test.schema, columns, rows));
        let batch = batch.map_err(|error| TaskError::internal(error.to_string()))?;
        let origin = RowOrigin { partition: self.test.partition, row };
        Ok(self.test.evaluator.mask(&batch, origin)?)
    }
}

/// A column of the same value in so many rows.
pub(crate) fn repeat(value: &Scalar, rows: usize) -> Result<ArrayRef, ArrowError> {
    let one = to_array(value).map_err(|error| ArrowError::ComputeError(error.to_string()))?;
    take(&one, &UInt32Array::from_value(0, rows), None)
}
