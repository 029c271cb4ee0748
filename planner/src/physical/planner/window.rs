//! Window functions. Those over one partitioning share its exchange, and those that are over one order besides are
//! one operator.

use std::sync::Arc;

use super::built::Built;
use super::{Planner, compile, sort};
use crate::error::PlanError;
use crate::expr::{Expr, Frame, FrameBound, FrameUnit, SortKey, WindowFn, WindowSpec};
use crate::logical::{Field, PlanRef, Schema};
use crate::optimizer::exprs;
use crate::physical::plan::{Op, Window, WindowCall};
use crate::types::coerce_call;

/// Functions over one partitioning and order.
struct Group {
    partition_by: Vec<Expr>,
    order_by: Vec<SortKey>,
    /// Their places among the expressions of the plan.
    places: Vec<usize>,
}

impl Planner<'_> {
    pub(super) fn window(
        &mut self,
        plan: &PlanRef,
        input: &PlanRef,
        exprs: &[Expr],
    ) -> Result<Built, PlanError> {
        let input = self.lower(input)?;
        let columns = input.schema.len();
        let names = &plan.schema().fields[columns..];
        let mut built = input;
        let mut given = Vec::new();
        for group in groups(exprs) {
            built = self.by_partition(&built, &group.partition_by, &group.order_by)?;
            built = self.window_group(&built, &group, exprs, names)?;
            given.extend(group.places);
        }
        let place = |at: usize| given.iter().position(|known| *known == at).unwrap_or(at);
        let order: Vec<u32> = (0..columns)
            .chain((0..exprs.len()).map(|at| columns + place(at)))
            .map(|at| at as u32)
            .collect();
        self.pick(&built, &order)
    }

    /// Rows with equal keys together and in order.
    pub(super) fn by_partition(
        &mut self,
        input: &Built,
        partition_by: &[Expr],
        order_by: &[SortKey],
    ) -> Result<Built, PlanError> {
        let together = if input.spread.has_together(partition_by) && !partition_by.is_empty() {
            input.clone()
        } else {
            let partitions = self.partitions(&[input]);
            self.hash(input, partition_by, partitions)?
        };
        let key = |expr: &Expr| SortKey {
            expr: expr.clone().into(),
            descending: false,
            nulls_first: true,
        };
        let keys: Vec<SortKey> =
            partition_by.iter().map(key).chain(order_by.iter().cloned()).collect();
        match keys.is_empty() {
            true => Ok(together),
            false => self.sort_partitions(&together, &keys, None, together.rows),
        }
    }

    fn window_group(
        &mut self,
        input: &Built,
        group: &Group,
        exprs: &[Expr],
        names: &[Field],
    ) -> Result<Built, PlanError> {
        let (order_exprs, order) = sort::unzip(&group.order_by);
        let mut columns: Vec<Expr> =
            group.partition_by.iter().cloned().chain(order_exprs).collect();
        let mut fields = input.schema.fields.clone();
        let mut functions = Vec::new();
        for place in &group.places {
            let expr = exprs::unalias(&exprs[*place]);
            let Expr::Window { function, window, ignore_nulls, .. } = expr else { continue };
            let call = coerce_call(expr, &input.schema)?;
            let first = columns.len() as u32;
            columns.extend(call.args);
            fields.push(Field {
                data_type: call.result.clone(),
                nullable: call.nullable,
                ..names[*place].clone()
            });
            functions.push(WindowCall {
                function: *function,
                args: (first..columns.len() as u32).collect(),
                arg_types: call.arg_types,
                frame: frame(*function, window),
                ignore_nulls: *ignore_nulls,
                result: call.result,
            });
        }
        let schema = Arc::new(Schema { fields });
        let op = Op::Window(Window {
            input: input.id,
            columns: compile(&columns, &input.schema)?,
            partition_keys: group.partition_by.len() as u32,
            order,
            functions,
        });
        let id = self.operators.push(op, &schema, input.rows);
        Ok(Built { id, schema, width: None, ..input.clone() })
    }
}

/// Expressions by partitioning, and within by order, as they come. Constant keys part and order nothing.
fn groups(exprs: &[Expr]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (place, expr) in exprs.iter().enumerate() {
        let Expr::Window { window, .. } = exprs::unalias(expr) else { continue };
        let partition_by: Vec<Expr> = window
            .partition_by
            .iter()
            .map(|key| exprs::unalias(key).clone())
            .filter(|key| !matches!(key, Expr::Literal(_)))
            .collect();
        let order_by = order_of(window);
        let same_partition = |group: &Group| group.partition_by == partition_by;
        let same = |group: &&mut Group| same_partition(group) && group.order_by == order_by;
        if let Some(group) = groups.iter_mut().find(same) {
            group.places.push(place);
            continue;
        }
        let behind = groups.iter().rposition(same_partition).map_or(groups.len(), |at| at + 1);
        groups.insert(behind, Group { partition_by, order_by, places: vec![place] });
    }
    groups
}

/// The order within a partition. A constant key makes all rows peers, as no key does; only a frame that counts from
/// its value needs it.
fn order_of(window: &WindowSpec) -> Vec<SortKey> {
    let counts =
        |bound: &FrameBound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
    let needs_value = window.frame.as_ref().is_some_and(|frame| {
        frame.unit == FrameUnit::Range && (counts(&frame.start) || counts(&frame.end))
    });
    let key = |key: &SortKey| SortKey { expr: exprs::unalias(&key.expr).clone().into(), ..*key };
    let is_constant = |key: &SortKey| matches!(*key.expr, Expr::Literal(_));
    window.order_by.iter().map(key).filter(|key| needs_value || !is_constant(key)).collect()
}

/// The frame: by default up to the peers of the row, or all rows where there is no order.
fn frame(function: WindowFn, window: &WindowSpec) -> Frame {
    let default = || Frame {
        unit: FrameUnit::Range,
        start: FrameBound::UnboundedPreceding,
        end: match window.order_by.is_empty() {
            true => FrameBound::UnboundedFollowing,
            false => FrameBound::CurrentRow,
        },
    };
    match function {
        // These look at the partition, whatever the frame.
        WindowFn::RowNumber
        | WindowFn::Rank
        | WindowFn::DenseRank
        | WindowFn::PercentRank
        | WindowFn::CumeDist
        | WindowFn::Ntile
        | WindowFn::Lag
        | WindowFn::Lead => default(),
        _ => window.frame.clone().unwrap_or_else(default),
    }
}
