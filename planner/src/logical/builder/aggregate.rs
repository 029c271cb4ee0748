//! Groups and aggregates.

use std::sync::Arc;

use super::super::{Field, GroupingSets, LogicalPlan, PlanRef, Schema};
use super::interner::Interner;
use super::resolve::{
    Named, Resolver, has_aggregate, refuse_duplicates, refuse_windows, schema_of,
};
use super::select::projection;
use crate::error::PlanError;
use crate::expr::{AggregateFn, Expr, ExprRef, any, try_rewrite, type_name};
use crate::types::{coerce::is_hashable, infer};

/// The most columns of a cube, which has two to the power of them groupings.
const CUBE_COLUMNS: usize = 12;

/// One row for each group of rows with equal keys (one row without keys): the keys, then expressions over
/// aggregates and keys. Each aggregate is computed once, however often it is written.
///
/// With grouping sets, the keys that a set leaves out are NULL in its rows.
///
/// # Errors
///
/// Unknown or ambiguous columns, types that do not go together, columns outside of aggregates that are no keys,
/// aggregates of aggregates, two columns of one name.
pub fn aggregate(
    input: PlanRef,
    keys: Vec<Expr>,
    aggregates: Vec<Expr>,
    sets: GroupingSets,
) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "an aggregation");
    let keys = resolved_keys(&resolver, &keys, input.schema())?;
    check_sets(&sets, keys.len())?;
    let mut grouping = Grouping {
        schema: input.schema(),
        keys: &keys,
        plain: sets == GroupingSets::Plain,
        found: Interner::default(),
    };
    let mut columns: Vec<Named> = Vec::with_capacity(keys.len() + aggregates.len());
    for (place, key) in keys.iter().enumerate() {
        let (qualifier, name) = (key.qualifier.clone(), key.name.clone());
        columns.push(Named { expr: Expr::Field(place as u32), qualifier, name, explicit: true });
    }
    for aggregate in &aggregates {
        let named = resolver.name(aggregate)?;
        columns.push(Named { expr: grouping.over_groups(&named.expr)?, ..named });
    }
    if columns.is_empty() {
        return Err(PlanError::Invalid("an aggregation needs a key or an aggregate".to_owned()));
    }
    refuse_duplicates(&columns, "the aggregation")?;
    let found = grouping.found.into_exprs();
    let plan = node(input.clone(), keys, found, sets, &columns)?;
    let schema = schema_of(&columns, plan.schema())?;
    let exprs = columns.into_iter().map(|column| column.expr).collect();
    Ok(projection(plan, exprs, schema))
}

fn resolved_keys(
    resolver: &Resolver<'_>,
    keys: &[Expr],
    schema: &Schema,
) -> Result<Vec<Named>, PlanError> {
    let keys = resolver.named(keys)?;
    for key in &keys {
        super::resolve::refuse_aggregates(&key.expr, schema, "a grouping column")?;
        refuse_windows(&key.expr, schema, "a grouping column")?;
        let (data_type, _) = infer(&key.expr, schema)?;
        if !is_hashable(&data_type) {
            let (key, data_type) = (key.expr.to_sql(schema), type_name(&data_type));
            let reason =
                format!("cannot group by `{key}`: values of {data_type} cannot be compared");
            return Err(PlanError::Invalid(reason));
        }
    }
    Ok(keys)
}

fn check_sets(sets: &GroupingSets, keys: usize) -> Result<(), PlanError> {
    let reason = match sets {
        GroupingSets::Cube if keys > CUBE_COLUMNS => {
            format!(
                "a cube of {keys} columns has 2^{keys} groupings; it may have {CUBE_COLUMNS} columns"
            )
        }
        GroupingSets::Sets(sets) if sets.is_empty() => "there are no grouping sets".to_owned(),
        GroupingSets::Sets(sets) => match sets.iter().flatten().find(|&&key| key >= keys) {
            Some(key) => format!("a grouping set has column {key}, but there are {keys}"),
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    Err(PlanError::Invalid(reason))
}

/// Turns expressions over the input into such over the groups, whose columns are the keys, then the aggregates.
struct Grouping<'a> {
    schema: &'a Schema,
    keys: &'a [Named],
    plain: bool,
    found: Interner,
}

impl Grouping<'_> {
    fn over_groups(&mut self, expr: &Expr) -> Result<Expr, PlanError> {
        try_rewrite(expr, &mut |part| match part {
            Expr::Aggregate { .. } => {
                let aggregate = self.checked(part)?;
                let place = self.keys.len() + self.found.intern(&aggregate);
                Ok(Some(Expr::Field(place as u32)))
            }
            Expr::Window { .. } => Err(PlanError::WindowNotAllowed {
                expr: part.to_sql(self.schema),
                place: "an aggregation".to_owned(),
            }),
            Expr::Literal(_) => Ok(None),
            part => match self.key(part) {
                Some(place) => Ok(Some(Expr::Field(place as u32))),
                None if matches!(part, Expr::Field(_)) => {
                    Err(PlanError::NotGrouped { expr: part.to_sql(self.schema) })
                }
                None => Ok(None),
            },
        })
    }

    fn key(&self, expr: &Expr) -> Option<usize> {
        self.keys.iter().position(|key| key.expr == *expr)
    }

    fn checked(&self, aggregate: &Expr) -> Result<Expr, PlanError> {
        for child in aggregate.children() {
            if has_aggregate(child) {
                return Err(self.nested(aggregate, child));
            }
            refuse_windows(child, self.schema, "an aggregate")?;
        }
        match aggregate {
            Expr::Aggregate { function: AggregateFn::GroupingId, args, .. } => {
                self.grouping_id(aggregate, args)
            }
            _ => Ok(aggregate.clone()),
        }
    }

    /// Of all keys, unless it is said of which.
    fn grouping_id(&self, expr: &Expr, args: &[ExprRef]) -> Result<Expr, PlanError> {
        let invalid = |reason: &str| PlanError::InvalidArgument {
            reason: reason.to_owned(),
            expr: expr.to_sql(self.schema),
        };
        if self.plain {
            return Err(invalid("grouping_id needs `rollup`, `cube` or `grouping_sets`"));
        }
        if args.iter().any(|arg| self.key(arg).is_none()) {
            return Err(invalid("grouping_id takes grouping columns"));
        }
        let all = || self.keys.iter().map(|key| ExprRef::from(key.expr.clone())).collect();
        let args = if args.is_empty() { all() } else { args.to_vec() };
        let function = AggregateFn::GroupingId;
        Ok(Expr::Aggregate { function, args, distinct: false, filter: None })
    }

    fn nested(&self, outer: &Expr, inside: &Expr) -> PlanError {
        let mut inner = String::new();
        any(inside, |part| {
            let found = matches!(part, Expr::Aggregate { .. });
            if found {
                inner = part.to_sql(self.schema);
            }
            found
        });
        PlanError::NestedAggregate { inner, outer: outer.to_sql(self.schema) }
    }
}

/// The aggregation itself. Its columns have the names they have in the end where they are columns in the end.
fn node(
    input: PlanRef,
    keys: Vec<Named>,
    aggregates: Vec<Expr>,
    sets: GroupingSets,
    columns: &[Named],
) -> Result<PlanRef, PlanError> {
    let mut fields = schema_of(&keys, input.schema())?.fields;
    for (key, field) in fields.iter_mut().enumerate() {
        field.nullable |= left_out(&sets, key);
    }
    for aggregate in &aggregates {
        let (data_type, nullable) = infer(aggregate, input.schema())?;
        let name = aggregate.to_sql(input.schema()).into();
        fields.push(Field { qualifier: None, name, data_type, nullable });
    }
    for column in columns {
        if let Expr::Field(place) = column.expr {
            fields[place as usize].name = column.name.clone();
        }
    }
    let keys = keys.into_iter().map(|key| key.expr).collect();
    let plan = LogicalPlan::Aggregate { input, keys, aggregates, sets };
    Ok(PlanRef::new(plan, Arc::new(Schema { fields })))
}

/// Whether a grouping leaves out a key.
fn left_out(sets: &GroupingSets, key: usize) -> bool {
    match sets {
        GroupingSets::Plain => false,
        GroupingSets::Rollup | GroupingSets::Cube => true,
        GroupingSets::Sets(sets) => sets.iter().any(|set| !set.contains(&key)),
    }
}
