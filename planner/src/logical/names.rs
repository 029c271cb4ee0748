//! Names of columns: which column of a schema a name means.

use std::collections::HashMap;

use arrow_schema::DataType;

use super::{Field, Schema};
use crate::error::PlanError;
use crate::expr::ColumnName;

impl Schema {
    /// The position of the column that a name means.
    ///
    /// # Errors
    ///
    /// There is none, or there are several.
    pub fn find(&self, name: &ColumnName) -> Result<usize, PlanError> {
        let fits = |field: &Field| {
            *field.name == *name.name
                && (name.qualifier.is_none() || field.qualifier == name.qualifier)
        };
        let positions =
            self.fields.iter().enumerate().filter(|(_, field)| fits(field)).map(|(at, _)| at);
        self.only(positions.collect(), &shown(name))
    }

    fn only(&self, positions: Vec<usize>, name: &str) -> Result<usize, PlanError> {
        match positions[..] {
            [position] => Ok(position),
            [] => Err(PlanError::unknown_column(name, self)),
            _ => {
                let side = |&at: &usize| {
                    self.fields[at].qualifier.as_deref().unwrap_or_default().to_owned()
                };
                let qualifiers = positions.iter().map(side).collect();
                Err(PlanError::AmbiguousColumn { name: name.to_owned(), qualifiers })
            }
        }
    }
}

fn shown(name: &ColumnName) -> String {
    match &name.qualifier {
        Some(qualifier) => format!("{qualifier}.{}", name.name),
        None => name.name.to_string(),
    }
}

/// What a name means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// A column.
    Column(usize),
    /// A field of a struct column, and a field of that, and so on.
    Field(usize, Vec<String>),
}

/// The columns of a schema by name, for looking up many.
pub(super) struct Names<'a> {
    schema: &'a Schema,
    by_name: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(schema: &'a Schema) -> Self {
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::with_capacity(schema.len());
        for (position, field) in schema.fields.iter().enumerate() {
            by_name.entry(&field.name).or_default().push(position);
        }
        Self { schema, by_name }
    }

    /// What a name means: a column of exactly this name, else `side.column`, else `column.field` of a struct.
    pub(super) fn find(&self, name: &ColumnName) -> Result<Meaning, PlanError> {
        if let Some(qualifier) = &name.qualifier {
            return self.column(Some(qualifier), &name.name, &shown(name)).map(Meaning::Column);
        }
        let whole = self.column(None, &name.name, &name.name);
        let Err(PlanError::UnknownColumn { .. }) = &whole else {
            return whole.map(Meaning::Column);
        };
        let Some((head, rest)) = name.name.split_once('.') else {
            return whole.map(Meaning::Column);
        };
        match self.column(Some(head), rest, &name.name) {
            Err(PlanError::UnknownColumn { .. }) => {}
            found => return found.map(Meaning::Column),
        }
        match self.column(None, head, head) {
            Ok(at) if matches!(self.schema.fields[at].data_type, DataType::Struct(_)) => {
                Ok(Meaning::Field(at, rest.split('.').map(str::to_owned).collect()))
            }
            _ => whole.map(Meaning::Column),
        }
    }

    fn column(&self, qualifier: Option<&str>, name: &str, shown: &str) -> Result<usize, PlanError> {
        let all = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let side = |&at: &usize| {
            qualifier.is_none() || self.schema.fields[at].qualifier.as_deref() == qualifier
        };
        self.schema.only(all.iter().copied().filter(side).collect(), shown)
    }
}
