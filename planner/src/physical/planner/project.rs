//! Columns from columns. Adjacent projections are one operator where that computes nothing twice.

use std::sync::Arc;

use super::built::{Built, Spread};
use super::{Planner, compile};
use crate::error::PlanError;
use crate::expr::Expr;
use crate::logical::{Field, LogicalPlan, PlanRef, Schema};
use crate::optimizer::exprs;
use crate::physical::plan::Op;
use crate::physical::program::Program;

impl Planner<'_> {
    pub(super) fn project(&mut self, plan: &PlanRef) -> Result<Built, PlanError> {
        let mut chain = vec![plan];
        let mut below = plan;
        while let LogicalPlan::Project { input, .. } = &**below {
            if super::scan::access(input).is_some()
                || !matches!(**input, LogicalPlan::Project { .. })
            {
                below = input;
                break;
            }
            chain.push(input);
            below = input;
        }
        let mut input = self.lower(below)?;
        // From the bottom up, so that each projection is looked at once.
        let mut columns: Option<(Vec<Expr>, &PlanRef)> = None;
        for next in chain.into_iter().rev() {
            let LogicalPlan::Project { exprs, .. } = &**next else { continue };
            columns = match columns {
                Some((inner, of)) => match exprs::merge_projections(&inner, exprs) {
                    Some(merged) => Some((merged, next)),
                    None => {
                        input = self.project_columns(&input, &inner, of.schema())?;
                        Some((exprs.clone(), next))
                    }
                },
                None => Some((exprs.clone(), next)),
            };
        }
        match columns {
            Some((exprs, of)) => self.project_columns(&input, &exprs, of.schema()),
            None => Ok(input),
        }
    }

    /// Columns from the columns of an operator, under the names of `names`.
    pub(super) fn project_columns(
        &mut self,
        input: &Built,
        columns: &[Expr],
        names: &Schema,
    ) -> Result<Built, PlanError> {
        if is_identity(columns, &input.schema, names) {
            return Ok(input.clone());
        }
        let columns: Vec<Expr> =
            columns.iter().map(|column| exprs::unalias(column).clone()).collect();
        let program = compile(&columns, &input.schema)?;
        let schema = Arc::new(given(&program, names));
        let spread = seen_through(&input.spread, &columns);
        let op = Op::Project { input: input.id, columns: program };
        let id = self.operators.push(op, &schema, input.rows);
        Ok(Built { id, schema, spread, rows: input.rows, width: None, scanned: input.scanned })
    }

    /// Some of the columns of an operator, in this order, under their names.
    pub(super) fn pick(&mut self, input: &Built, columns: &[u32]) -> Result<Built, PlanError> {
        let fields = columns.iter().map(|index| input.schema.fields[*index as usize].clone());
        let names = Schema { fields: fields.collect() };
        let columns: Vec<Expr> = columns.iter().copied().map(Expr::Field).collect();
        self.project_columns(input, &columns, &names)
    }

    /// The same columns under the names of `names`.
    pub(super) fn named(&mut self, input: Built, names: &Schema) -> Result<Built, PlanError> {
        let columns: Vec<Expr> = (0..input.schema.len() as u32).map(Expr::Field).collect();
        self.project_columns(&input, &columns, names)
    }
}

fn is_identity(columns: &[Expr], input: &Schema, names: &Schema) -> bool {
    columns.len() == input.len()
        && columns.iter().enumerate().all(|(at, column)| exprs::as_field(column) == Some(at as u32))
        && input.fields.iter().zip(&names.fields).all(|(have, want)| have.name == want.name)
}

/// The columns that a program gives, under the names of `names`.
pub(super) fn given(program: &Program, names: &Schema) -> Schema {
    let field = |(root, name): (&crate::physical::ExprId, &Field)| match program.get(*root) {
        Some(node) => {
            Field { data_type: node.data_type.clone(), nullable: node.nullable, ..name.clone() }
        }
        None => name.clone(),
    };
    Schema { fields: program.roots.iter().zip(&names.fields).map(field).collect() }
}

/// How the rows are spread, over the columns that are given.
fn seen_through(spread: &Spread, columns: &[Expr]) -> Spread {
    if spread.hashed.is_empty() {
        return Spread::of(spread.partitions);
    }
    let place = |wanted: &Expr| columns.iter().position(|column| column == wanted);
    spread.seen(|key| match place(key) {
        Some(at) => Some(Expr::Field(at as u32)),
        None => exprs::try_remap(key, |index| place(&Expr::Field(index)).map(|at| at as u32)),
    })
}
