//! Finding out the columns of JSON lines from a sample.

use std::io::Cursor;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use arrow::json::reader::infer_json_schema;
use rayon::prelude::*;
use serde::de::IgnoredAny;

use crate::io::files::{FileError, TableFile, common, head, merge, table_schema};

/// The sample is spread over so many files at most.
const SAMPLED_MAX: usize = 64;
/// Lines of a file that are looked at, at most.
const LINES_MAX: usize = 20_000;

/// The columns of all files, each where its name first appears.
pub(crate) fn infer(files: &[TableFile], sample_bytes: u64) -> Result<Vec<FieldRef>, FileError> {
    let step = files.len().div_ceil(SAMPLED_MAX).max(1);
    let sampled: Vec<&TableFile> = files.iter().step_by(step).collect();
    let bytes = sample_bytes / sampled.len().max(1) as u64;
    let columns: Vec<Vec<FieldRef>> =
        sampled.par_iter().map(|file| columns_of(file, bytes)).collect::<Result<_, _>>()?;
    let fields = columns.into_iter().flatten().map(|field| (field, ()));
    let any = |a: &DataType, b: &DataType| Some(common_of(a, b));
    let merged = merge(fields, any).unwrap_or_default();
    let typed = |field: FieldRef| {
        let data_type = settled(field.data_type());
        Arc::new(Field::new(field.name(), data_type, true)) as FieldRef
    };
    Ok(merged.into_iter().map(typed).collect())
}

/// Values of different types have in common that they are written.
fn common_of(a: &DataType, b: &DataType) -> DataType {
    let number = |t: &DataType| matches!(t, DataType::Int64 | DataType::Float64);
    match common(a, b) {
        Some(common) => common,
        None if number(a) && number(b) => DataType::Float64,
        None => DataType::Utf8View,
    }
}

/// What was NULL everywhere is taken for a string.
fn settled(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| {
        Arc::new(Field::new(field.name(), settled(field.data_type()), true)) as FieldRef
    };
    match data_type {
        DataType::Null => DataType::Utf8View,
        DataType::List(item) => DataType::List(field(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        other => other.clone(),
    }
}

fn columns_of(file: &TableFile, bytes: u64) -> Result<Vec<FieldRef>, FileError> {
    let head = head(file, bytes)?;
    let is_object = |line: &&[u8]| {
        line.trim_ascii_start().starts_with(b"{")
            && serde_json::from_slice::<IgnoredAny>(line).is_ok()
    };
    let lines = head.split(|byte| *byte == b'\n').take(LINES_MAX);
    let lines: Vec<&[u8]> = lines.filter(is_object).collect();
    let all = infer_of(&lines);
    // Some lines together make no schema, such as a string here and an object there: each does.
    let each = || {
        let fields = lines.iter().filter_map(|line| infer_of(&[line]).ok());
        let fields = fields.flat_map(|schema| schema.fields().iter().cloned().collect::<Vec<_>>());
        merge(fields.map(|field| (field, ())), |a, b| Some(common_of(a, b))).unwrap_or_default()
    };
    Ok(match all {
        Ok(schema) => schema.fields().iter().cloned().collect(),
        Err(_) => each(),
    })
}

fn infer_of(lines: &[&[u8]]) -> Result<Schema, arrow::error::ArrowError> {
    let (schema, _) = infer_json_schema(Cursor::new(lines.join(&b'\n')), None)?;
    Ok(Schema::clone(&table_schema(&schema)))
}
