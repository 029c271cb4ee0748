//! Window functions in selections are computed by a node of their own, each once, however often it is written.

use std::sync::Arc;

use super::super::{Field, LogicalPlan, PlanRef, Schema};
use super::interner::Interner;
use super::resolve::{has_window, refuse_aggregates};
use crate::error::PlanError;
use crate::expr::{Expr, ExprRef, rewrite, try_rewrite};
use crate::types::infer;

/// The input with the results of all window functions in `exprs` appended, and the expressions with their columns
/// instead.
pub(super) fn split(input: PlanRef, exprs: Vec<Expr>) -> Result<(PlanRef, Vec<Expr>), PlanError> {
    if !exprs.iter().any(has_window) {
        return Ok((input, exprs));
    }
    let mut found = Interner::default();
    for expr in &exprs {
        collect(expr, input.schema(), &mut found)?;
    }
    let width = input.schema().len();
    let column = |part: &Expr| match part {
        Expr::Window { .. } => found.find(part).map(|place| Expr::Field((width + place) as u32)),
        _ => None,
    };
    let exprs = exprs.iter().map(|expr| rewrite(expr, &mut |part| column(part))).collect();
    Ok((node(input, found.into_exprs())?, exprs))
}

fn collect(expr: &Expr, schema: &Schema, found: &mut Interner) -> Result<(), PlanError> {
    try_rewrite(expr, &mut |part| match part {
        Expr::Window { .. } => {
            if part.children().iter().any(|child| has_window(child)) {
                return Err(PlanError::WindowNotAllowed {
                    expr: part.to_sql(schema),
                    place: "a window function".to_owned(),
                });
            }
            if part.children().iter().any(|child| matches!(***child, Expr::Aggregate { .. })) {
                return Err(PlanError::InvalidWindow {
                    reason: "this aggregate takes no DISTINCT and no filter over a window"
                        .to_owned(),
                    expr: part.to_sql(schema),
                });
            }
            for child in part.children() {
                refuse_aggregates(child, schema, "a window function")?;
            }
            found.intern(part);
            Ok(Some(part.clone()))
        }
        _ => Ok(None),
    })?;
    Ok(())
}

fn node(input: PlanRef, windows: Vec<Expr>) -> Result<PlanRef, PlanError> {
    let mut fields = input.schema().fields.clone();
    let mut exprs = Vec::with_capacity(windows.len());
    for window in windows {
        let (data_type, nullable) = infer(&window, input.schema())?;
        let name: Arc<str> = window.to_sql(input.schema()).into();
        exprs.push(Expr::Alias { expr: ExprRef::from(window), name: name.clone() });
        fields.push(Field { qualifier: None, name, data_type, nullable });
    }
    Ok(PlanRef::new(LogicalPlan::Window { input, exprs }, Arc::new(Schema { fields })))
}
