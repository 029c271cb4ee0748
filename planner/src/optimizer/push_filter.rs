//! Conditions moved towards the rows they are of: through projections, sorts and unions, below groupings and windows
//! by their keys, into the sides of joins, down to scans.
//!
//! Never below what counts rows (limits, first rows of an order, samples), nor past expressions whose value depends
//! on where they are evaluated.

mod join;

use std::collections::{BTreeSet, HashMap};

use super::{exprs, plans};
use crate::expr::{Expr, deeper};
use crate::logical::{GroupingSets, LogicalPlan, PlanRef};

/// Conditions do not grow beyond so many nodes by taking in what a projection computes.
const NODES_MAX: usize = 32;
/// More conditions than these are not taken along: programs that add one and a column in turns, thousands of times,
/// would have each of them moved thousands of times.
const TERMS_MAX: usize = 128;

pub(super) fn push_filters(plan: &PlanRef) -> PlanRef {
    Push::default().push(plan, Vec::new())
}

/// Plans with conditions on their way down.
#[derive(Default)]
struct Push {
    /// What plans without conditions on them have become, by address. The plan is kept, so that its address stays
    /// its own.
    done: HashMap<usize, (PlanRef, PlanRef)>,
}

impl Push {
    /// The plan with `terms` over its columns put where they cost least.
    fn push(&mut self, plan: &PlanRef, terms: Vec<Expr>) -> PlanRef {
        if !terms.is_empty() {
            return deeper(|| self.node(plan, terms));
        }
        if let Some((_, done)) = self.done.get(&plan.address()) {
            return done.clone();
        }
        let new = deeper(|| self.node(plan, terms));
        self.done.insert(plan.address(), (plan.clone(), new.clone()));
        new
    }

    fn node(&mut self, plan: &PlanRef, terms: Vec<Expr>) -> PlanRef {
        match &**plan {
            LogicalPlan::Filter { input, predicate } if exprs::is_volatile(predicate) => {
                let input = self.push(input, Vec::new());
                plans::filter(plans::with_inputs(plan, vec![input]), terms)
            }
            LogicalPlan::Filter { .. } => self.filter(plan, terms),
            _ if terms.len() > TERMS_MAX => {
                let new = self.push(plan, Vec::new());
                plans::filter(new, terms)
            }
            LogicalPlan::Project { input, exprs } => {
                let (down, stay) = if exprs.iter().any(exprs::is_volatile) {
                    (Vec::new(), terms)
                } else {
                    split(terms, |term| through(&term, exprs))
                };
                let input = self.push(input, down);
                plans::filter(plans::with_inputs(plan, vec![input]), stay)
            }
            LogicalPlan::Sort { input, fetch: None, .. }
            | LogicalPlan::Repartition { input, .. }
            | LogicalPlan::Alias { input, .. } => {
                let (down, stay) = split(terms, steady);
                let input = self.push(input, down);
                plans::filter(plans::with_inputs(plan, vec![input]), stay)
            }
            LogicalPlan::Distinct { input, on } => {
                let on: BTreeSet<u32> = on.iter().filter_map(exprs::as_field).collect();
                let all = matches!(&**plan, LogicalPlan::Distinct { on, .. } if on.is_empty());
                let (down, stay) = split(terms, |term| {
                    let of_keys = all || exprs::all_fields(&term, |field| on.contains(&field));
                    if of_keys { steady(term) } else { Err(term) }
                });
                let input = self.push(input, down);
                plans::filter(plans::with_inputs(plan, vec![input]), stay)
            }
            LogicalPlan::Union { .. } | LogicalPlan::SetOperation { .. } => {
                let (down, stay) = split(terms, steady);
                let inputs =
                    plan.inputs().into_iter().map(|input| self.push(input, down.clone())).collect();
                plans::filter(plans::with_inputs(plan, inputs), stay)
            }
            LogicalPlan::Aggregate { input, keys, sets: GroupingSets::Plain, .. }
                if !keys.is_empty() =>
            {
                let columns = keys.len() as u32;
                let (down, stay) = split(terms, |term| {
                    let of_keys = exprs::all_fields(&term, |field| field < columns);
                    if of_keys { through(&term, keys) } else { Err(term) }
                });
                let input = self.push(input, down);
                plans::filter(plans::with_inputs(plan, vec![input]), stay)
            }
            LogicalPlan::Window { input, exprs } => {
                let keys = partition_keys(exprs);
                let (down, stay) = split(terms, |term| {
                    let of_keys = exprs::all_fields(&term, |field| keys.contains(&field));
                    if of_keys { steady(term) } else { Err(term) }
                });
                let input = self.push(input, down);
                plans::filter(plans::with_inputs(plan, vec![input]), stay)
            }
            LogicalPlan::Explode { input, column, position, .. } => {
                let (first, width) = (*column as u32, 1 + u32::from(position.is_some()));
                let (down, stay) = split(terms, |term| {
                    let other =
                        exprs::all_fields(&term, |field| field < first || field >= first + width);
                    let before = |field| if field < first { field } else { field + 1 - width };
                    if other { steady(exprs::remap(&term, before)) } else { Err(term) }
                });
                let input = self.push(input, down);
                plans::filter(plans::with_inputs(plan, vec![input]), stay)
            }
            LogicalPlan::Join { .. } => self.join(plan, terms),
            LogicalPlan::Scan(_)
            | LogicalPlan::OneRow
            | LogicalPlan::Aggregate { .. }
            | LogicalPlan::Sort { .. }
            | LogicalPlan::Limit { .. }
            | LogicalPlan::Sample { .. } => {
                let inputs =
                    plan.inputs().into_iter().map(|input| self.push(input, Vec::new())).collect();
                plans::filter(plans::with_inputs(plan, inputs), terms)
            }
        }
    }

    /// Filters one above the other, with more conditions on them.
    fn filter(&mut self, plan: &PlanRef, terms: Vec<Expr>) -> PlanRef {
        let mut chain = Vec::new();
        let mut input = plan;
        while let LogicalPlan::Filter { input: below, predicate } = &**input {
            if exprs::is_volatile(predicate) {
                break;
            }
            chain.push(predicate);
            input = below;
        }
        // The innermost conditions first: they may keep the others from rows on which these fail.
        let own = chain.iter().rev().flat_map(|predicate| exprs::conjuncts(predicate));
        let mut all = Vec::new();
        own.chain(terms).for_each(|term| exprs::add_new(&mut all, term));
        let new = self.push(input, all);
        match (&*new, &**plan) {
            (
                LogicalPlan::Filter { input: below, predicate: kept },
                LogicalPlan::Filter { input, predicate },
            ) if below.address() == input.address() && kept == predicate => plan.clone(),
            _ => new,
        }
    }
}

/// Terms that go on, as what they are further down, and terms that stay.
fn split(
    terms: Vec<Expr>,
    mut down: impl FnMut(Expr) -> Result<Expr, Expr>,
) -> (Vec<Expr>, Vec<Expr>) {
    let (mut goes, mut stays) = (Vec::new(), Vec::new());
    for term in terms {
        match down(term) {
            Ok(term) => goes.push(term),
            Err(term) => stays.push(term),
        }
    }
    (goes, stays)
}

/// A term that may be evaluated elsewhere.
fn steady(term: Expr) -> Result<Expr, Expr> {
    if exprs::is_volatile(&term) { Err(term) } else { Ok(term) }
}

/// The term over what `columns` are computed from.
fn through(term: &Expr, columns: &[Expr]) -> Result<Expr, Expr> {
    if exprs::is_volatile(term) {
        return Err(term.clone());
    }
    let plain = |field: u32| {
        columns.get(field as usize).is_some_and(|column| exprs::unalias(column).is_leaf())
    };
    let below = exprs::substitute(term, columns);
    if exprs::all_fields(term, plain) {
        return Ok(below);
    }
    let costly = exprs::has_udf(&below) || exprs::is_volatile(&below);
    if costly || exprs::size(&below, NODES_MAX) >= NODES_MAX {
        return Err(term.clone());
    }
    Ok(below)
}

/// Columns that all windows are partitioned by.
fn partition_keys(exprs: &[Expr]) -> BTreeSet<u32> {
    let keys = |expr: &Expr| -> BTreeSet<u32> {
        match exprs::unalias(expr) {
            Expr::Window { window, .. } => {
                window.partition_by.iter().filter_map(|key| exprs::as_field(key)).collect()
            }
            _ => BTreeSet::new(),
        }
    };
    exprs.iter().map(keys).reduce(|all, keys| &all & &keys).unwrap_or_default()
}

#[cfg(test)]
mod tests;
