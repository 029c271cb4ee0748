//! Rows to columns and columns to rows.

use std::sync::Arc;

use arrow_schema::DataType;

use super::super::{Field, GroupingSets, LogicalPlan, PlanRef, Schema};
use super::aggregate::aggregate;
use super::resolve::{Named, Resolver, cast, has_aggregate, schema_of};
use super::select::projection;
use crate::error::PlanError;
use crate::expr::{BinaryOp, Expr, ExprRef, Scalar, ScalarFn, rewrite, type_name};
use crate::types::coerce::common_of;

/// A value of the pivot column, and the name of its columns.
#[derive(Clone, PartialEq, Debug)]
pub struct PivotValue {
    /// The value; NULL is one too.
    pub value: Scalar,
    /// The name of its column, or the beginning of the names of its columns.
    pub name: Arc<str>,
}

/// One row for each group, and in it, for each value of `column`, the aggregates of its rows alone. With one
/// aggregate, columns have the names of the values; with several, `value_aggregate`.
///
/// # Errors
///
/// As [`aggregate`]; and no value or no aggregate.
pub fn pivot(
    input: PlanRef,
    keys: Vec<Expr>,
    column: Expr,
    values: Vec<PivotValue>,
    aggregates: Vec<Expr>,
) -> Result<PlanRef, PlanError> {
    if values.is_empty() || aggregates.is_empty() {
        return Err(PlanError::Invalid("a pivot needs values and aggregates".to_owned()));
    }
    let resolver = Resolver::new(input.schema(), "a pivot");
    let mut columns = Vec::with_capacity(values.len() * aggregates.len());
    for value in &values {
        for aggregate in &aggregates {
            if !has_aggregate(aggregate) {
                let shown = aggregate.to_sql(input.schema());
                return Err(PlanError::Invalid(format!("`{shown}` in a pivot is no aggregate")));
            }
            let name = match aggregates.len() {
                1 => value.name.clone(),
                _ => format!("{}_{}", value.name, resolver.name(aggregate)?.name).into(),
            };
            let filtered = of_value(aggregate, &column, &value.value);
            columns.push(Expr::Alias { expr: filtered.into(), name });
        }
    }
    aggregate(input, keys, columns, GroupingSets::Plain)
}

/// The expression with all aggregates in it over the rows in which `column` is the value.
fn of_value(expr: &Expr, column: &Expr, value: &Scalar) -> Expr {
    let left = ExprRef::from(column.clone());
    let right = ExprRef::from(Expr::Literal(value.clone()));
    let condition: ExprRef = Expr::Binary { op: BinaryOp::NullSafeEq, left, right }.into();
    rewrite(expr, &mut |part| match part {
        Expr::Aggregate { function, args, distinct, filter } => {
            let both = |filter: &ExprRef| Expr::And(vec![filter.clone(), condition.clone()]).into();
            let filter = filter.as_ref().map_or_else(|| condition.clone(), both);
            Some(Expr::Aggregate {
                function: *function,
                args: args.clone(),
                distinct: *distinct,
                filter: Some(filter),
            })
        }
        _ => None,
    })
}

/// For each row and each of `columns` (all but `ids` where there are none), in this order, one row: the `ids`, the
/// column's name as `name`, and its value as `value`, of the common type of all.
///
/// # Errors
///
/// Unknown or ambiguous columns, types that do not go together, two columns of one name.
pub fn unpivot(
    input: PlanRef,
    ids: Vec<Expr>,
    columns: Vec<Expr>,
    name: Arc<str>,
    value: Arc<str>,
) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "`unpivot`");
    let ids = resolver.named(&ids)?;
    let mut values =
        columns.iter().map(|column| resolver.column(column)).collect::<Result<Vec<_>, _>>()?;
    if columns.is_empty() {
        let id = |at: &usize| ids.iter().any(|id| id.expr == Expr::Field(*at as u32));
        values = (0..input.schema().len()).filter(|at| !id(at)).collect();
    }
    let all = &input.schema().fields;
    let common = common_of(values.iter().map(|&at| &all[at].data_type)).ok_or_else(|| {
        let types: Vec<String> = values.iter().map(|&at| type_name(&all[at].data_type)).collect();
        let reason = format!("columns of types {} cannot go into one column", types.join(", "));
        PlanError::Invalid(format!("`unpivot`: {reason}: cast them with `.cast(..)`"))
    })?;
    let text = |text: &str| ExprRef::from(Expr::Literal(Scalar::from(text)));
    let pair = |&at: &usize| {
        let column = cast(Expr::Field(at as u32), &all[at].data_type, &common);
        let args = vec![text("name"), text(&all[at].name), text("value"), column.into()];
        ExprRef::from(Expr::Call { function: ScalarFn::MakeStruct, args })
    };
    let pairs =
        Expr::Call { function: ScalarFn::MakeList, args: values.iter().map(pair).collect() };
    let width = ids.len() as u32;
    let mut listed = ids;
    listed.push(Named { expr: pairs, qualifier: None, name: "pairs".into(), explicit: true });
    let schema = schema_of(&listed, input.schema())?;
    let exprs = listed.iter().map(|column| column.expr.clone()).collect();
    let lists = projection(input.clone(), exprs, schema);
    let exploded = explode(lists, Expr::Field(width), false, None)?;
    let part = |part: &str, name: Arc<str>| {
        let args = vec![Expr::Field(width).into(), text(part)];
        let expr = Expr::Call { function: ScalarFn::GetField, args };
        Named { expr, qualifier: None, name, explicit: true }
    };
    listed.pop();
    for (at, id) in listed.iter_mut().enumerate() {
        id.expr = Expr::Field(at as u32);
    }
    listed.extend([part("name", name), part("value", value)]);
    super::select::columns_of(exploded, listed, "`unpivot`")
}

/// For each row and each element of a list column (entry of a map column, as a struct of `key` and `value`) one row,
/// with the element in the column's place. Rows without elements are dropped unless `outer` keeps them, with NULL.
/// With `position`, the element's place, from 0, is in a column of this name before it.
///
/// # Errors
///
/// An unknown or ambiguous column, or one that is no list and no map.
pub fn explode(
    input: PlanRef,
    column: Expr,
    outer: bool,
    position: Option<Arc<str>>,
) -> Result<PlanRef, PlanError> {
    let at = Resolver::new(input.schema(), "`explode`").column(&column)?;
    let mut fields = input.schema().fields.clone();
    let (DataType::List(item)
    | DataType::LargeList(item)
    | DataType::ListView(item)
    | DataType::LargeListView(item)
    | DataType::FixedSizeList(item, _)
    | DataType::Map(item, _)) = fields[at].data_type.clone()
    else {
        return Err(PlanError::Invalid(format!(
            "`explode` takes a list or a map, and column `{}` is {}",
            fields[at].name,
            type_name(&fields[at].data_type)
        )));
    };
    fields[at].data_type = item.data_type().clone();
    fields[at].nullable = outer || item.is_nullable();
    if let Some(name) = &position {
        let place = Field {
            qualifier: None,
            name: name.clone(),
            data_type: DataType::Int32,
            nullable: outer,
        };
        fields.insert(at, place);
    }
    let plan = LogicalPlan::Explode { input, column: at, outer, position };
    Ok(PlanRef::new(plan, Arc::new(Schema { fields })))
}
