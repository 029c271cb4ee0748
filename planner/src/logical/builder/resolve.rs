//! Expressions by name become expressions by position.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::names::{Meaning, Names};
use super::super::{Field, Schema};
use crate::error::PlanError;
use crate::expr::{Expr, ExprRef, Scalar, ScalarFn, SortKey, any, try_rewrite};
use crate::types::infer;

/// Resolves names against the columns of one input.
pub(super) struct Resolver<'a> {
    schema: &'a Schema,
    names: Names<'a>,
    /// Where the expressions were written, for messages: "a selection".
    place: &'static str,
}

/// A column that is to be computed.
pub(super) struct Named {
    pub(super) expr: Expr,
    pub(super) qualifier: Option<Arc<str>>,
    pub(super) name: Arc<str>,
    /// Written by the program itself, and not by way of a wildcard.
    pub(super) explicit: bool,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(schema: &'a Schema, place: &'static str) -> Self {
        Self { schema, names: Names::new(schema), place }
    }

    /// The expression with columns by position and without aliases.
    pub(super) fn expr(&self, expr: &Expr) -> Result<Expr, PlanError> {
        let resolved = try_rewrite(expr, &mut |part| match part {
            Expr::Column(name) => Ok(Some(self.meant(&self.names.find(name)?))),
            Expr::Alias { expr, .. } => self.expr(expr).map(Some),
            Expr::Wildcard { .. } => Err(PlanError::WildcardNotAllowed {
                expr: part.to_sql(self.schema),
                place: "an expression".to_owned(),
            }),
            _ => Ok(None),
        })?;
        Ok(resolved)
    }

    /// An expression of one row: without aggregates and window functions.
    pub(super) fn of_one_row(&self, expr: &Expr) -> Result<Expr, PlanError> {
        let resolved = self.expr(expr)?;
        refuse_aggregates(&resolved, self.schema, self.place)?;
        refuse_windows(&resolved, self.schema, self.place)?;
        Ok(resolved)
    }

    /// The position of the column that an expression is.
    pub(super) fn column(&self, expr: &Expr) -> Result<usize, PlanError> {
        match self.expr(expr)? {
            Expr::Field(position) => Ok(position as usize),
            other => Err(PlanError::Invalid(format!(
                "`{}` is no column: {} takes columns by name",
                other.to_sql(self.schema),
                self.place
            ))),
        }
    }

    /// The expressions with their names, wildcards expanded.
    pub(super) fn named(&self, exprs: &[Expr]) -> Result<Vec<Named>, PlanError> {
        let mut all = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match expr {
                Expr::Wildcard { qualifier } => {
                    all.extend(self.wildcard(qualifier.as_ref())?);
                }
                expr => all.push(self.name(expr)?),
            }
        }
        Ok(all)
    }

    pub(super) fn name(&self, expr: &Expr) -> Result<Named, PlanError> {
        let resolved = self.expr(expr)?;
        let (qualifier, name) = match (expr, &resolved) {
            (Expr::Alias { name, .. }, _) => (None, name.clone()),
            (_, Expr::Field(position)) => {
                let field = &self.schema.fields[*position as usize];
                (field.qualifier.clone(), field.name.clone())
            }
            (_, other) => (None, own_name(other, self.schema)),
        };
        Ok(Named { expr: resolved, qualifier, name, explicit: true })
    }

    fn wildcard(&self, qualifier: Option<&Arc<str>>) -> Result<Vec<Named>, PlanError> {
        let fits = |field: &Field| qualifier.is_none() || field.qualifier.as_ref() == qualifier;
        let named = |(position, field): (usize, &Field)| {
            fits(field).then(|| Named {
                expr: Expr::Field(position as u32),
                qualifier: field.qualifier.clone(),
                name: field.name.clone(),
                explicit: false,
            })
        };
        let all: Vec<Named> = self.schema.fields.iter().enumerate().filter_map(named).collect();
        match qualifier {
            Some(qualifier) if all.is_empty() => {
                Err(PlanError::unknown_column(&format!("{qualifier}.*"), self.schema))
            }
            _ => Ok(all),
        }
    }

    pub(super) fn sort_keys(&self, keys: &[SortKey]) -> Result<Vec<SortKey>, PlanError> {
        let resolve =
            |key: &SortKey| Ok(SortKey { expr: self.of_one_row(&key.expr)?.into(), ..key.clone() });
        keys.iter().map(resolve).collect()
    }

    fn meant(&self, meaning: &Meaning) -> Expr {
        match meaning {
            Meaning::Column(position) => Expr::Field(*position as u32),
            Meaning::Field(position, path) => {
                path.iter().fold(Expr::Field(*position as u32), |expr, name| Expr::Call {
                    function: ScalarFn::GetField,
                    args: vec![expr.into(), Expr::Literal(Scalar::from(name.as_str())).into()],
                })
            }
        }
    }
}

/// What a column without alias is called: a field of a struct by its name, anything else by its text.
fn own_name(expr: &Expr, schema: &Schema) -> Arc<str> {
    match expr {
        Expr::Call { function: ScalarFn::GetField, args } => {
            match args.last().map(|last| &**last) {
                Some(Expr::Literal(Scalar::Utf8(name))) => name.clone(),
                _ => expr.to_sql(schema).into(),
            }
        }
        other => other.to_sql(schema).into(),
    }
}

/// The schema of columns that are computed from those of `input`.
pub(super) fn schema_of(columns: &[Named], input: &Schema) -> Result<Schema, PlanError> {
    let field = |named: &Named| {
        let (data_type, nullable) = infer(&named.expr, input)?;
        let (qualifier, name) = (named.qualifier.clone(), named.name.clone());
        Ok(Field { qualifier, name, data_type, nullable })
    };
    Ok(Schema { fields: columns.iter().map(field).collect::<Result<_, PlanError>>()? })
}

/// A column that the program has named must be the only one of its name. Columns that a wildcard stands for may
/// share names, as those of a join do.
pub(super) fn refuse_duplicates(columns: &[Named], place: &str) -> Result<(), PlanError> {
    let mut explicit: HashSet<&str> = HashSet::new();
    let mut implied: HashSet<&str> = HashSet::new();
    let mut names = Vec::new();
    for column in columns {
        let name = &*column.name;
        let taken = explicit.contains(name) || column.explicit && implied.contains(name);
        if taken && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        if column.explicit {
            explicit.insert(name)
        } else {
            implied.insert(name)
        };
    }
    if names.is_empty() {
        return Ok(());
    }
    Err(PlanError::DuplicateColumns { names, place: place.to_owned() })
}

pub(super) fn has_aggregate(expr: &Expr) -> bool {
    any(expr, |part| matches!(part, Expr::Aggregate { .. }))
}

pub(super) fn has_window(expr: &Expr) -> bool {
    any(expr, |part| matches!(part, Expr::Window { .. }))
}

pub(super) fn refuse_aggregates(
    expr: &Expr,
    schema: &Schema,
    place: &str,
) -> Result<(), PlanError> {
    match first(expr, |part| matches!(part, Expr::Aggregate { .. }), schema) {
        Some(expr) => Err(PlanError::AggregateNotAllowed { expr, place: place.to_owned() }),
        None => Ok(()),
    }
}

pub(super) fn refuse_windows(expr: &Expr, schema: &Schema, place: &str) -> Result<(), PlanError> {
    match first(expr, |part| matches!(part, Expr::Window { .. }), schema) {
        Some(expr) => Err(PlanError::WindowNotAllowed { expr, place: place.to_owned() }),
        None => Ok(()),
    }
}

/// The text of a part for which `test` holds.
fn first(expr: &Expr, test: impl Fn(&Expr) -> bool, schema: &Schema) -> Option<String> {
    let mut found = None;
    any(expr, |part| {
        if test(part) {
            found = Some(part.to_sql(schema));
        }
        found.is_some()
    });
    found
}

/// The expression as another type, if it has another.
pub(super) fn cast(expr: Expr, from: &arrow_schema::DataType, to: &arrow_schema::DataType) -> Expr {
    if from == to {
        return expr;
    }
    Expr::Cast { expr: ExprRef::from(expr), to: to.clone(), lenient: false }
}
