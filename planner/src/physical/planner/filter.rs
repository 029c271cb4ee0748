//! Conditions. Adjacent ones are one operator.

use super::built::Built;
use super::{Planner, compile};
use crate::error::PlanError;
use crate::logical::{LogicalPlan, PlanRef};
use crate::optimizer::exprs;
use crate::physical::plan::Op;

impl Planner<'_> {
    pub(super) fn filter(&mut self, plan: &PlanRef) -> Result<Built, PlanError> {
        let mut terms = Vec::new();
        let mut below = plan;
        while let LogicalPlan::Filter { input, predicate } = &**below {
            terms.push(predicate.clone());
            below = input;
        }
        // The innermost first: it may keep the others from rows on which they fail.
        terms.reverse();
        let input = self.lower(below)?;
        let Some(condition) = exprs::all_of(terms) else { return Ok(input) };
        let predicate = compile(std::slice::from_ref(&condition), &input.schema)?;
        let rows = self.rows(plan);
        Ok(self.same_columns(&input, Op::Filter { input: input.id, predicate }, rows))
    }
}
