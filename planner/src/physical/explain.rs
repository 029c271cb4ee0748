//! Plans for people: one line an operator, each above what it reads, with the rows it is thought to give. A chain
//! stays at its depth and only a fork indents, so that plans of many thousand levels stay readable.

mod logical;
mod operator;

use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

use super::plan::{Distribution, Op, OpId, PhysicalPlan};
use super::stages::{StageInput, StagePiece};
use crate::logical::Table;

pub use logical::explain_logical;

/// Inputs that are shown of longer lists.
const INPUTS_SHOWN: usize = 8;
/// Levels after which nothing is indented further.
const LEVELS_MAX: usize = 40;

/// Prints a physical plan, the result first. An exchange with several readers is shown for the first and referred to
/// by its number after that.
#[must_use]
pub fn explain_physical(plan: &PhysicalPlan, tables: &[Arc<Table>]) -> String {
    let mut out = String::new();
    if let Some(root) = plan.root() {
        tree(&mut out, plan, root, 0, tables);
    }
    out
}

/// Prints the stages of a plan, the result first.
#[must_use]
pub fn explain_stages(pieces: &[StagePiece], tables: &[Arc<Table>]) -> String {
    let mut out = String::new();
    for (number, piece) in pieces.iter().enumerate().rev() {
        let tasks = count(piece.partitions, "task");
        // Writing to a String cannot fail.
        let _ = match &piece.output {
            Some(to) => {
                let schema = piece.plan.operators.last().map(|operator| operator.schema.clone());
                let to = operator::distribution(to, &schema.unwrap_or_else(empty));
                writeln!(out, "stage {number}: {tasks}, writes {to}")
            }
            None => writeln!(out, "stage {number}: {tasks}, result"),
        };
        if let Some(root) = piece.plan.root() {
            let mut text = String::new();
            tree(&mut text, &piece.plan, root, 1, tables);
            for line in text.lines() {
                let _ = writeln!(out, "{}", with_stage(line, &piece.inputs));
            }
        }
    }
    out
}

/// Inputs say which stage they are of.
fn with_stage(line: &str, inputs: &[StageInput]) -> String {
    let Some((before, rest)) = line.split_once("Input #") else { return line.to_owned() };
    let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    match number.parse().ok().and_then(|index: usize| inputs.get(index)) {
        Some(input) => format!("{before}<- stage {} {rest}", input.stage),
        None => line.to_owned(),
    }
}

fn empty() -> arrow_schema::SchemaRef {
    Arc::new(arrow_schema::Schema::empty())
}

fn tree(out: &mut String, plan: &PhysicalPlan, root: OpId, level: usize, tables: &[Arc<Table>]) {
    let mut seen = HashSet::new();
    let mut stack = vec![Line::Operator(root, level)];
    while let Some(line) = stack.pop() {
        let (id, level) = match line {
            Line::Operator(id, level) => (id, level),
            Line::More(inputs, level) => {
                let _ = writeln!(out, "{}... and {inputs} more", indent(level));
                continue;
            }
        };
        let Some(found) = plan.get(id) else { continue };
        let mut text = operator::describe(plan, id, tables);
        if matches!(found.op, Op::Exchange { .. }) {
            let _ = write!(text, " #{}", id.0);
        }
        if let Some(rows) = found.rows {
            let _ = write!(text, "  (~{} rows)", short(rows));
        }
        let again = !seen.insert(id) && !found.op.inputs().is_empty();
        let note = if again { "  (as above)" } else { "" };
        let _ = writeln!(out, "{}{text}{note}", indent(level));
        if again {
            continue;
        }
        let inputs = found.op.inputs();
        let below = if inputs.len() > 1 { level + 1 } else { level };
        if inputs.len() > INPUTS_SHOWN {
            stack.push(Line::More(inputs.len() - INPUTS_SHOWN, below));
        }
        let shown = inputs.iter().take(INPUTS_SHOWN).rev();
        stack.extend(shown.map(|input| Line::Operator(*input, below)));
    }
}

enum Line {
    Operator(OpId, usize),
    More(usize, usize),
}

fn indent(level: usize) -> String {
    "  ".repeat(level.min(LEVELS_MAX))
}

fn count(n: u32, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// A number with three digits or so.
fn short(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{}k", n / 1000),
        10_000_000..10_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
}
