mod aggregates;
mod joins;
mod selections;
mod sets;

use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField};

use super::scan;
use crate::error::PlanError;
use crate::expr::type_name;
use crate::logical::{PlanRef, Schema, Source, Table};

/// A table of columns that may be NULL, but for those whose name ends in `!`.
fn table(columns: &[(&str, DataType)]) -> PlanRef {
    let field = |(name, data_type): &(&str, DataType)| {
        ArrowField::new(name.trim_end_matches('!'), data_type.clone(), !name.ends_with('!'))
    };
    let fields: Vec<ArrowField> = columns.iter().map(field).collect();
    scan(Arc::new(Table {
        id: 0,
        source: Source::default(),
        name: "table".into(),
        schema: Arc::new(arrow_schema::Schema::new(fields)),
        rows: None,
        bytes: None,
        partitions: 1,
        takes_predicates: false,
        columns: Vec::new(),
    }))
}

fn people() -> PlanRef {
    table(&[
        ("id!", DataType::Int64),
        ("name", DataType::Utf8View),
        ("age", DataType::Int32),
        ("city", DataType::Utf8View),
    ])
}

/// The columns as text: `l.id: bigint!`, with `!` where it cannot be NULL.
fn columns(schema: &Schema) -> String {
    let column = |field: &crate::logical::Field| {
        let side = field.qualifier.as_ref().map_or(String::new(), |side| format!("{side}."));
        let null = if field.nullable { "" } else { "!" };
        format!("{side}{}: {}{null}", field.name, type_name(&field.data_type))
    };
    schema.fields.iter().map(column).collect::<Vec<_>>().join(", ")
}

#[track_caller]
fn gives(plan: &PlanRef, text: &str) {
    assert_eq!(columns(plan.schema()), text);
}

#[track_caller]
fn fails(plan: Result<PlanRef, PlanError>, message: &str) {
    assert_eq!(plan.unwrap_err().to_string(), message);
}
