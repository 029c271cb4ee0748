//! Scans, with what can be left to them: which columns, which rows, how many.

use std::sync::Arc;

use super::built::{Built, Spread};
use super::{Planner, compile};
use crate::error::PlanError;
use crate::expr::Expr;
use crate::logical::{Field, LogicalPlan, PlanRef, Schema, Table};
use crate::optimizer::exprs;
use crate::physical::plan::{Op, Scan};

/// A part of a plan that one scan does.
pub(super) struct Access {
    table: Arc<Table>,
    projection: Vec<u32>,
    /// Over the columns of the projection.
    predicate: Vec<Expr>,
    fetch: Option<u64>,
}

/// The scan that does all of `plan`, if one can.
pub(super) fn access(plan: &PlanRef) -> Option<Access> {
    let mut predicate = Vec::new();
    let mut below = plan;
    // Filters are gathered from the top down.
    while let LogicalPlan::Filter { input, predicate: own } = &**below {
        if exprs::is_volatile(own) || exprs::has_udf(own) {
            return None;
        }
        predicate.push(own.clone());
        below = input;
    }
    predicate.reverse();
    let (table, projection) = match &**below {
        LogicalPlan::Scan(table) => (table, (0..table.schema.fields().len() as u32).collect()),
        LogicalPlan::Project { input, exprs } => {
            let LogicalPlan::Scan(table) = &**input else { return None };
            (table, plain_columns(exprs, below.schema(), table)?)
        }
        _ => return None,
    };
    if !predicate.is_empty() && !table.takes_predicates {
        return None;
    }
    Some(Access { table: table.clone(), projection, predicate, fetch: None })
}

/// Different columns of a table under their names.
fn plain_columns(exprs: &[Expr], schema: &Schema, table: &Table) -> Option<Vec<u32>> {
    let mut seen = vec![false; table.schema.fields().len()];
    let column = |(expr, field): (&Expr, &Field)| {
        let index = exprs::as_field(expr)?;
        let known = table.schema.fields().get(index as usize)?;
        let again = std::mem::replace(seen.get_mut(index as usize)?, true);
        (!again && **known.name() == *field.name).then_some(index)
    };
    exprs.iter().zip(&schema.fields).map(column).collect()
}

/// The same scan that gives no more rows of a partition than are wanted.
pub(super) fn first_of(plan: &PlanRef, rows: u64) -> Option<Access> {
    Some(Access { fetch: Some(rows), ..access(plan)? })
}

impl Planner<'_> {
    pub(super) fn scan(&mut self, plan: &PlanRef, access: Access) -> Result<Built, PlanError> {
        let Access { table, projection, predicate, fetch } = access;
        let all = Schema::from_arrow(&table.schema, None);
        let fields = projection.iter().map(|index| all.fields[*index as usize].clone()).collect();
        let schema = Arc::new(Schema { fields });
        let predicate = exprs::all_of(predicate)
            .map(|condition| compile(std::slice::from_ref(&condition), &schema))
            .transpose()?;
        let partitions = table.partitions.max(1);
        let op =
            Op::Scan(Scan { table: self.number(&table), projection, predicate, fetch, partitions });
        let rows = self.rows(plan);
        let id = self.operators.push(op, &schema, rows);
        Ok(Built {
            id,
            schema,
            spread: Spread::of(partitions),
            rows,
            width: None,
            scanned: table.rows,
        })
    }

    pub(super) fn one_row(&mut self) -> Result<Built, PlanError> {
        let schema = Arc::new(Schema::default());
        let id = self.operators.push(Op::OneRow, &schema, Some(1));
        Ok(Built {
            id,
            schema,
            spread: Spread::of(1),
            rows: Some(1),
            width: None,
            scanned: Some(1),
        })
    }

    /// The number of a table in the plan.
    fn number(&mut self, table: &Arc<Table>) -> u32 {
        let numbers = self.numbers.entry(table.id).or_default();
        let known = |number: &&u32| {
            self.tables
                .get(**number as usize)
                .is_some_and(|known| Arc::ptr_eq(known, table) || **known == **table)
        };
        match numbers.iter().find(known) {
            Some(number) => *number,
            None => {
                let number = self.tables.len() as u32;
                self.tables.push(table.clone());
                numbers.push(number);
                number
            }
        }
    }
}
