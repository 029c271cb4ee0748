//! Building and rebuilding nodes of plans whose expressions are by position, with the columns they give.

use std::collections::HashMap;
use std::sync::Arc;

use super::exprs;
use crate::expr::{Expr, deeper};
use crate::logical::{Field, JoinType, LogicalPlan, PlanRef, Schema};
use crate::physical::{JoinKind, JoinStrategy};

/// The plan with other inputs that give the same columns.
pub(crate) fn with_inputs(plan: &PlanRef, inputs: Vec<PlanRef>) -> PlanRef {
    let same = plan.inputs().iter().zip(&inputs).all(|(a, b)| a.address() == b.address());
    if same {
        return plan.clone();
    }
    let mut node = (**plan).clone();
    for (slot, input) in inputs_mut(&mut node).into_iter().zip(inputs) {
        *slot = input;
    }
    PlanRef::new(node, plan.schema().clone())
}

/// The plans it reads, to be changed.
fn inputs_mut(plan: &mut LogicalPlan) -> Vec<&mut PlanRef> {
    match plan {
        LogicalPlan::Scan(_) | LogicalPlan::OneRow => Vec::new(),
        LogicalPlan::Project { input, .. }
        | LogicalPlan::Filter { input, .. }
        | LogicalPlan::Aggregate { input, .. }
        | LogicalPlan::Sort { input, .. }
        | LogicalPlan::Limit { input, .. }
        | LogicalPlan::Distinct { input, .. }
        | LogicalPlan::Window { input, .. }
        | LogicalPlan::Explode { input, .. }
        | LogicalPlan::Sample { input, .. }
        | LogicalPlan::Repartition { input, .. }
        | LogicalPlan::Alias { input, .. } => vec![input],
        LogicalPlan::Join { left, right, .. } | LogicalPlan::SetOperation { left, right, .. } => {
            vec![left, right]
        }
        LogicalPlan::Union { inputs } => inputs.iter_mut().collect(),
    }
}

/// Rebuilds plans from the leaves up, each node once, however often it is read.
pub(crate) struct BottomUp<F> {
    change: F,
    done: HashMap<usize, (PlanRef, PlanRef)>,
}

impl<F: FnMut(PlanRef) -> PlanRef> BottomUp<F> {
    /// `change` sees each node with its inputs done.
    pub(crate) fn new(change: F) -> Self {
        Self { change, done: HashMap::new() }
    }

    pub(crate) fn run(&mut self, plan: &PlanRef) -> PlanRef {
        if let Some((_, done)) = self.done.get(&plan.address()) {
            return done.clone();
        }
        let new = deeper(|| {
            let inputs = plan.inputs().into_iter().map(|input| self.run(input)).collect();
            (self.change)(with_inputs(plan, inputs))
        });
        // The old plan is kept, so that its address stays its own.
        self.done.insert(plan.address(), (plan.clone(), new.clone()));
        new
    }
}

/// Rows for which all of `terms` hold; onto conditions that are there already, which come first.
pub(crate) fn filter(input: PlanRef, terms: Vec<Expr>) -> PlanRef {
    if terms.is_empty() {
        return input;
    }
    let (below, mut all) = match &*input {
        LogicalPlan::Filter { input: below, predicate } if !exprs::is_volatile(predicate) => {
            (below.clone(), exprs::conjuncts(predicate))
        }
        _ => (input.clone(), Vec::new()),
    };
    let known = all.len();
    for term in terms {
        exprs::add_new(&mut all, term);
    }
    if all.len() == known {
        return input;
    }
    let schema = below.schema().clone();
    match exprs::all_of(all) {
        Some(predicate) => PlanRef::new(LogicalPlan::Filter { input: below, predicate }, schema),
        None => below,
    }
}

/// Some of the columns of a plan, in this order.
pub(crate) fn pick(input: PlanRef, columns: &[u32]) -> PlanRef {
    let all = columns.len() == input.schema().len();
    if all && columns.iter().enumerate().all(|(at, column)| at as u32 == *column) {
        return input;
    }
    let fields = columns.iter().map(|at| input.schema().fields[*at as usize].clone()).collect();
    project(input, columns.iter().copied().map(Expr::Field).collect(), fields)
}

/// Columns from columns; over those of a projection below, if that computes nothing twice.
pub(crate) fn project(input: PlanRef, exprs: Vec<Expr>, fields: Vec<Field>) -> PlanRef {
    let schema = Arc::new(Schema { fields });
    if let LogicalPlan::Project { input: below, exprs: inner } = &*input
        && let Some(exprs) = exprs::merge_projections(inner, &exprs)
    {
        return PlanRef::new(LogicalPlan::Project { input: below.clone(), exprs }, schema);
    }
    PlanRef::new(LogicalPlan::Project { input, exprs }, schema)
}

/// A join, with the columns it gives.
pub(crate) fn join(
    (left, right): (PlanRef, PlanRef),
    kind: JoinType,
    on: Vec<(Expr, Expr, bool)>,
    condition: Option<Expr>,
    hint: Option<JoinStrategy>,
) -> PlanRef {
    let schema = Arc::new(join_schema(left.schema(), right.schema(), kind));
    PlanRef::new(LogicalPlan::Join { left, right, kind, on, condition, hint }, schema)
}

fn join_schema(left: &Schema, right: &Schema, kind: JoinKind) -> Schema {
    let (left_null, right_null) = match kind {
        JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::NullAwareAnti => return left.clone(),
        JoinKind::Inner | JoinKind::Cross => (false, false),
        JoinKind::Left => (false, true),
        JoinKind::Right => (true, false),
        JoinKind::Full => (true, true),
    };
    let side = |schema: &Schema, null: bool| -> Vec<Field> {
        let field = |field: &Field| Field { nullable: field.nullable || null, ..field.clone() };
        schema.fields.iter().map(field).collect()
    };
    let mut fields = side(left, left_null);
    fields.extend(side(right, right_null));
    Schema { fields }
}
