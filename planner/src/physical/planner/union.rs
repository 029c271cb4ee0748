//! Inputs one after the other. Unions of unions are one.

use std::sync::Arc;

use super::Planner;
use super::built::{Built, Spread};
use crate::error::PlanError;
use crate::logical::{LogicalPlan, PlanRef, Schema};
use crate::physical::plan::Op;

impl Planner<'_> {
    pub(super) fn union(&mut self, inputs: &[PlanRef]) -> Result<Built, PlanError> {
        let inputs: Vec<Built> =
            flat(inputs).into_iter().map(|input| self.lower(input)).collect::<Result<_, _>>()?;
        let Some((first, rest)) = inputs.split_first() else { return self.one_row() };
        if rest.is_empty() {
            return Ok(first.clone());
        }
        let mut schema = Schema::clone(&first.schema);
        for input in rest {
            for (field, other) in schema.fields.iter_mut().zip(&input.schema.fields) {
                field.nullable |= other.nullable;
            }
        }
        let sum = |of: fn(&Built) -> Option<u64>| {
            inputs.iter().try_fold(0_u64, |sum, input| Some(sum.saturating_add(of(input)?)))
        };
        let (rows, scanned) = (sum(|input| input.rows), sum(|input| input.scanned));
        let partitions = inputs.iter().map(|input| input.spread.partitions).sum();
        let op = Op::Union { inputs: inputs.iter().map(|input| input.id).collect() };
        let id = self.operators.push(op, &schema, rows);
        let spread = Spread::of(partitions);
        Ok(Built { id, schema: Arc::new(schema), spread, rows, width: None, scanned })
    }
}

/// Beyond so many inputs (of a plan united with itself again and again) unions stay apart.
const FLAT_MAX: usize = 1 << 16;

/// The inputs, and in the place of unions among them theirs.
fn flat(inputs: &[PlanRef]) -> Vec<&PlanRef> {
    let mut out = Vec::new();
    let mut stack: Vec<&PlanRef> = inputs.iter().rev().collect();
    while let Some(input) = stack.pop() {
        match &**input {
            LogicalPlan::Union { inputs } if out.len() + stack.len() < FLAT_MAX => {
                stack.extend(inputs.iter().rev());
            }
            _ => out.push(input),
        }
    }
    out
}
