//! Logical plans.

use std::collections::HashSet;
use std::fmt::Write;

use super::operator::{joined, kind};
use super::{INPUTS_SHOWN, indent, short};
use crate::expr::{Expr, SortKey};
use crate::logical::{GroupingSets, LogicalPlan, PlanRef, Schema, SetOperation};
use crate::physical::statistics::Statistics;

/// Prints a logical plan, the result first. A plan that is read twice is shown once.
#[must_use]
pub fn explain_logical(plan: &PlanRef) -> String {
    let mut out = String::new();
    let mut statistics = Statistics::default();
    let mut seen = HashSet::new();
    let mut stack = vec![(Ok(plan), 0)];
    while let Some((line, level)) = stack.pop() {
        let plan: &PlanRef = match line {
            Ok(plan) => plan,
            Err(inputs) => {
                let inputs: usize = inputs;
                // Writing to a String cannot fail.
                let _ = writeln!(out, "{}... and {inputs} more", indent(level));
                continue;
            }
        };
        let again = !seen.insert(plan.address()) && !plan.inputs().is_empty();
        let rows = statistics.of(plan).rows;
        let rows =
            rows.map_or_else(String::new, |rows| format!("  (~{} rows)", short(rows as u64)));
        let note = if again { "  (as above)" } else { "" };
        let _ = writeln!(out, "{}{}{rows}{note}", indent(level), describe(plan));
        if again {
            continue;
        }
        let inputs = plan.inputs();
        let below = if inputs.len() > 1 { level + 1 } else { level };
        if inputs.len() > INPUTS_SHOWN {
            stack.push((Err(inputs.len() - INPUTS_SHOWN), below));
        }
        stack.extend(inputs.into_iter().take(INPUTS_SHOWN).rev().map(|input| (Ok(input), below)));
    }
    out
}

fn describe(plan: &PlanRef) -> String {
    let input = || plan.inputs().first().map(|input| input.schema().clone()).unwrap_or_default();
    match &**plan {
        LogicalPlan::Scan(table) => format!("Scan {}", table.name),
        LogicalPlan::OneRow => "OneRow".to_owned(),
        LogicalPlan::Project { exprs, .. } => {
            format!("Project [{}]", named(exprs, &input(), plan.schema()))
        }
        LogicalPlan::Filter { predicate, .. } => format!("Filter {}", predicate.to_sql(&input())),
        LogicalPlan::Aggregate { keys, aggregates, sets, .. } => {
            let given = &plan.schema().fields;
            let outputs = Schema { fields: given.get(keys.len()..).unwrap_or(&[]).to_vec() };
            let sets = match sets {
                GroupingSets::Plain => "",
                GroupingSets::Rollup => "rollup ",
                GroupingSets::Cube => "cube ",
                GroupingSets::Sets(_) => "sets ",
            };
            let (keys, calls) = (list(keys, &input()), named(aggregates, &input(), &outputs));
            format!("Aggregate by {sets}[{keys}] [{calls}]")
        }
        LogicalPlan::Join { left, right, kind: join, on, condition, hint } => {
            let (left, right) = (left.schema(), right.schema());
            let keys: Vec<String> = on
                .iter()
                .map(|(a, b, null_safe)| {
                    let equal = if *null_safe { "<=>" } else { "=" };
                    format!("{} {equal} {}", a.to_sql(left), b.to_sql(right))
                })
                .collect();
            let fields = left.fields.iter().chain(&right.fields).cloned().collect();
            let both = Schema { fields };
            let mut out = format!("Join {}", kind(*join));
            if !keys.is_empty() {
                out += &format!(" on {}", keys.join(" AND "));
            }
            if let Some(condition) = condition {
                out += &format!(" if {}", condition.to_sql(&both));
            }
            hint.map_or_else(|| out.clone(), |hint| format!("{out} (asked for: {hint:?})"))
        }
        LogicalPlan::Sort { keys, fetch, .. } => {
            let first = fetch.map_or_else(String::new, |rows| format!(", first {rows}"));
            format!("Sort [{}]{first}", order(keys, &input()))
        }
        LogicalPlan::Limit { skip, fetch, .. } => {
            let fetch = fetch.map_or_else(|| "all".to_owned(), |fetch| fetch.to_string());
            format!("Limit {fetch}, skip {skip}")
        }
        LogicalPlan::Distinct { on, .. } if on.is_empty() => "Distinct".to_owned(),
        LogicalPlan::Distinct { on, .. } => format!("Distinct on [{}]", list(on, &input())),
        LogicalPlan::Union { inputs } => format!("Union of {}", inputs.len()),
        LogicalPlan::SetOperation { operation, all, .. } => {
            let all = if *all { " all" } else { "" };
            match operation {
                SetOperation::Intersect => format!("Intersect{all}"),
                SetOperation::Except => format!("Except{all}"),
            }
        }
        LogicalPlan::Window { exprs, .. } => format!("Window [{}]", list(exprs, &input())),
        LogicalPlan::Explode { column, outer, .. } => {
            let name = input().fields.get(*column).map_or_else(|| "?".into(), |f| f.name.clone());
            format!("Explode {name}{}", if *outer { " (outer)" } else { "" })
        }
        LogicalPlan::Sample { fraction, seed, .. } => format!("Sample {fraction} (seed {seed})"),
        LogicalPlan::Repartition { by, range, partitions, .. } => {
            let how = if *range { "range " } else { "" };
            let to = partitions.map_or_else(String::new, |partitions| format!(" to {partitions}"));
            format!("Repartition {how}[{}]{to}", list(by, &input()))
        }
        LogicalPlan::Alias { name, .. } => format!("Alias {name}"),
    }
}

fn order(keys: &[SortKey], input: &Schema) -> String {
    let key = |key: &SortKey| {
        format!("{}{}", key.expr.to_sql(input), if key.descending { " desc" } else { "" })
    };
    joined(keys.iter().map(key))
}

fn list(exprs: &[Expr], input: &Schema) -> String {
    joined(exprs.iter().map(|expr| expr.to_sql(input)))
}

/// Expressions, each with the name it is given under if that is another.
fn named(exprs: &[Expr], input: &Schema, given: &Schema) -> String {
    joined(exprs.iter().enumerate().map(|(at, expr)| {
        let text = crate::optimizer::exprs::unalias(expr).to_sql(input);
        match given.fields.get(at) {
            Some(field) if *field.name != *text => format!("{text} AS {}", field.name),
            _ => text,
        }
    }))
}
