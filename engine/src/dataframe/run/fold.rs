//! Constants evaluated while a plan is made, by the code that would evaluate them for each row.

use millstream_planner::expr::{Expr, Scalar};
use millstream_planner::logical::Schema;
use millstream_planner::optimizer::Fold;
use millstream_planner::physical::compile;

use crate::eval::constant;

/// Evaluates with the engine's own evaluator.
pub(super) struct Folding;

impl Fold for Folding {
    fn fold(&self, expr: &Expr) -> Option<Scalar> {
        let program = compile(std::slice::from_ref(expr), &Schema::default()).ok()?;
        constant(&program).ok()?.pop()
    }
}
