//! Plans from what a program asks for: names become positions, wildcards columns, types are checked, and schemas
//! found out.
//!
//! Every function takes the plans it reads and expressions with names, and gives a plan whose expressions hold
//! [`Expr::Field`](crate::expr::Expr::Field) alone. A column is called by its alias, else by its own name, else by the
//! text of its expression.

mod aggregate;
mod interner;
mod join;
mod nulls;
mod reshape;
mod resolve;
mod rows;
mod select;
mod sets;
#[cfg(test)]
mod tests;
mod windows;

use std::sync::Arc;

pub use aggregate::aggregate;
pub use join::{join, join_using};
pub use nulls::{drop_nulls, fill_null};
pub use reshape::{PivotValue, explode, pivot, unpivot};
pub use rows::{alias, distinct, filter, limit, repartition, sample, sort};
pub use select::{cast_columns, drop, project, rename, window, with_columns};
pub use sets::{set_operation, union_by_name, union_by_position};

use super::{LogicalPlan, PlanRef, Schema, Table};

/// Reads a table.
#[must_use]
pub fn scan(table: Arc<Table>) -> PlanRef {
    let schema = Schema::from_arrow(&table.schema, None);
    PlanRef::new(LogicalPlan::Scan(table), Arc::new(schema))
}

/// One row without columns.
#[must_use]
pub fn one_row() -> PlanRef {
    PlanRef::new(LogicalPlan::OneRow, Arc::new(Schema::default()))
}
