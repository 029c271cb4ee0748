//! One operator as one line.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::Distribution;
use crate::expr::{Expr, ExprRef};
use crate::logical::{Schema, Table};
use crate::physical::plan::{
    Aggregate, AggregateCall, AggregateMode, Join, JoinKind, JoinStrategy, Op, OpId, PhysicalPlan,
    Scan, SortOption, Window,
};
use crate::physical::program::{ExprOp, PhysicalExpr, Program};

/// Bytes of a list of expressions that are shown.
const LIST_BYTES: usize = 300;
/// Keys of a join that are shown.
const KEYS_SHOWN: usize = 8;

pub(super) fn describe(plan: &PhysicalPlan, id: OpId, tables: &[Arc<Table>]) -> String {
    let Some(operator) = plan.get(id) else { return String::new() };
    let schema_of =
        |id: OpId| plan.get(id).map_or_else(super::empty, |operator| operator.schema.clone());
    match &operator.op {
        Op::Scan(scan) => describe_scan(scan, &operator.schema, tables),
        Op::OneRow => "OneRow".to_owned(),
        Op::Input { index, partitions, broadcast } => match broadcast {
            true => format!("Input #{index} (broadcast)"),
            false => format!("Input #{index} ({})", super::count(*partitions, "partition")),
        },
        Op::Filter { input, predicate } => {
            format!("Filter {}", list(predicate, &schema_of(*input)))
        }
        Op::Project { input, columns } => {
            format!("Project [{}]", named(columns, &schema_of(*input), &operator.schema))
        }
        Op::Expand { projections, .. } => format!("Expand {} sets", projections.len()),
        Op::Aggregate(aggregate) => {
            describe_aggregate(aggregate, &schema_of(aggregate.input), &operator.schema)
        }
        Op::Join(join) => describe_join(join, &schema_of(join.left), &schema_of(join.right)),
        Op::Sort { input, keys, options, fetch } => {
            let first = fetch.map_or_else(String::new, |rows| format!(", first {rows}"));
            format!("Sort [{}]{first}", order(keys, options, &schema_of(*input)))
        }
        Op::Limit { skip, fetch, .. } => {
            let fetch = fetch.map_or_else(|| "all".to_owned(), |fetch| fetch.to_string());
            format!("Limit {fetch}, skip {skip}")
        }
        Op::Window(window) => describe_window(window, &schema_of(window.input)),
        Op::Union { inputs } => format!("Union of {}", inputs.len()),
        Op::Explode { input, column, outer, .. } => {
            let schema = schema_of(*input);
            let name = schema.fields().get(*column as usize).map_or("?", |field| field.name());
            format!("Explode {name}{}", if *outer { " (outer)" } else { "" })
        }
        Op::Sample { fraction, seed, .. } => format!("Sample {fraction} (seed {seed})"),
        Op::Exchange { input, to, .. } => {
            format!("Exchange {}", distribution(to, &schema_of(*input)))
        }
    }
}

pub(super) fn distribution(to: &Distribution, schema: &SchemaRef) -> String {
    match to {
        Distribution::Single => "single".to_owned(),
        Distribution::Broadcast => "broadcast".to_owned(),
        Distribution::Hash { keys, partitions } => {
            format!("hash [{}] to {partitions}", list(keys, schema))
        }
        Distribution::Range { keys, options, partitions } => {
            format!("range [{}] to {partitions}", order(keys, options, schema))
        }
        Distribution::RoundRobin { partitions } => format!("in turns to {partitions}"),
    }
}

fn describe_scan(scan: &Scan, schema: &SchemaRef, tables: &[Arc<Table>]) -> String {
    let name = tables.get(scan.table as usize).map_or("?", |table| &table.name);
    let columns = joined(schema.fields().iter().map(|field| field.name().clone()));
    let mut out = format!("Scan {name} [{columns}]");
    if let Some(predicate) = &scan.predicate {
        out += &format!(" where {}", list(predicate, schema));
    }
    if let Some(fetch) = scan.fetch {
        out += &format!(", first {fetch}");
    }
    out + &format!(", {}", super::count(scan.partitions, "partition"))
}

fn describe_aggregate(aggregate: &Aggregate, input: &SchemaRef, given: &SchemaRef) -> String {
    let mode = match aggregate.mode {
        AggregateMode::Partial => " (partial)",
        AggregateMode::Final => " (final)",
        AggregateMode::Single => "",
    };
    let keys = given.fields().iter().take(aggregate.keys as usize);
    let keys = joined(keys.map(|field| field.name().clone()));
    let texts = Texts::new(&aggregate.columns, input);
    let call = |call: &AggregateCall| {
        // A final one refers to columns of its partial one.
        if aggregate.mode == AggregateMode::Final {
            return call.function.name().to_owned();
        }
        let args = joined(call.args.iter().map(|root| texts.get(*root)));
        let distinct = if call.distinct { "distinct " } else { "" };
        let filter =
            call.filter.map_or_else(String::new, |root| format!(" where {}", texts.get(root)));
        format!("{}({distinct}{args}){filter}", call.function.name())
    };
    let calls = joined(aggregate.functions.iter().map(call));
    format!("Aggregate{mode} by [{keys}] [{calls}]")
}

fn describe_join(join: &Join, left: &SchemaRef, right: &SchemaRef) -> String {
    let strategy = match join.strategy {
        JoinStrategy::Hash => "Hash",
        JoinStrategy::Broadcast => "Broadcast",
        JoinStrategy::Merge => "Merge",
        JoinStrategy::NestedLoop => "NestedLoop",
    };
    let keys = (Texts::new(&join.left_keys, left), Texts::new(&join.right_keys, right));
    let key = |at: usize| {
        let equal = if join.null_safe.get(at) == Some(&true) { "<=>" } else { "=" };
        format!("{} {equal} {}", keys.0.get(at as u32), keys.1.get(at as u32))
    };
    let mut out = format!("{strategy}Join {}", kind(join.kind));
    for at in 0..join.left_keys.roots.len().min(KEYS_SHOWN) {
        out += if at == 0 { " on " } else { " AND " };
        out += &key(at);
    }
    if let Some(residual) = &join.residual {
        let fields: Vec<_> = left.fields().iter().chain(right.fields()).cloned().collect();
        let both = Arc::new(arrow_schema::Schema::new(fields));
        out += &format!(" if {}", list(residual, &both));
    }
    out
}

pub(super) fn kind(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner",
        JoinKind::Left => "left",
        JoinKind::Right => "right",
        JoinKind::Full => "full",
        JoinKind::LeftSemi => "semi",
        JoinKind::LeftAnti => "anti",
        JoinKind::NullAwareAnti => "not in",
        JoinKind::Cross => "cross",
    }
}

fn describe_window(window: &Window, input: &SchemaRef) -> String {
    let texts = Texts::new(&window.columns, input);
    let functions = joined(window.functions.iter().map(|call| call.function.name().to_owned()));
    let keys = joined((0..window.partition_keys).map(|root| texts.get(root)));
    let orders = window.partition_keys..window.partition_keys + window.order.len() as u32;
    let order = joined(orders.map(|root| texts.get(root)));
    format!("Window [{functions}] by [{keys}] order [{order}]")
}

fn order(keys: &Program, options: &[SortOption], schema: &SchemaRef) -> String {
    let texts = Texts::new(keys, schema);
    joined(options.iter().enumerate().map(|(at, option)| {
        let key = texts.get(at as u32);
        let direction = if option.descending { " desc" } else { "" };
        // NULL is the smallest value unless said otherwise.
        let nulls = match (option.descending, option.nulls_first) {
            (true, true) => " nulls first",
            (false, false) => " nulls last",
            _ => "",
        };
        format!("{key}{direction}{nulls}")
    }))
}

/// All roots.
fn list(program: &Program, schema: &SchemaRef) -> String {
    Texts::new(program, schema).roots(|_, text| text)
}

/// All roots, each with the name it is given under if that is another.
fn named(program: &Program, schema: &SchemaRef, given: &SchemaRef) -> String {
    Texts::new(program, schema).roots(|at, text| match given.fields().get(at) {
        Some(field) if *field.name() != text => format!("{text} AS {}", field.name()),
        _ => text,
    })
}

/// The texts of a program's roots.
struct Texts<'a> {
    program: &'a Program,
    exprs: Vec<ExprRef>,
    schema: Schema,
}

impl<'a> Texts<'a> {
    fn new(program: &'a Program, schema: &SchemaRef) -> Self {
        Self { program, exprs: expressions(program), schema: Schema::from_arrow(schema, None) }
    }

    fn get(&self, root: u32) -> String {
        let root = self.program.roots.get(root as usize);
        let expr = root.and_then(|root| self.exprs.get(root.0 as usize));
        expr.map_or_else(|| "?".to_owned(), |expr| expr.to_sql(&self.schema))
    }

    fn roots(&self, show: impl Fn(usize, String) -> String) -> String {
        let roots = 0..self.program.roots.len();
        joined(roots.map(|root| show(root, self.get(root as u32))))
    }
}

/// The texts with commas between, as far as there is room.
pub(super) fn joined(texts: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for (at, text) in texts.enumerate() {
        if out.len() > LIST_BYTES {
            return out + ", ...";
        }
        if at > 0 {
            out += ", ";
        }
        out += &cut(text);
    }
    out
}

fn cut(mut text: String) -> String {
    if text.len() > LIST_BYTES {
        let end = (0..=LIST_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text += "...";
    }
    text
}

/// The expressions of a program as a program would write them.
fn expressions(program: &Program) -> Vec<ExprRef> {
    let mut exprs: Vec<ExprRef> = Vec::with_capacity(program.nodes.len());
    for node in &program.nodes {
        let expr = expression(node, &exprs).into();
        exprs.push(expr);
    }
    exprs
}

fn expression(node: &PhysicalExpr, before: &[ExprRef]) -> Expr {
    let of = |id: &crate::physical::ExprId| before[id.0 as usize].clone();
    let all = |ids: &[crate::physical::ExprId]| ids.iter().map(of).collect();
    match &node.op {
        ExprOp::Column(index) => Expr::Field(*index),
        ExprOp::Literal(value) => Expr::Literal(value.clone()),
        ExprOp::Unary(op, expr) => Expr::Unary { op: *op, expr: of(expr) },
        ExprOp::Binary(op, left, right) => {
            Expr::Binary { op: *op, left: of(left), right: of(right) }
        }
        ExprOp::And(terms) => Expr::And(all(terms)),
        ExprOp::Or(terms) => Expr::Or(all(terms)),
        ExprOp::Case { branches, otherwise } => Expr::Case {
            branches: branches.iter().map(|(when, then)| (of(when), of(then))).collect(),
            otherwise: otherwise.as_ref().map(of),
        },
        ExprOp::Cast { expr, lenient } => {
            Expr::Cast { expr: of(expr), to: node.data_type.clone(), lenient: *lenient }
        }
        ExprOp::InSet { expr, set, negated, .. } => Expr::InList {
            expr: of(expr),
            list: set.iter().map(|value| Expr::Literal(value.clone()).into()).collect(),
            negated: *negated,
        },
        ExprOp::Like { expr, pattern, escape, ignore_case, negated } => Expr::Like {
            expr: of(expr),
            pattern: of(pattern),
            escape: Some(*escape).filter(|escape| *escape != '\\'),
            ignore_case: *ignore_case,
            negated: *negated,
        },
        ExprOp::Call(function, args) => Expr::Call { function: *function, args: all(args) },
        ExprOp::Udf(udf, args) => Expr::Udf { udf: udf.clone(), args: all(args) },
    }
}
