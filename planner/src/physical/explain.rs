//! Plans for people: one line an operator, each above what it reads, with the rows it is thought to give. A chain
//! stays at its depth and only a fork indents, so that plans of many thousand levels stay readable.

mod logical;
mod operator;

use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

use super::plan::{Distribution, Op, OpId, PhysicalPlan};
use super::stages::StagePiece;
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
    for line in plan.root().map_or_else(Vec::new, |root| tree(plan, root, tables)) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", line.text);
    }
    out
}

/// Prints the stages of a plan, the result first.
#[must_use]
pub fn explain_stages(pieces: &[StagePiece], tables: &[Arc<Table>]) -> String {
    let mut out = String::new();
    for (number, piece) in pieces.iter().enumerate().rev() {
        let explained = explain_stage(piece, tables);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "stage {number}: {}", explained.title);
        for line in explained.lines {
            let _ = writeln!(out, "  {}", line.text);
        }
    }
    out
}

/// A stage for people.
pub struct StageText {
    /// How many tasks it has, and what they write.
    pub title: String,
    /// Its operators, the one that gives its rows first.
    pub lines: Vec<OperatorText>,
}

/// A line of a plan.
pub struct OperatorText {
    /// Its operator; none of a line that stands for several, or for one that has a line before.
    pub operator: Option<OpId>,
    /// Indented by its depth.
    pub text: String,
}

/// The title and the operators of a stage. Inputs are named by the places of the pieces they are of.
#[must_use]
pub fn explain_stage(piece: &StagePiece, tables: &[Arc<Table>]) -> StageText {
    let tasks = count(piece.partitions, "task");
    let title = match &piece.output {
        Some(to) => {
            let schema = piece.plan.operators.last().map(|operator| operator.schema.clone());
            let to = operator::distribution(to, &schema.unwrap_or_else(empty));
            format!("{tasks}, writes {to}")
        }
        None => format!("{tasks}, result"),
    };
    let mut lines = piece.plan.root().map_or_else(Vec::new, |root| tree(&piece.plan, root, tables));
    for line in &mut lines {
        line.text = with_stage(&line.text, &piece.inputs);
    }
    StageText { title, lines }
}

/// Inputs say which stage they are of.
fn with_stage(line: &str, inputs: &[usize]) -> String {
    let Some((before, rest)) = line.split_once("Input #") else { return line.to_owned() };
    let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    match number.parse().ok().and_then(|index: usize| inputs.get(index)) {
        Some(stage) => format!("{before}<- stage {stage} {rest}"),
        None => line.to_owned(),
    }
}

fn empty() -> arrow_schema::SchemaRef {
    Arc::new(arrow_schema::Schema::empty())
}

fn tree(plan: &PhysicalPlan, root: OpId, tables: &[Arc<Table>]) -> Vec<OperatorText> {
    let mut lines = Vec::new();
    let mut seen = HashSet::new();
    let mut stack = vec![Line::Operator(root, 0)];
    while let Some(line) = stack.pop() {
        let (id, level) = match line {
            Line::Operator(id, level) => (id, level),
            Line::More(inputs, level) => {
                let text = format!("{}... and {inputs} more", indent(level));
                lines.push(OperatorText { operator: None, text });
                continue;
            }
        };
        let Some(found) = plan.get(id) else { continue };
        let mut text = indent(level) + &operator::describe(plan, id, tables);
        if matches!(found.op, Op::Exchange { .. }) {
            let _ = write!(text, " #{}", id.0);
        }
        if let Some(rows) = found.rows {
            let _ = write!(text, "  (~{} rows)", short(rows));
        }
        let inputs = found.op.inputs();
        let first = seen.insert(id);
        let again = !first && !inputs.is_empty();
        if again {
            text += "  (as above)";
        }
        lines.push(OperatorText { operator: first.then_some(id), text });
        if again {
            continue;
        }
        let below = if inputs.len() > 1 { level + 1 } else { level };
        if inputs.len() > INPUTS_SHOWN {
            stack.push(Line::More(inputs.len() - INPUTS_SHOWN, below));
        }
        let shown = inputs.iter().take(INPUTS_SHOWN).rev();
        stack.extend(shown.map(|input| Line::Operator(*input, below)));
    }
    lines
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
