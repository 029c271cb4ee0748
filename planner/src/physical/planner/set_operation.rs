//! INTERSECT and EXCEPT, as semi and anti joins of all columns in which NULL equals NULL. With ALL, the copies of a
//! row are numbered on both sides first, so that the third copy meets the third copy: both sides spill as any window
//! and join does, however often one row comes.

use std::sync::Arc;

use arrow_schema::DataType;

use super::Planner;
use super::built::Built;
use super::join::Ask;
use crate::error::PlanError;
use crate::expr::{Expr, Frame, FrameBound, FrameUnit, WindowFn};
use crate::logical::{Field, PlanRef, Schema, SetOperation};
use crate::physical::JoinKind;
use crate::physical::plan::{Op, Window, WindowCall};
use crate::physical::planner::compile;

impl Planner<'_> {
    pub(super) fn set_operation(
        &mut self,
        left: &PlanRef,
        right: &PlanRef,
        operation: SetOperation,
        all: bool,
    ) -> Result<Built, PlanError> {
        let kind = match operation {
            SetOperation::Intersect => JoinKind::LeftSemi,
            SetOperation::Except => JoinKind::LeftAnti,
        };
        let (left, right) = (self.lower(left)?, self.lower(right)?);
        let columns = left.schema.len() as u32;
        let (left, right) = if all {
            (self.numbered(&left)?, self.numbered(&right)?)
        } else {
            (self.distinct_rows(&left, left.rows)?, self.distinct_rows(&right, right.rows)?)
        };
        let on: Vec<_> = (0..left.schema.len() as u32)
            .map(|index| (Expr::Field(index), Expr::Field(index), true))
            .collect();
        let rows = left.rows;
        let ask = Ask { kind, on: &on, condition: None, hint: None };
        let joined = self.join_built(left, right, ask, rows)?;
        let columns: Vec<u32> = (0..columns).collect();
        self.pick(&joined, &columns)
    }

    /// Appends the number of each row among its equals.
    fn numbered(&mut self, input: &Built) -> Result<Built, PlanError> {
        let all: Vec<Expr> = (0..input.schema.len() as u32).map(Expr::Field).collect();
        let input = self.by_partition(input, &all, &[])?;
        let mut fields = input.schema.fields.clone();
        fields.push(Field {
            qualifier: None,
            name: "row_number".into(),
            data_type: DataType::Int64,
            nullable: false,
        });
        let schema = Arc::new(Schema { fields });
        let call = WindowCall {
            function: WindowFn::RowNumber,
            args: Vec::new(),
            arg_types: Vec::new(),
            frame: Frame {
                unit: FrameUnit::Rows,
                start: FrameBound::UnboundedPreceding,
                end: FrameBound::CurrentRow,
            },
            ignore_nulls: false,
            result: DataType::Int64,
        };
        let op = Op::Window(Window {
            input: input.id,
            columns: compile(&all, &input.schema)?,
            partition_keys: all.len() as u32,
            order: Vec::new(),
            functions: vec![call],
        });
        let id = self.operators.push(op, &schema, input.rows);
        Ok(Built { id, schema, width: None, ..input })
    }
}
