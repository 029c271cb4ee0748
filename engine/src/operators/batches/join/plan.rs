//! A join as its parts share it: what it gives, how keys compare, what must hold besides, and how rows of both sides
//! become rows of the output.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array, UInt64Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use millstream_planner::physical::{ExprOp, Join, JoinKind, Program};

use super::columns::{Columns, NO_ROW, rows_max};
use super::keys::KeyMatch;
use super::kind::Gives;
use super::side::{Layout, Side};
use crate::eval::{Evaluator, RowOrigin};
use crate::executor::TaskError;
use crate::operators::batches::{BATCH_ROWS, batch_of};

/// Above the numbers of all left rows: with it, a right row's number orders what has no left row.
const AFTER_LEFT: u64 = 1 << 63;

/// What all parts of a join know.
pub(super) struct Plan {
    pub(super) join: Join,
    pub(super) gives: Gives,
    pub(super) null_aware: bool,
    pub(super) form: KeyMatch,
    pub(super) left_schema: SchemaRef,
    pub(super) right_schema: SchemaRef,
    /// The right columns that are stored: those given come first, and in order.
    pub(super) right_kept: Vec<usize>,
    pub(super) output: SchemaRef,
    /// The output with the number that orders its rows.
    pub(super) numbered: SchemaRef,
    /// The most rows of a batch, given or probed.
    pub(super) rows_max: usize,
    pub(super) partition: u32,
    residual: Option<Residual>,
}

/// A condition over pairs, and the columns that it reads.
struct Residual {
    evaluator: Evaluator,
    schema: SchemaRef,
    left: Vec<usize>,
    /// By place in what is stored.
    right: Vec<usize>,
}

impl Plan {
    pub(super) fn new(
        join: &Join,
        output: SchemaRef,
        left_schema: SchemaRef,
        right_schema: SchemaRef,
        partition: u32,
    ) -> Result<Self, TaskError> {
        let gives = Gives::of(join.kind, join.mirrored);
        let types: Vec<DataType> = join
            .left_keys
            .roots
            .iter()
            .filter_map(|root| Some(join.left_keys.get(*root)?.data_type.clone()))
            .collect();
        let right_kept = kept(join, gives, left_schema.fields().len(), &right_schema);
        let residual = join
            .residual
            .as_ref()
            .map(|program| Residual::new(program, &left_schema, &right_schema, &right_kept));
        let number = Arc::new(Field::new("row", DataType::UInt64, false));
        let fields = output.fields().iter().cloned().chain([number]);
        let numbered = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let schemas = [&left_schema, &right_schema];
        let rows_max = schemas.into_iter().map(rows_max).min().unwrap_or(BATCH_ROWS);
        Ok(Self {
            join: join.clone(),
            gives,
            null_aware: join.kind == JoinKind::NullAwareAnti,
            form: KeyMatch::new(&types, &join.null_safe)?,
            residual: residual.transpose()?,
            rows_max: rows_max.min(BATCH_ROWS),
            left_schema,
            right_schema,
            right_kept,
            output,
            numbered,
            partition,
        })
    }

    /// The left side, as it is stored.
    pub(super) fn left_side(&self, numbered: bool) -> Result<Side, TaskError> {
        let all = (0..self.left_schema.fields().len()).collect();
        Side::new(&self.join.left_keys, &self.left_schema, all, numbered, self.partition)
    }

    /// The right side, as it is stored. Its rows have numbers if they are given at the end.
    pub(super) fn right_side(&self) -> Result<Side, TaskError> {
        let (kept, numbered) = (self.right_kept.clone(), self.gives.follows_right());
        Side::new(&self.join.right_keys, &self.right_schema, kept, numbered, self.partition)
    }

    pub(super) fn has_residual(&self) -> bool {
        self.residual.is_some()
    }

    /// Keeps the pairs for which the residual condition holds.
    pub(super) fn keep_pairs(
        &self,
        batch: &RecordBatch,
        columns: &Columns,
        left: &mut Vec<u32>,
        right: &mut Vec<u32>,
    ) -> Result<(), TaskError> {
        let Some(residual) = &self.residual else { return Ok(()) };
        if left.is_empty() {
            return Ok(());
        }
        let mask = residual.mask(self.partition, batch, columns, left, right)?;
        let mut kept = 0;
        for row in 0..left.len() {
            (left[kept], right[kept]) = (left[row], right[row]);
            kept += usize::from(mask.value(row));
        }
        left.truncate(kept);
        right.truncate(kept);
        Ok(())
    }

    /// Rows of a stored left batch, each with a right row if the join gives pairs.
    pub(super) fn give(
        &self,
        batch: &RecordBatch,
        layout: &Layout,
        left: &[u32],
        right: Option<(&Columns, &[u32])>,
    ) -> Result<RecordBatch, TaskError> {
        let mut columns = Vec::with_capacity(self.numbered.fields().len());
        let rows = Rows::of(left, batch.num_rows());
        for at in 0..layout.kept {
            columns.push(rows.gather(batch.column(at))?);
        }
        if self.gives.pairs {
            self.give_right(right, left.len(), &mut columns)?;
        }
        let Some(number) = layout.number else {
            return Ok(batch_of(&self.output, columns, left.len())?);
        };
        columns.push(rows.gather(batch.column(number))?);
        Ok(batch_of(&self.numbered, columns, left.len())?)
    }

    fn give_right(
        &self,
        right: Option<(&Columns, &[u32])>,
        rows: usize,
        columns: &mut Vec<ArrayRef>,
    ) -> Result<(), TaskError> {
        match right {
            Some((stored, right)) => {
                let picks = stored.picks(right);
                for at in 0..self.right_kept.len() {
                    columns.push(stored.gather(at, &picks)?);
                }
            }
            None => {
                let types = self.right_schema.fields().iter().map(|field| field.data_type());
                columns.extend(types.map(|data_type| new_null_array(data_type, rows)));
            }
        }
        Ok(())
    }

    /// Right rows of which there is one row each, at the end.
    pub(super) fn give_alone(
        &self,
        columns: &Columns,
        right: &[u32],
        numbered: bool,
    ) -> Result<RecordBatch, TaskError> {
        let rows = right.len();
        let mut given: Vec<ArrayRef> = Vec::with_capacity(self.numbered.fields().len());
        if self.gives.pairs {
            let types = self.left_schema.fields().iter().map(|field| field.data_type());
            given.extend(types.map(|data_type| new_null_array(data_type, rows)));
        }
        self.give_right(Some((columns, right)), rows, &mut given)?;
        if !numbered {
            return Ok(batch_of(&self.output, given, rows)?);
        }
        let numbers = columns.gather(self.right_kept.len(), &columns.picks(right))?;
        let numbers: UInt64Array = numbers_of(&numbers).iter().map(|n| n | AFTER_LEFT).collect();
        given.push(Arc::new(numbers));
        Ok(batch_of(&self.numbered, given, rows)?)
    }
}

/// The values of a column of numbers.
pub(super) fn numbers_of(column: &ArrayRef) -> &[u64] {
    use arrow::array::AsArray;
    column
        .as_primitive_opt::<arrow::datatypes::UInt64Type>()
        .map_or(&[], |numbers| numbers.values())
}

/// The right columns to store.
fn kept(join: &Join, gives: Gives, left_columns: usize, right: &SchemaRef) -> Vec<usize> {
    if gives.pairs || gives.follows_right() {
        return (0..right.fields().len()).collect();
    }
    let read = join.residual.as_ref().map(Program::columns).unwrap_or_default();
    read.into_iter().filter_map(|at| (at as usize).checked_sub(left_columns)).collect()
}

impl Residual {
    fn new(
        program: &Program,
        left: &SchemaRef,
        right: &SchemaRef,
        right_kept: &[usize],
    ) -> Result<Self, TaskError> {
        let read: Vec<usize> = program.columns().into_iter().map(|at| at as usize).collect();
        let count = left.fields().len();
        let field = |at: &usize| match at.checked_sub(count) {
            None => left.field(*at).clone().with_nullable(true),
            Some(at) => right.field(at).clone().with_nullable(true),
        };
        let schema = Arc::new(Schema::new(read.iter().map(field).collect::<Vec<_>>()));
        let stored = |at: usize| right_kept.iter().position(|kept| *kept == at);
        Ok(Self {
            evaluator: Evaluator::new(&over(program, &read))?,
            schema,
            left: read.iter().copied().filter(|at| *at < count).collect(),
            right: read.iter().filter_map(|at| stored(at.checked_sub(count)?)).collect(),
        })
    }

    fn mask(
        &self,
        partition: u32,
        batch: &RecordBatch,
        columns: &Columns,
        left: &[u32],
        right: &[u32],
    ) -> Result<BooleanArray, TaskError> {
        let rows = Rows::of(left, batch.num_rows());
        let mut read = Vec::with_capacity(self.schema.fields().len());
        for at in &self.left {
            read.push(rows.gather(batch.column(*at))?);
        }
        let picks = columns.picks(right);
        for at in &self.right {
            read.push(columns.gather(*at, &picks)?);
        }
        let pairs = batch_of(&self.schema, read, left.len())?;
        Ok(self.evaluator.mask(&pairs, RowOrigin { partition, row: 0 })?)
    }
}

/// The program over these columns only.
fn over(program: &Program, columns: &[usize]) -> Program {
    let mut program = program.clone();
    for node in &mut program.nodes {
        if let ExprOp::Column(at) = &mut node.op {
            let place = columns.iter().position(|column| *column == *at as usize);
            *at = place.unwrap_or_default() as u32;
        }
    }
    program
}

/// Rows of one batch, in increasing order or without any (`NO_ROW` is none of them).
enum Rows {
    /// Side by side.
    Span {
        first: usize,
        rows: usize,
    },
    Some(UInt32Array),
}

impl Rows {
    fn of(rows: &[u32], of: usize) -> Self {
        let first = rows.first().map_or(0, |first| *first as usize);
        let side_by_side = || rows.iter().zip(first as u32..).all(|(row, at)| *row == at);
        debug_assert!(rows.iter().all(|row| *row != NO_ROW && (*row as usize) < of));
        match rows.last() {
            Some(last) if *last as usize - first + 1 != rows.len() || !side_by_side() => {
                Self::Some(UInt32Array::from(rows.to_vec()))
            }
            _ => Self::Span { first, rows: rows.len() },
        }
    }

    fn gather(&self, column: &ArrayRef) -> Result<ArrayRef, TaskError> {
        match self {
            Self::Span { first: 0, rows } if *rows == column.len() => Ok(Arc::clone(column)),
            Self::Span { first, rows } => Ok(column.slice(*first, *rows)),
            Self::Some(rows) => Ok(take(column, rows, None)?),
        }
    }
}
