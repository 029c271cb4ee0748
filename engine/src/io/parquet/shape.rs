//! What the footers of files say of a table before it is read.

use std::collections::HashMap;

use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use millstream_planner::expr::Scalar;
use millstream_planner::logical::ColumnStatistics;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::columns::Columns;
use super::footer;
use super::pruning::ColumnBounds;
use crate::io::files::{FileError, TableFile, compare, table_schema};

/// What one file consists of.
pub(crate) struct FileShape {
    /// Its columns, as those of a table.
    pub(crate) schema: SchemaRef,
    pub(crate) rows: u64,
    /// Bytes when decoded, about.
    pub(crate) bytes: u64,
    /// By row group: its size in the file.
    pub(crate) groups: Vec<u64>,
    /// By column of `schema`: what is known of its values.
    statistics: Vec<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    min: Option<Scalar>,
    max: Option<Scalar>,
    nulls: Option<u64>,
    /// Decoded.
    bytes: u64,
}

/// Looks into a file.
pub(crate) fn shape(file: &TableFile) -> Result<FileShape, FileError> {
    let (_, footer) = footer::open(file)?;
    let found = footer::with_columns(file, std::sync::Arc::clone(&footer))?;
    let schema = table_schema(found.schema());
    let wanted: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    let columns = Columns::new(file, std::sync::Arc::clone(&footer), &wanted, false)?;
    let groups = footer.row_groups();
    let bytes = decoded_bytes(groups);
    let known = |(at, field): (usize, &FieldRef)| {
        known(&columns, at, groups, bytes.get(field.name().as_str()).copied().unwrap_or(0))
    };
    let statistics: Vec<Known> = wanted.iter().enumerate().map(known).collect();
    Ok(FileShape {
        rows: footer.file_metadata().num_rows().max(0) as u64,
        bytes: statistics.iter().map(|known| known.bytes).sum(),
        groups: groups.iter().map(|group| group.compressed_size().max(0) as u64).collect(),
        schema,
        statistics,
    })
}

fn known(columns: &Columns, column: usize, groups: &[RowGroupMetaData], bytes: u64) -> Known {
    let Some(bounds) = ColumnBounds::of_groups(columns, column, groups) else {
        return Known { min: None, max: None, nulls: None, bytes };
    };
    let each = (0..groups.len()).filter(|at| groups[*at].num_rows() > 0);
    let all: Vec<_> = each.clone().map(|at| bounds.get(at)).collect();
    // Groups of NULLs alone have no bounds, and need none.
    let valued = || all.iter().filter(|bounds| bounds.values);
    Known {
        min: extreme(valued().map(|bounds| bounds.min.as_ref()), std::cmp::Ordering::Less),
        max: extreme(valued().map(|bounds| bounds.max.as_ref()), std::cmp::Ordering::Greater),
        nulls: each.map(|at| bounds.nulls(at)).sum(),
        bytes,
    }
}

/// The smallest or largest of values, if all are known.
fn extreme<'a>(
    values: impl Iterator<Item = Option<&'a Scalar>>,
    wanted: std::cmp::Ordering,
) -> Option<Scalar> {
    let mut found: Option<&Scalar> = None;
    for value in values {
        let value = value?;
        match found {
            Some(known) if compare(value, known)? != wanted => {}
            _ => found = Some(value),
        }
    }
    found.cloned()
}

/// By column of the file, its bytes once it is decoded. Values as they are stored tell little of that: dictionaries are
/// written out.
fn decoded_bytes(groups: &[RowGroupMetaData]) -> HashMap<&str, u64> {
    let mut bytes = HashMap::new();
    for group in groups {
        for chunk in group.columns() {
            let name = chunk.column_path().parts().first().map_or("", String::as_str);
            *bytes.entry(name).or_default() += chunk_bytes(chunk, group.num_rows().max(0) as u64);
        }
    }
    bytes
}

fn chunk_bytes(chunk: &ColumnChunkMetaData, rows: u64) -> u64 {
    let stored = chunk.uncompressed_size().max(0) as u64;
    let width = match chunk.column_type() {
        parquet::basic::Type::BOOLEAN => return rows.div_ceil(8),
        parquet::basic::Type::INT32 | parquet::basic::Type::FLOAT => 4,
        parquet::basic::Type::BYTE_ARRAY => {
            let content = chunk.unencoded_byte_array_data_bytes().unwrap_or(0).max(0) as u64;
            return rows * 16 + content.max(stored);
        }
        parquet::basic::Type::FIXED_LEN_BYTE_ARRAY => 16,
        _ if chunk.column_descr().type_precision() > 0 => 16,
        _ => 8,
    };
    // Lists have more values than rows.
    (rows * width).max(chunk.num_values().max(0) as u64 * width)
}

/// What all files together say of a column of the table.
pub(crate) fn statistics(field: &FieldRef, files: &[FileShape], all: bool) -> ColumnStatistics {
    let none = ColumnStatistics::default();
    if !all || files.is_empty() {
        return none;
    }
    let mut known: Vec<Known> = Vec::with_capacity(files.len());
    for file in files.iter().filter(|file| file.rows > 0) {
        match file.schema.index_of(field.name()) {
            Ok(at) if file.schema.field(at).data_type() == field.data_type() => {
                known.push(file.statistics[at].clone());
            }
            // Other types would have to be widened first; absent columns are NULL.
            _ => return none,
        }
    }
    let nulls: Option<u64> = known.iter().map(|known| known.nulls).sum();
    let min = extreme(known.iter().map(|known| known.min.as_ref()), std::cmp::Ordering::Less);
    let max = extreme(known.iter().map(|known| known.max.as_ref()), std::cmp::Ordering::Greater);
    let rows: u64 = files.iter().map(|file| file.rows).sum();
    let distinct = span(min.as_ref(), max.as_ref(), field.data_type()).map(|span| span.min(rows));
    let bytes = Some(known.iter().map(|known| known.bytes).sum());
    ColumnStatistics { distinct, min, max, nulls, bytes }
}

/// How many values there are between bounds of whole numbers or days.
fn span(min: Option<&Scalar>, max: Option<&Scalar>, data_type: &DataType) -> Option<u64> {
    let number = |value: &Scalar| match value {
        Scalar::Int8(value) => Some(i128::from(*value)),
        Scalar::Int16(value) => Some(i128::from(*value)),
        Scalar::Int32(value) | Scalar::Date32(value) => Some(i128::from(*value)),
        Scalar::Int64(value) => Some(i128::from(*value)),
        Scalar::Decimal128 { value, .. } => Some(*value),
        _ => None,
    };
    if *data_type == DataType::Boolean {
        return Some(2);
    }
    let span = number(max?)?.checked_sub(number(min?)?)?.checked_add(1)?;
    u64::try_from(span).ok()
}
