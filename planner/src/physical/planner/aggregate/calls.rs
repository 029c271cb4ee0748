//! The aggregates in the expressions of a grouping, and what they are computed from.

use super::sets::Grouping;
use crate::error::PlanError;
use crate::expr::{AggregateFn, Expr};
use crate::logical::{Field, Schema};
use crate::optimizer::exprs;
use crate::physical::plan::AggregateCall;
use crate::types::coerce_call;

/// Expressions over groups, as aggregates and what is computed from those.
pub(super) struct Split {
    /// The different aggregates, over the rows.
    pub(super) calls: Vec<Expr>,
    /// The expressions, over the keys and then the aggregates.
    pub(super) outputs: Vec<Expr>,
}

/// Takes the aggregates out of expressions.
pub(super) fn split(keys: &[Expr], aggregates: &[Expr], grouping: &Grouping) -> Split {
    let (grouping_keys, mut calls) = (grouping.keys(keys.len()), Vec::new());
    let outputs = aggregates
        .iter()
        .map(|expr| {
            exprs::rewrite(exprs::unalias(expr), &mut |expr| match expr {
                Expr::Literal(_) => None,
                Expr::Aggregate { function: AggregateFn::GroupingId, args, .. } => {
                    Some(grouping.id(keys, args))
                }
                Expr::Aggregate { .. } => {
                    let place = calls.iter().position(|call| call == expr).unwrap_or_else(|| {
                        calls.push(expr.clone());
                        calls.len() - 1
                    });
                    Some(Expr::Field((grouping_keys + place) as u32))
                }
                other => {
                    keys.iter().position(|key| key == other).map(|place| Expr::Field(place as u32))
                }
            })
        })
        .collect();
    Split { calls, outputs }
}

/// Aggregates as the operator takes them.
#[derive(Clone)]
pub(super) struct Calls {
    /// The keys, then arguments and conditions: the roots that `functions` refer to.
    pub(super) columns: Vec<Expr>,
    pub(super) functions: Vec<AggregateCall>,
    pub(super) results: Vec<Field>,
}

impl Calls {
    pub(super) fn new(keys: &[Expr], calls: &[Expr], input: &Schema) -> Result<Self, PlanError> {
        let (mut columns, mut functions, mut results) = (keys.to_vec(), Vec::new(), Vec::new());
        let first = keys.len();
        let mut place = |column: &Expr| {
            let column = exprs::unalias(column);
            let known = columns[first..].iter().position(|known| known == column);
            let place = known.map_or(columns.len(), |known| first + known);
            if known.is_none() {
                columns.push(column.clone());
            }
            place as u32
        };
        for call in calls {
            let Expr::Aggregate { function, distinct, filter, .. } = call else { continue };
            let typed = coerce_call(call, input)?;
            results.push(Field {
                qualifier: None,
                name: call.to_sql(input).into(),
                data_type: typed.result.clone(),
                nullable: typed.nullable,
            });
            functions.push(AggregateCall {
                function: *function,
                args: typed.args.iter().map(&mut place).collect(),
                arg_types: typed.arg_types,
                distinct: *distinct,
                filter: filter.as_ref().map(|filter| place(filter)),
                result: typed.result,
            });
        }
        Ok(Self { columns, functions, results })
    }

    /// The columns of the result, behind those of the keys.
    pub(super) fn schema(&self, keys: &[Field]) -> Schema {
        Schema { fields: keys.iter().chain(&self.results).cloned().collect() }
    }
}
