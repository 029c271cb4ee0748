//! Unions, INTERSECT and EXCEPT.

use std::sync::Arc;

use super::super::{Field, LogicalPlan, PlanRef, Schema, SetOperation};
use super::resolve::cast;
use super::select::projection;
use crate::error::PlanError;
use crate::expr::{Expr, Scalar, type_name};
use crate::types::coerce::{common_type, is_hashable};

/// All rows of all inputs, one after the other. Columns go together by position, whatever their names, and have
/// those of the first input; where types differ, all are cast to their common type.
///
/// # Errors
///
/// No input, different numbers of columns, and types that do not go together.
pub fn union_by_position(inputs: Vec<PlanRef>) -> Result<PlanRef, PlanError> {
    let fields = common_fields(&inputs, "union")?;
    union(inputs, fields)
}

/// All rows of all inputs, one after the other. Columns go together by name, in the order of the first input.
/// With `allow_missing`, a column that an input does not have is NULL in its rows, and those that only later inputs
/// have come last.
///
/// # Errors
///
/// No input, columns that an input does not have, two columns of one name, and types that do not go together.
pub fn union_by_name(inputs: Vec<PlanRef>, allow_missing: bool) -> Result<PlanRef, PlanError> {
    let names = all_names(&inputs, allow_missing)?;
    let aligned = inputs.into_iter().map(|input| align(input, &names, allow_missing));
    union_by_position(aligned.collect::<Result<_, _>>()?)
}

/// The different rows (with `all`, with multiplicities) that are in both sides, or in the left side alone. Columns
/// go together as in [`union_by_position`]; NULL equals NULL.
///
/// # Errors
///
/// Different numbers of columns, types that do not go together or cannot be compared.
pub fn set_operation(
    left: PlanRef,
    right: PlanRef,
    operation: SetOperation,
    all: bool,
) -> Result<PlanRef, PlanError> {
    let name = match operation {
        SetOperation::Intersect => "intersect",
        SetOperation::Except => "except",
    };
    let fields = common_fields(&[left.clone(), right.clone()], name)?;
    if let Some(field) = fields.iter().find(|field| !is_hashable(&field.data_type)) {
        return Err(PlanError::Invalid(format!(
            "{name}: values of column `{}`, which is {}, cannot be compared",
            field.name,
            type_name(&field.data_type)
        )));
    }
    let (left, right) = (as_fields(left, &fields), as_fields(right, &fields));
    let schema = Arc::new(Schema { fields });
    Ok(PlanRef::new(LogicalPlan::SetOperation { left, right, operation, all }, schema))
}

fn union(inputs: Vec<PlanRef>, fields: Vec<Field>) -> Result<PlanRef, PlanError> {
    let mut inputs: Vec<PlanRef> =
        inputs.into_iter().map(|input| as_fields(input, &fields)).collect();
    let schema = Arc::new(Schema { fields });
    match inputs.len() {
        1 => inputs.pop().ok_or_else(no_input),
        _ => Ok(PlanRef::new(LogicalPlan::Union { inputs }, schema)),
    }
}

/// The columns of what goes together by position.
fn common_fields(inputs: &[PlanRef], operation: &str) -> Result<Vec<Field>, PlanError> {
    let (first, others) = inputs.split_first().ok_or_else(no_input)?;
    let mut fields = first.schema().fields.clone();
    for other in others {
        if Arc::ptr_eq(other.schema(), first.schema()) {
            continue;
        }
        let schema = other.schema();
        if schema.len() != fields.len() {
            return Err(PlanError::ColumnCounts {
                operation: operation.to_owned(),
                left: fields.len(),
                right: schema.len(),
            });
        }
        for (field, other) in fields.iter_mut().zip(&schema.fields) {
            field.nullable |= other.nullable;
            if field.data_type == other.data_type {
                continue;
            }
            field.data_type = common_type(&field.data_type, &other.data_type).ok_or_else(|| {
                PlanError::ColumnTypes {
                    operation: operation.to_owned(),
                    column: field.name.to_string(),
                    left: type_name(&field.data_type),
                    right: type_name(&other.data_type),
                }
            })?;
        }
    }
    Ok(fields)
}

/// The input with its columns cast where their types are others.
fn as_fields(input: PlanRef, fields: &[Field]) -> PlanRef {
    let same = |(own, field): (&Field, &Field)| own.data_type == field.data_type;
    let own = input.schema().fields.clone();
    if own.iter().zip(fields).all(same) {
        return input;
    }
    let column = |(position, (own, field)): (usize, (&Field, &Field))| {
        cast(Expr::Field(position as u32), &own.data_type, &field.data_type)
    };
    let exprs = own.iter().zip(fields).enumerate().map(column).collect();
    let typed = |(own, field): (&Field, &Field)| Field {
        data_type: field.data_type.clone(),
        ..own.clone()
    };
    let schema = Schema { fields: own.iter().zip(fields).map(typed).collect() };
    projection(input, exprs, schema)
}

/// The names of the columns of all inputs, in the order in which they come.
fn all_names(inputs: &[PlanRef], allow_missing: bool) -> Result<Vec<Field>, PlanError> {
    let mut all: Vec<Field> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (position, input) in inputs.iter().enumerate() {
        let mut own = std::collections::HashSet::new();
        for field in &input.schema().fields {
            if !own.insert(&*field.name) {
                return Err(PlanError::DuplicateColumns {
                    names: vec![field.name.to_string()],
                    place: "an input of `union_by_name`".to_owned(),
                });
            }
            if known.contains(&*field.name) {
                continue;
            }
            if position > 0 && !allow_missing {
                return Err(PlanError::unknown_column(&field.name, inputs[0].schema()));
            }
            known.insert(&*field.name);
            all.push(field.clone());
        }
    }
    Ok(all)
}

/// The input with its columns in an order, and NULL for those that it does not have.
fn align(input: PlanRef, names: &[Field], allow_missing: bool) -> Result<PlanRef, PlanError> {
    let own: std::collections::HashMap<&str, usize> =
        input.schema().fields.iter().enumerate().map(|(at, field)| (&*field.name, at)).collect();
    let (mut exprs, mut fields) =
        (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
    for field in names {
        match own.get(&*field.name) {
            Some(&at) => {
                exprs.push(Expr::Field(at as u32));
                fields.push(input.schema().fields[at].clone());
            }
            None if allow_missing => {
                exprs.push(Expr::Literal(Scalar::Null(field.data_type.clone())));
                fields.push(Field { qualifier: None, nullable: true, ..field.clone() });
            }
            None => return Err(PlanError::unknown_column(&field.name, input.schema())),
        }
    }
    Ok(projection(input, exprs, Schema { fields }))
}

fn no_input() -> PlanError {
    PlanError::Invalid("a union needs an input".to_owned())
}
