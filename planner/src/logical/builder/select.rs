//! Columns from columns: selections, and what is one underneath.

use std::sync::Arc;

use arrow_schema::DataType;

use super::super::{LogicalPlan, PlanRef, Schema};
use super::aggregate::aggregate;
use super::resolve::{Named, Resolver, cast, refuse_aggregates, refuse_duplicates, schema_of};
use super::windows::split;
use crate::error::PlanError;
use crate::expr::{Expr, rewrite};
use crate::logical::GroupingSets;

/// The given columns. Window functions among them are computed first. With an aggregate among them, all are
/// aggregates of all rows.
///
/// # Errors
///
/// Unknown or ambiguous columns, types that do not go together, two columns of one name.
pub fn project(input: PlanRef, exprs: Vec<Expr>) -> Result<PlanRef, PlanError> {
    if exprs.iter().any(is_aggregation) {
        return aggregate(input, Vec::new(), exprs, GroupingSets::Plain);
    }
    let columns = Resolver::new(input.schema(), "a selection").named(&exprs)?;
    columns_of(input, columns, "the selection")
}

/// All columns, with those of the given names replaced, and the others appended.
///
/// # Errors
///
/// As [`project`].
pub fn with_columns(input: PlanRef, exprs: Vec<Expr>) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "`with_column`");
    let new = resolver.named(&exprs)?;
    refuse_duplicates(&new, "`with_columns`")?;
    let mut columns = resolver.named(&[Expr::Wildcard { qualifier: None }])?;
    let replaced: std::collections::HashMap<Arc<str>, usize> =
        columns.iter().enumerate().map(|(at, column)| (column.name.clone(), at)).collect();
    for column in new {
        refuse_aggregates(&column.expr, input.schema(), "`with_column`")?;
        match replaced.get(&column.name) {
            Some(&at) => {
                let name = crate::expr::ColumnName { qualifier: None, name: column.name.clone() };
                input.schema().find(&name)?;
                let qualifier = columns[at].qualifier.clone();
                columns[at] = Named { qualifier, ..column };
            }
            None => columns.push(column),
        }
    }
    columns_of(input, columns, "`with_columns`")
}

/// All columns, then those given, which are window functions or made of them.
///
/// # Errors
///
/// As [`project`].
pub fn window(input: PlanRef, exprs: Vec<Expr>) -> Result<PlanRef, PlanError> {
    let mut all = vec![Expr::Wildcard { qualifier: None }];
    all.extend(exprs);
    project(input, all)
}

/// All columns, some under other names: pairs of an old and a new one.
///
/// # Errors
///
/// Unknown or ambiguous columns, and a new name that is taken.
pub fn rename(input: PlanRef, names: Vec<(Expr, Arc<str>)>) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "`rename`");
    let mut columns = resolver.named(&[Expr::Wildcard { qualifier: None }])?;
    for (old, new) in names {
        let column = &mut columns[resolver.column(&old)?];
        column.name = new;
        column.explicit = true;
    }
    columns_of(input, columns, "`rename`")
}

/// All columns but these.
///
/// # Errors
///
/// Unknown or ambiguous columns.
pub fn drop(input: PlanRef, columns: Vec<Expr>) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "`drop`");
    let mut dropped = vec![false; input.schema().len()];
    for column in &columns {
        dropped[resolver.column(column)?] = true;
    }
    let all = resolver.named(&[Expr::Wildcard { qualifier: None }])?;
    let kept = all.into_iter().zip(dropped).filter(|(_, dropped)| !dropped);
    let kept = kept.map(|(column, _)| column).collect();
    columns_of(input, kept, "`drop`")
}

/// All columns, some as other types.
///
/// # Errors
///
/// Unknown or ambiguous columns, and casts that do not exist.
pub fn cast_columns(input: PlanRef, casts: Vec<(Expr, DataType)>) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "`cast`");
    let mut columns = resolver.named(&[Expr::Wildcard { qualifier: None }])?;
    for (column, to) in casts {
        let at = resolver.column(&column)?;
        columns[at].expr = cast(Expr::Field(at as u32), &input.schema().fields[at].data_type, &to);
    }
    columns_of(input, columns, "`cast`")
}

/// A projection to resolved columns, with the window functions in them computed before.
pub(super) fn columns_of(
    input: PlanRef,
    columns: Vec<Named>,
    place: &str,
) -> Result<PlanRef, PlanError> {
    refuse_duplicates(&columns, place)?;
    // From the input itself, so that messages name what the program has written.
    let schema = schema_of(&columns, input.schema())?;
    let exprs = columns.into_iter().map(|column| column.expr).collect();
    let (input, exprs) = split(input, exprs)?;
    Ok(projection(input, exprs, schema))
}

/// The projection, or its input where it changes nothing.
pub(super) fn projection(input: PlanRef, exprs: Vec<Expr>, schema: Schema) -> PlanRef {
    let identity = |(at, expr): (usize, &Expr)| *expr == Expr::Field(at as u32);
    if **input.schema() == schema && exprs.iter().enumerate().all(identity) {
        return input;
    }
    PlanRef::new(LogicalPlan::Project { input, exprs }, Arc::new(schema))
}

/// Whether there is an aggregate that is not over a window.
fn is_aggregation(expr: &Expr) -> bool {
    let mut found = false;
    let _ = rewrite(expr, &mut |part| {
        found |= matches!(part, Expr::Aggregate { .. });
        matches!(part, Expr::Window { .. }).then(|| part.clone())
    });
    found
}
