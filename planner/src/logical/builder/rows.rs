//! Choosing, ordering and spreading rows; the columns stay.

use std::sync::Arc;

use arrow_schema::DataType;

use super::super::{LogicalPlan, PlanRef, Schema};
use super::resolve::Resolver;
use crate::error::PlanError;
use crate::expr::{Expr, SortKey, type_name};
use crate::types::{coerce, infer};

/// The rows for which a condition is true.
///
/// # Errors
///
/// Unknown or ambiguous columns, and what is no truth value of one row.
pub fn filter(input: PlanRef, predicate: Expr) -> Result<PlanRef, PlanError> {
    let predicate = Resolver::new(input.schema(), "a filter").of_one_row(&predicate)?;
    match infer(&predicate, input.schema())?.0 {
        DataType::Boolean | DataType::Null => {}
        other => {
            return Err(PlanError::NotBoolean {
                place: "a filter".to_owned(),
                expr: predicate.to_sql(input.schema()),
                actual: type_name(&other),
            });
        }
    }
    Ok(same_columns(&input.clone(), LogicalPlan::Filter { input, predicate }))
}

/// The rows in an order, over all partitions.
///
/// # Errors
///
/// Unknown or ambiguous columns, and values that have no order.
pub fn sort(input: PlanRef, keys: Vec<SortKey>) -> Result<PlanRef, PlanError> {
    let keys = Resolver::new(input.schema(), "a sort").sort_keys(&keys)?;
    for key in &keys {
        check_key(&key.expr, input.schema(), "sort", coerce::is_orderable)?;
    }
    Ok(same_columns(&input.clone(), LogicalPlan::Sort { input, keys, fetch: None }))
}

/// Passes over `skip` rows, then gives `fetch` at most.
#[must_use]
pub fn limit(input: PlanRef, skip: u64, fetch: Option<u64>) -> PlanRef {
    same_columns(&input.clone(), LogicalPlan::Limit { input, skip, fetch })
}

/// Each different row once; with `on`, the first row of each combination of values of these.
///
/// # Errors
///
/// Unknown or ambiguous columns, and values that cannot be compared.
pub fn distinct(input: PlanRef, on: Vec<Expr>) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "`drop_duplicates`");
    let on = on.iter().map(|key| resolver.of_one_row(key)).collect::<Result<Vec<_>, _>>()?;
    let all = (0..input.schema().len()).map(|position| Expr::Field(position as u32));
    let keys = if on.is_empty() { all.collect() } else { on.clone() };
    for key in &keys {
        check_key(key, input.schema(), "find duplicates", coerce::is_hashable)?;
    }
    Ok(same_columns(&input.clone(), LogicalPlan::Distinct { input, on }))
}

/// About the given share of the rows, by a seed.
///
/// # Errors
///
/// A share that is not from 0 to 1.
pub fn sample(input: PlanRef, fraction: f64, seed: u64) -> Result<PlanRef, PlanError> {
    if !(0.0..=1.0).contains(&fraction) {
        let reason = format!("a sample is a share of the rows from 0 to 1, not {fraction}");
        return Err(PlanError::Invalid(reason));
    }
    Ok(same_columns(&input.clone(), LogicalPlan::Sample { input, fraction, seed }))
}

/// Spreads rows over partitions: by the hash or by ranges of expressions, or in turns where there are none.
///
/// # Errors
///
/// Unknown or ambiguous columns, values that cannot be compared, no partitions, and ranges of nothing.
pub fn repartition(
    input: PlanRef,
    by: Vec<Expr>,
    range: bool,
    partitions: Option<u32>,
) -> Result<PlanRef, PlanError> {
    if partitions == Some(0) {
        return Err(PlanError::Invalid("rows need one partition at least".to_owned()));
    }
    if range && by.is_empty() {
        return Err(PlanError::Invalid("say by which columns ranges are formed".to_owned()));
    }
    let resolver = Resolver::new(input.schema(), "`repartition`");
    let by = by.iter().map(|key| resolver.of_one_row(key)).collect::<Result<Vec<_>, _>>()?;
    let fits = if range { coerce::is_orderable } else { coerce::is_hashable };
    for key in &by {
        check_key(key, input.schema(), "partition", fits)?;
    }
    Ok(same_columns(&input.clone(), LogicalPlan::Repartition { input, by, range, partitions }))
}

/// Gives all columns a qualifier, so that `name.column` means them.
#[must_use]
pub fn alias(input: PlanRef, name: impl Into<Arc<str>>) -> PlanRef {
    let name = name.into();
    let mut schema = Schema::clone(input.schema());
    schema.fields.iter_mut().for_each(|field| field.qualifier = Some(name.clone()));
    PlanRef::new(LogicalPlan::Alias { input, name }, Arc::new(schema))
}

fn same_columns(input: &PlanRef, plan: LogicalPlan) -> PlanRef {
    PlanRef::new(plan, input.schema().clone())
}

fn check_key(
    key: &Expr,
    schema: &Schema,
    verb: &str,
    fits: fn(&DataType) -> bool,
) -> Result<(), PlanError> {
    let (data_type, _) = infer(key, schema)?;
    if fits(&data_type) {
        return Ok(());
    }
    let (key, data_type) = (key.to_sql(schema), type_name(&data_type));
    let reason = format!("cannot {verb} by `{key}`: values of {data_type} cannot be compared");
    Err(PlanError::Invalid(reason))
}
