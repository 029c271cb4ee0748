//! Joins.

use std::sync::Arc;

use arrow_schema::DataType;

use super::super::{Field, JoinType, LogicalPlan, PlanRef, Schema};
use super::resolve::{Named, Resolver, cast, schema_of};
use super::select::projection;
use crate::error::PlanError;
use crate::expr::{BinaryOp, Expr, ExprRef, ScalarFn, fields, map_fields, type_name};
use crate::physical::JoinStrategy;
use crate::types::{coerce, infer};

/// Joins two sides on pairs of equal keys, one over each side, and a condition over both. What the condition says of
/// equal values of both sides become keys. Gives the columns of the left side, then those of the right, for semi
/// and anti joins the left ones alone.
///
/// # Errors
///
/// Unknown or ambiguous columns, and types that do not go together.
pub fn join(
    left: PlanRef,
    right: PlanRef,
    kind: JoinType,
    on: Vec<(Expr, Expr)>,
    condition: Option<Expr>,
    hint: Option<JoinStrategy>,
) -> Result<PlanRef, PlanError> {
    let mut keys = Vec::with_capacity(on.len());
    let resolve_left = Resolver::new(left.schema(), "a join key");
    let resolve_right = Resolver::new(right.schema(), "a join key");
    for (left_key, right_key) in &on {
        let pair = (resolve_left.of_one_row(left_key)?, resolve_right.of_one_row(right_key)?);
        keys.push(key(pair, false, (left.schema(), right.schema()))?);
    }
    let both = concatenated(left.schema(), right.schema());
    let mut rest = Vec::new();
    if let Some(condition) = condition {
        let condition = Resolver::new(&both, "a join condition").of_one_row(&condition)?;
        check_condition(&condition, &both)?;
        let width = left.schema().len() as u32;
        for term in conjuncts(condition) {
            match equality(&term, width) {
                Some((pair, null_safe)) if kind != JoinType::NullAwareAnti => {
                    keys.push(key(pair, null_safe, (left.schema(), right.schema()))?);
                }
                _ => rest.push(term),
            }
        }
    }
    let condition = match rest.len() {
        0 => None,
        1 => rest.pop(),
        _ => Some(Expr::And(rest.into_iter().map(ExprRef::from).collect())),
    };
    let kind = match kind {
        JoinType::Cross if condition.is_some() || !keys.is_empty() => JoinType::Inner,
        kind => kind,
    };
    let schema = Arc::new(schema(left.schema(), right.schema(), kind));
    let plan = LogicalPlan::Join { left, right, kind, on: keys, condition, hint };
    Ok(PlanRef::new(plan, schema))
}

/// Joins two sides on columns that both have. Gives these columns once each (of a full join, the one that is not
/// NULL), then the other columns of the left side and of the right.
///
/// # Errors
///
/// As [`join`].
pub fn join_using(
    left: PlanRef,
    right: PlanRef,
    kind: JoinType,
    columns: Vec<Arc<str>>,
    hint: Option<JoinStrategy>,
) -> Result<PlanRef, PlanError> {
    let resolve = |plan: &PlanRef| -> Result<Vec<usize>, PlanError> {
        let resolver = Resolver::new(plan.schema(), "a join");
        columns.iter().map(|name| resolver.column(&crate::expr::col(&**name))).collect()
    };
    let (left_keys, right_keys) = (resolve(&left)?, resolve(&right)?);
    let on = left_keys.iter().zip(&right_keys);
    let on = on.map(|(&l, &r)| (Expr::Field(l as u32), Expr::Field(r as u32))).collect();
    let joined = join(left.clone(), right.clone(), kind, on, None, hint)?;
    let width = left.schema().len();
    if joined.schema().len() == width {
        return Ok(joined);
    }
    let mut output = Vec::with_capacity(joined.schema().len());
    for ((name, &l), &r) in columns.iter().zip(&left_keys).zip(&right_keys) {
        let expr =
            merged(kind, (l, &left.schema().fields[l]), (width + r, &right.schema().fields[r]));
        output.push(Named { expr, qualifier: None, name: name.clone(), explicit: true });
    }
    for (position, field) in joined.schema().fields.iter().enumerate() {
        let is_key = left_keys.contains(&position)
            || position.checked_sub(width).is_some_and(|right| right_keys.contains(&right));
        if !is_key {
            let (qualifier, name) = (field.qualifier.clone(), field.name.clone());
            let expr = Expr::Field(position as u32);
            output.push(Named { expr, qualifier, name, explicit: false });
        }
    }
    let mut schema = schema_of(&output, joined.schema())?;
    if kind == JoinType::Full {
        for ((field, &l), &r) in schema.fields.iter_mut().zip(&left_keys).zip(&right_keys) {
            field.nullable = left.schema().fields[l].nullable || right.schema().fields[r].nullable;
        }
    }
    Ok(projection(joined, output.into_iter().map(|column| column.expr).collect(), schema))
}

/// The one key column of a join by column: of the side whose rows are all there.
fn merged(kind: JoinType, left: (usize, &Field), right: (usize, &Field)) -> Expr {
    let common = coerce::common_type(&left.1.data_type, &right.1.data_type);
    let same = left.1.data_type == right.1.data_type;
    let side = |(position, field): (usize, &Field)| match &common {
        Some(common) if !same => cast(Expr::Field(position as u32), &field.data_type, common),
        _ => Expr::Field(position as u32),
    };
    match kind {
        JoinType::Right => side(right),
        JoinType::Full => Expr::Call {
            function: ScalarFn::Coalesce,
            args: vec![side(left).into(), side(right).into()],
        },
        _ => side(left),
    }
}

/// Both keys as one type.
fn key(
    (left, right): (Expr, Expr),
    null_safe: bool,
    (left_schema, right_schema): (&Schema, &Schema),
) -> Result<(Expr, Expr, bool), PlanError> {
    let (left_type, _) = infer(&left, left_schema)?;
    let (right_type, _) = infer(&right, right_schema)?;
    let common = coerce::common_type(&left_type, &right_type).filter(coerce::is_hashable);
    let common = common.ok_or_else(|| PlanError::TypeMismatch {
        operation: "join".to_owned(),
        left: type_name(&left_type),
        right: type_name(&right_type),
        expr: format!("{} = {}", left.to_sql(left_schema), right.to_sql(right_schema)),
        hint: "cast one of them with `.cast(..)`".to_owned(),
    })?;
    Ok((cast(left, &left_type, &common), cast(right, &right_type, &common), null_safe))
}

fn check_condition(condition: &Expr, schema: &Schema) -> Result<(), PlanError> {
    match infer(condition, schema)?.0 {
        DataType::Boolean | DataType::Null => Ok(()),
        other => Err(PlanError::NotBoolean {
            place: "a join condition".to_owned(),
            expr: condition.to_sql(schema),
            actual: type_name(&other),
        }),
    }
}

/// The terms of an AND, of those in it too.
pub(super) fn conjuncts(expr: Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut waiting = vec![expr];
    while let Some(expr) = waiting.pop() {
        match expr {
            Expr::And(terms) => waiting.extend(terms.into_iter().rev().map(ExprRef::into_inner)),
            other => found.push(other),
        }
    }
    found
}

/// The two sides of an equality, over the left and over the right columns, and whether NULLs are equal.
fn equality(term: &Expr, width: u32) -> Option<((Expr, Expr), bool)> {
    let Expr::Binary { op: op @ (BinaryOp::Eq | BinaryOp::NullSafeEq), left, right } = term else {
        return None;
    };
    let of_left = |expr: &Expr| fields(expr).last().is_some_and(|&last| last < width);
    let of_right = |expr: &Expr| fields(expr).first().is_some_and(|&first| first >= width);
    let shifted = |expr: &Expr| map_fields(expr, |position| Expr::Field(position - width));
    let null_safe = *op == BinaryOp::NullSafeEq;
    if of_left(left) && of_right(right) {
        return Some((((**left).clone(), shifted(right)), null_safe));
    }
    (of_left(right) && of_right(left)).then(|| (((**right).clone(), shifted(left)), null_safe))
}

fn concatenated(left: &Schema, right: &Schema) -> Schema {
    Schema { fields: left.fields.iter().chain(&right.fields).cloned().collect() }
}

/// What a join of this kind gives.
fn schema(left: &Schema, right: &Schema, kind: JoinType) -> Schema {
    let (left_null, right_null) = match kind {
        JoinType::Inner | JoinType::Cross => (false, false),
        JoinType::Left => (false, true),
        JoinType::Right => (true, false),
        JoinType::Full => (true, true),
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::NullAwareAnti => return left.clone(),
    };
    let mut joined = concatenated(left, right);
    let (left_fields, right_fields) = joined.fields.split_at_mut(left.len());
    left_fields.iter_mut().for_each(|field| field.nullable |= left_null);
    right_fields.iter_mut().for_each(|field| field.nullable |= right_null);
    joined
}
