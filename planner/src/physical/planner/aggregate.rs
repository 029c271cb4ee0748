//! Grouping: `DISTINCT`, `GROUP BY` and its grouping sets.
//!
//! ```text
//! rows ─> Partial ─> Exchange(hash of the keys) ─> Final     states move, not rows
//! rows ─────────────────────────────────────────> Single     equal keys are together already
//! rows ─> Exchange(hash of the keys) ───────────> Single     each different value once
//! ```
//!
//! The columns of a partial aggregate, and of the exchange behind it, are the keys and then the states of the
//! aggregates ([`state_types`]).

mod calls;
mod sets;

use std::sync::Arc;

use super::built::{Built, Spread};
use super::{Planner, compile};
use crate::error::PlanError;
use crate::expr::{AggregateFn, Expr};
use crate::logical::{Field, GroupingSets, PlanRef, Schema};
use crate::optimizer::exprs;
use crate::physical::plan::{Aggregate, AggregateCall, AggregateMode, Op};
use crate::physical::program::Program;
use crate::physical::states::state_types;

use calls::{Calls, split};

impl Planner<'_> {
    pub(super) fn aggregate(
        &mut self,
        plan: &PlanRef,
        input: &PlanRef,
        keys: &[Expr],
        aggregates: &[Expr],
        sets: &GroupingSets,
    ) -> Result<Built, PlanError> {
        let rows = self.rows(plan);
        let input = self.lower(input)?;
        let keys: Vec<Expr> = keys.iter().map(|key| exprs::unalias(key).clone()).collect();
        let grouping = sets::Grouping::new(&keys, sets);
        let split = split(&keys, aggregates, &grouping);
        let grouped = match &grouping {
            sets::Grouping::One => self.grouped(&input, &keys, &split.calls, rows)?,
            sets::Grouping::Many(sets) => {
                let (expanded, keys, calls) = self.expand(&input, &keys, sets, &split.calls)?;
                self.grouped(&expanded, &keys, &calls, rows)?
            }
        };
        let outputs: Vec<Expr> =
            (0..keys.len() as u32).map(Expr::Field).chain(split.outputs).collect();
        self.project_columns(&grouped, &outputs, plan.schema())
    }

    /// Each different row once, or the first row for each value of `on`.
    pub(super) fn distinct(
        &mut self,
        plan: &PlanRef,
        input: &PlanRef,
        on: &[Expr],
    ) -> Result<Built, PlanError> {
        let rows = self.rows(plan);
        let input = self.lower(input)?;
        if on.is_empty() {
            return self.distinct_rows(&input, rows);
        }
        let keys: Vec<Expr> = on.iter().map(|key| exprs::unalias(key).clone()).collect();
        let mut calls = Vec::new();
        let mut outputs = Vec::new();
        for column in (0..input.schema.len() as u32).map(Expr::Field) {
            let place = keys.iter().position(|key| *key == column).unwrap_or_else(|| {
                calls.push(first(column));
                keys.len() + calls.len() - 1
            });
            outputs.push(Expr::Field(place as u32));
        }
        let grouped = self.grouped(&input, &keys, &calls, rows)?;
        self.project_columns(&grouped, &outputs, &input.schema)
    }

    /// Each different row once.
    pub(super) fn distinct_rows(
        &mut self,
        input: &Built,
        rows: Option<u64>,
    ) -> Result<Built, PlanError> {
        let keys: Vec<Expr> = (0..input.schema.len() as u32).map(Expr::Field).collect();
        let grouped = self.grouped(input, &keys, &[], rows)?;
        self.named(grouped, &input.schema)
    }

    /// Groups by `keys`: gives the keys, then the results of `calls`.
    fn grouped(
        &mut self,
        input: &Built,
        keys: &[Expr],
        calls: &[Expr],
        rows: Option<u64>,
    ) -> Result<Built, PlanError> {
        let calls = Calls::new(keys, calls, &input.schema)?;
        if input.spread.has_together(keys) {
            let spread = keys_spread(&input.spread, keys);
            return self.single(input, keys.len(), &calls, spread, rows);
        }
        if calls.functions.iter().any(|call| call.distinct) {
            return self.exchanged_rows(input, keys, &calls, rows);
        }
        let partial = self.partial(input, keys, &calls, rows)?;
        let fields: Vec<Expr> = (0..keys.len() as u32).map(Expr::Field).collect();
        let partitions = self.partitions(&[&partial]);
        let exchanged = self.hash(&partial, &fields, partitions)?;
        let schema = calls.schema(&partial.schema.fields[..keys.len()]);
        let op = self.op(&exchanged, AggregateMode::Final, keys.len(), Program::default(), &calls);
        let id = self.operators.push(op, &schema, rows);
        Ok(Built { id, schema: Arc::new(schema), rows, width: None, ..exchanged })
    }

    fn partial(
        &mut self,
        input: &Built,
        keys: &[Expr],
        calls: &Calls,
        groups: Option<u64>,
    ) -> Result<Built, PlanError> {
        let program = compile(&calls.columns, &input.schema)?;
        let mut fields = column_fields(&program, keys, &input.schema);
        fields.extend(calls.functions.iter().flat_map(state_types).map(|state| Field {
            qualifier: None,
            name: state.name().as_str().into(),
            data_type: state.data_type().clone(),
            nullable: true,
        }));
        let schema = Schema { fields };
        let op = self.op(input, AggregateMode::Partial, keys.len(), program, calls);
        let most = groups.map(|groups| groups.saturating_mul(u64::from(input.spread.partitions)));
        let rows = most.zip(input.rows).map(|(most, rows)| most.min(rows)).or(input.rows);
        let id = self.operators.push(op, &schema, rows);
        // A function without keys gives one row a partition, and few partitions need no cautious estimate.
        let scanned = if keys.is_empty() { rows } else { input.scanned };
        Ok(Built {
            id,
            schema: Arc::new(schema),
            spread: Spread::of(input.spread.partitions),
            rows,
            width: None,
            scanned,
        })
    }

    /// Moves the rows, with the columns that are needed alone, and aggregates them whole.
    fn exchanged_rows(
        &mut self,
        input: &Built,
        keys: &[Expr],
        calls: &Calls,
        rows: Option<u64>,
    ) -> Result<Built, PlanError> {
        let program = compile(&calls.columns, &input.schema)?;
        let names = Schema { fields: column_fields(&program, &calls.columns, &input.schema) };
        let narrow = self.project_columns(input, &calls.columns, &names)?;
        let fields: Vec<Expr> = (0..calls.columns.len() as u32).map(Expr::Field).collect();
        let partitions = self.partitions(&[&narrow]);
        let moved = self.hash(&narrow, &fields[..keys.len()], partitions)?;
        let calls = Calls { columns: fields, ..calls.clone() };
        let spread = moved.spread.clone();
        self.single(&moved, keys.len(), &calls, spread, rows)
    }

    fn single(
        &mut self,
        input: &Built,
        keys: usize,
        calls: &Calls,
        spread: Spread,
        rows: Option<u64>,
    ) -> Result<Built, PlanError> {
        let program = compile(&calls.columns, &input.schema)?;
        let keys_given = column_fields(&program, &calls.columns[..keys], &input.schema);
        let schema = calls.schema(&keys_given);
        let op = self.op(input, AggregateMode::Single, keys, program, calls);
        let id = self.operators.push(op, &schema, rows);
        Ok(Built {
            id,
            schema: Arc::new(schema),
            spread,
            rows,
            width: None,
            scanned: input.scanned,
        })
    }

    fn op(
        &self,
        input: &Built,
        mode: AggregateMode,
        keys: usize,
        columns: Program,
        calls: &Calls,
    ) -> Op {
        let functions: Vec<AggregateCall> = calls.functions.clone();
        Op::Aggregate(Aggregate { input: input.id, mode, keys: keys as u32, columns, functions })
    }
}

fn first(column: Expr) -> Expr {
    Expr::Aggregate {
        function: AggregateFn::First,
        args: vec![column.into()],
        distinct: false,
        filter: None,
    }
}

/// How groups are spread if rows that are equal in `keys` were together already.
fn keys_spread(spread: &Spread, keys: &[Expr]) -> Spread {
    spread.seen(|key| keys.iter().position(|known| known == key).map(|at| Expr::Field(at as u32)))
}

/// Columns that are computed; those that are columns of the input keep their names.
fn column_fields(program: &Program, columns: &[Expr], input: &Schema) -> Vec<Field> {
    let field = |(expr, root): (&Expr, &crate::physical::ExprId)| {
        let known = exprs::as_field(expr).and_then(|index| input.fields.get(index as usize));
        let node = program.get(*root)?;
        Some(Field {
            qualifier: None,
            name: known.map_or_else(|| expr.to_sql(input).into(), |known| known.name.clone()),
            data_type: node.data_type.clone(),
            nullable: node.nullable,
        })
    };
    columns.iter().zip(&program.roots).filter_map(field).collect()
}
