//! Plans by position for the tests of rules, without the builder.

use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;

use super::{exprs, plans};
use crate::expr::{AggregateFn, BinaryOp, Expr, Scalar, SortKey};
use crate::logical::{
    ColumnStatistics, Field, GroupingSets, JoinType, LogicalPlan, PlanRef, Schema, Source, Table,
};
use crate::types::infer;

/// The source of all tables, so that tables with equal numbers are equal.
static NOTHING: LazyLock<Source> = LazyLock::new(Source::default);

/// A table of integers in 4 partitions.
pub(crate) fn table(id: u64, name: &str, rows: u64, columns: &[&str]) -> PlanRef {
    let statistics = columns.iter().map(|_| ColumnStatistics::default()).collect();
    table_with(id, name, rows, columns, statistics)
}

pub(crate) fn table_with(
    id: u64,
    name: &str,
    rows: u64,
    columns: &[&str],
    statistics: Vec<ColumnStatistics>,
) -> PlanRef {
    let fields: Vec<_> =
        columns.iter().map(|name| arrow_schema::Field::new(*name, DataType::Int64, true)).collect();
    let schema = Arc::new(arrow_schema::Schema::new(fields));
    let table = Table {
        source: NOTHING.clone(),
        id,
        name: name.into(),
        rows: Some(rows),
        bytes: None,
        partitions: if rows > 1000 { 4 } else { 1 },
        takes_predicates: true,
        columns: statistics,
        schema: schema.clone(),
    };
    PlanRef::new(LogicalPlan::Scan(Arc::new(table)), Arc::new(Schema::from_arrow(&schema, None)))
}

/// A column of which so many different values are known.
pub(crate) fn distinct(values: u64) -> ColumnStatistics {
    ColumnStatistics { distinct: Some(values), ..ColumnStatistics::default() }
}

pub(crate) fn col(index: u32) -> Expr {
    Expr::Field(index)
}

pub(crate) fn lit(value: impl Into<Scalar>) -> Expr {
    Expr::Literal(value.into())
}

pub(crate) fn named(expr: Expr, name: &str) -> Expr {
    Expr::Alias { expr: expr.into(), name: name.into() }
}

pub(crate) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: left.into(), right: right.into() }
}

pub(crate) fn eq(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Eq, left, right)
}

pub(crate) fn gt(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Gt, left, right)
}

pub(crate) fn add(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Add, left, right)
}

pub(crate) fn and(terms: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::And(terms.into_iter().map(Into::into).collect())
}

pub(crate) fn or(terms: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::Or(terms.into_iter().map(Into::into).collect())
}

pub(crate) fn call(function: AggregateFn, arg: Expr) -> Expr {
    Expr::Aggregate { function, args: vec![arg.into()], distinct: false, filter: None }
}

pub(crate) fn filter(input: &PlanRef, predicate: Expr) -> PlanRef {
    let schema = input.schema().clone();
    PlanRef::new(LogicalPlan::Filter { input: input.clone(), predicate }, schema)
}

/// Names are those of columns, or the text of the expression.
fn field(expr: &Expr, input: &Schema) -> Field {
    let (data_type, nullable) = infer(expr, input).unwrap();
    let name = match exprs::as_field(expr) {
        Some(index) => input.fields[index as usize].name.clone(),
        None => exprs::unalias(expr).to_sql(input).into(),
    };
    let name = match expr {
        Expr::Alias { name, .. } => name.clone(),
        _ => name,
    };
    Field { qualifier: None, name, data_type, nullable }
}

pub(crate) fn project(input: &PlanRef, exprs: Vec<Expr>) -> PlanRef {
    let fields = exprs.iter().map(|expr| field(expr, input.schema())).collect();
    let node = LogicalPlan::Project { input: input.clone(), exprs };
    PlanRef::new(node, Arc::new(Schema { fields }))
}

pub(crate) fn aggregate(input: &PlanRef, keys: Vec<Expr>, aggregates: Vec<Expr>) -> PlanRef {
    aggregate_sets(input, keys, aggregates, GroupingSets::Plain)
}

pub(crate) fn aggregate_sets(
    input: &PlanRef,
    keys: Vec<Expr>,
    aggregates: Vec<Expr>,
    sets: GroupingSets,
) -> PlanRef {
    let fields = keys.iter().chain(&aggregates).map(|expr| field(expr, input.schema())).collect();
    let node = LogicalPlan::Aggregate { input: input.clone(), keys, aggregates, sets };
    PlanRef::new(node, Arc::new(Schema { fields }))
}

/// A join on equal columns of both sides.
pub(crate) fn join(
    left: &PlanRef,
    right: &PlanRef,
    kind: JoinType,
    on: &[(u32, u32)],
    condition: Option<Expr>,
) -> PlanRef {
    let on = on.iter().map(|(l, r)| (col(*l), col(*r), false)).collect();
    plans::join((left.clone(), right.clone()), kind, on, condition, None)
}

pub(crate) fn key(index: u32, descending: bool) -> SortKey {
    SortKey { expr: col(index).into(), descending, nulls_first: !descending }
}

pub(crate) fn sort(input: &PlanRef, keys: Vec<SortKey>, fetch: Option<u64>) -> PlanRef {
    let schema = input.schema().clone();
    PlanRef::new(LogicalPlan::Sort { input: input.clone(), keys, fetch }, schema)
}

pub(crate) fn limit(input: &PlanRef, skip: u64, fetch: Option<u64>) -> PlanRef {
    let schema = input.schema().clone();
    PlanRef::new(LogicalPlan::Limit { input: input.clone(), skip, fetch }, schema)
}

pub(crate) fn union(inputs: Vec<PlanRef>) -> PlanRef {
    let schema = inputs[0].schema().clone();
    PlanRef::new(LogicalPlan::Union { inputs }, schema)
}

/// Runs a test on a stack of 2 MB.
pub(crate) fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}

/// The lines of a plan without estimates.
pub(crate) fn shown(plan: &PlanRef) -> Vec<String> {
    let text = crate::physical::explain_logical(plan);
    text.lines().map(|line| line.split("  (~").next().unwrap_or(line).to_owned()).collect()
}
