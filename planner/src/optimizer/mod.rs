//! Logical plans that give the same rows at less cost.
//!
//! A rule is a function from plans to plans. Expressions are by position, so that a rule which moves a condition or
//! drops a column says where the columns it speaks of have gone. Each rule gives the very plan it was given where it
//! finds nothing to do; those that make work for each other are repeated until nothing changes, at most
//! `ROUNDS_MAX` times.
//!
//! Rules keep the rows, and their order where there is one. Which of several errors a program meets, and whether an
//! error in a row that nobody asks for is met at all, may change.

pub(crate) mod exprs;
mod join_graph;
mod join_order;
mod limit;
pub(crate) mod plans;
mod prune;
mod push_filter;
mod simplify;
mod single_distinct;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use crate::error::PlanError;
use crate::expr::{Expr, Scalar};
use crate::logical::PlanRef;

/// How often the rules that make work for each other are repeated.
const ROUNDS_MAX: usize = 6;

/// Evaluates constants: what expressions compute is the engine's business.
pub trait Fold {
    /// The value of an operation on literals, of exactly the type the operation gives. `None` where it fails, so that
    /// it fails when it is run, if it ever is.
    fn fold(&self, expr: &Expr) -> Option<Scalar>;
}

/// Leaves constants as they are.
pub struct NoFold;

impl Fold for NoFold {
    fn fold(&self, _: &Expr) -> Option<Scalar> {
        None
    }
}

/// [`optimize_with`] without evaluating constants.
///
/// # Errors
///
/// As [`optimize_with`].
pub fn optimize(plan: &PlanRef) -> Result<PlanRef, PlanError> {
    optimize_with(plan, &NoFold)
}

/// A plan that gives the same rows at less cost. A plan that has been optimised stays as it is.
///
/// # Errors
///
/// Expressions whose types do not go together; there are none in a plan of the builder's.
pub fn optimize_with(plan: &PlanRef, fold: &dyn Fold) -> Result<PlanRef, PlanError> {
    let mut plan = plan.clone();
    for _ in 0..ROUNDS_MAX {
        let before = plan.address();
        plan = simplify::simplify(&plan, fold);
        plan = push_filter::push_filters(&plan);
        if plan.address() == before {
            break;
        }
    }
    plan = join_order::order_joins(&plan);
    plan = single_distinct::rewrite(&plan)?;
    plan = limit::push_limits(&plan);
    Ok(prune::prune(&plan))
}
