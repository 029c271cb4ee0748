//! Joins against a naive one, and known answers.

mod known;
mod random;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use millstream_planner::expr::BinaryOp;
use millstream_planner::physical::{
    ExprId, ExprOp, Join, JoinKind, JoinStrategy, OpId, PhysicalExpr, Program,
};

use super::{Build, open};
use crate::executor::{Task, TaskError};
use crate::operators::batches::BoxBatches;

pub(super) const AMPLE: u64 = 1 << 30;
/// Less than anything takes.
pub(super) const TINY: u64 = 32 << 10;

/// Columns of a schema by position.
pub(super) fn columns(schema: &SchemaRef, columns: &[usize]) -> Program {
    let node = |at: &usize| PhysicalExpr {
        op: ExprOp::Column(*at as u32),
        data_type: schema.field(*at).data_type().clone(),
        nullable: true,
    };
    let nodes: Vec<_> = columns.iter().map(node).collect();
    let roots = (0..nodes.len() as u32).map(ExprId).collect();
    Program { nodes, roots }
}

/// One column compared to another.
pub(super) fn compare(schema: &SchemaRef, left: usize, op: BinaryOp, right: usize) -> Program {
    let mut program = columns(schema, &[left, right]);
    let op = ExprOp::Binary(op, ExprId(0), ExprId(1));
    program.nodes.push(PhysicalExpr { op, data_type: DataType::Boolean, nullable: true });
    program.roots = vec![ExprId(2)];
    program
}

/// A join of two tables on columns.
pub(super) struct Case {
    pub(super) left: RecordBatch,
    pub(super) right: RecordBatch,
    pub(super) left_keys: Vec<usize>,
    pub(super) right_keys: Vec<usize>,
    pub(super) null_safe: bool,
    /// Of left, then right columns.
    pub(super) residual: Option<(usize, BinaryOp, usize)>,
    /// Rows of the batches in which both sides come.
    pub(super) cut: usize,
}

impl Case {
    pub(super) fn on(left: RecordBatch, right: RecordBatch, keys: &[usize]) -> Self {
        let (left_keys, right_keys) = (keys.to_vec(), keys.to_vec());
        Self { left, right, left_keys, right_keys, null_safe: false, residual: None, cut: 3 }
    }

    fn pairs_schema(&self) -> SchemaRef {
        let (left, right) = (self.left.schema(), self.right.schema());
        let fields = left.fields().iter().chain(right.fields());
        let fields: Vec<Field> =
            fields.map(|field| field.as_ref().clone().with_nullable(true)).collect();
        Arc::new(Schema::new(fields))
    }

    pub(super) fn spec(&self, kind: JoinKind, strategy: JoinStrategy) -> (Join, SchemaRef) {
        let pairs = self.pairs_schema();
        let given = match kind {
            JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::NullAwareAnti => self.left.schema(),
            _ => Arc::clone(&pairs),
        };
        let residual = self.residual.map(|(left, op, right)| compare(&pairs, left, op, right));
        let join = Join {
            hinted: false,
            left: OpId(0),
            right: OpId(1),
            kind,
            strategy,
            left_keys: columns(&self.left.schema(), &self.left_keys),
            right_keys: columns(&self.right.schema(), &self.right_keys),
            null_safe: vec![self.null_safe; self.left_keys.len()],
            residual,
        };
        (join, given)
    }

    pub(super) fn open(
        &self,
        kind: JoinKind,
        strategy: JoinStrategy,
        right: Build,
        task: &Task,
    ) -> Result<BoxBatches, TaskError> {
        let (join, given) = self.spec(kind, strategy);
        let left = cut(&self.left, self.cut);
        open(&join, given, left, self.left.schema(), right, self.right.schema(), task)
    }

    pub(super) fn run(&self, kind: JoinKind, strategy: JoinStrategy, limit: u64) -> Vec<String> {
        let task = crate::executor::testing::task_with(limit);
        let right = Build::Stream(cut(&self.right, self.cut));
        rows(self.open(kind, strategy, right, &task).unwrap())
    }
}

/// A table in batches.
pub(super) fn cut(table: &RecordBatch, rows: usize) -> BoxBatches {
    let table = table.clone();
    let mut first = 0;
    Box::new(move || {
        if first >= table.num_rows() {
            return Ok(None);
        }
        let batch = table.slice(first, rows.min(table.num_rows() - first));
        first += rows;
        Ok(Some(batch))
    })
}

/// Rows as text.
pub(super) fn rows(mut batches: BoxBatches) -> Vec<String> {
    let mut rows = Vec::new();
    while let Some(batch) = batches.next().unwrap() {
        assert!(batch.num_rows() <= crate::operators::batches::BATCH_ROWS);
        rows.extend((0..batch.num_rows()).map(|row| text(&batch, row)));
    }
    rows
}

pub(super) fn text(batch: &RecordBatch, row: usize) -> String {
    let options = FormatOptions::new().with_null("-");
    let value = |column: &ArrayRef| {
        ArrayFormatter::try_new(column.as_ref(), &options).unwrap().value(row).to_string()
    };
    batch.columns().iter().map(value).collect::<Vec<_>>().join(" ")
}
