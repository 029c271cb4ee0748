//! A table of files as one value: what it consists of, its columns and its partitions.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use millstream_planner::expr::Scalar;
use millstream_planner::logical::ColumnStatistics;
use millstream_planner::physical::Program;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::listing::{self, Listed};
use super::plain::TextRows;
use super::scan::{FileRows, TableScan};
use super::splits::{self, Atoms, Piece};
use super::types::{common, merge, table_type};
use super::{BadRecords, FileError, Format, ReadOptions, hive};
use crate::executor::{Task, TaskError};
use crate::io::output::Manifest;
use crate::io::text::{Compression, InvalidUtf8};
use crate::io::{csv, ipc, json, parquet};
use crate::operators::batches::BoxBatches;

/// Of so many files, what they consist of is looked up in each; of more, in a sample of these.
const INSPECTED_MAX: usize = 256;
/// A file larger than this is looked into, so that it can be divided.
const DIVIDED_BYTES: u64 = 4 << 20;

/// A file of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct TableFile {
    /// An absolute path, or the address of an object.
    pub(crate) path: String,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// When it was written, in nanoseconds since 1970.
    pub(crate) modified_ns: u64,
}

/// A table of files. Travels to executors with the stages that read it. Cloning shares it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FileTable(Arc<Contents>);

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    format: Format,
    bad_records: BadRecords,
    invalid_utf8: InvalidUtf8,
    files: Vec<TableFile>,
    /// By file: the values of the columns of directories.
    constants: Vec<Vec<Scalar>>,
    /// Columns of files, then those of directories.
    schema: SchemaRef,
    data_columns: usize,
    splits: Vec<Vec<Piece>>,
    rows: Option<u64>,
    bytes: Option<u64>,
    /// For planning only.
    #[serde(skip)]
    statistics: Vec<ColumnStatistics>,
}

/// What planning knows of a table.
pub(crate) struct TableShape {
    /// All columns.
    pub(crate) schema: SchemaRef,
    /// Rows, where they are known.
    pub(crate) rows: Option<u64>,
    /// Bytes when decoded, about.
    pub(crate) bytes: Option<u64>,
    /// The number of partitions.
    pub(crate) partitions: u32,
    /// By column.
    pub(crate) columns: Vec<ColumnStatistics>,
}

/// What was found in files.
pub(crate) struct Found {
    /// The columns of all of them.
    pub(crate) fields: Vec<FieldRef>,
    /// By file: what it consists of.
    pub(super) atoms: Vec<Atoms>,
    pub(crate) rows: Option<u64>,
    pub(crate) bytes: Option<u64>,
    /// By column of `fields`.
    pub(crate) statistics: Vec<ColumnStatistics>,
}

impl FileTable {
    /// Lists files, finds out their columns and divides them into partitions. The same files give the same table.
    ///
    /// # Errors
    /// Paths that lead nowhere, files that are not of the format or whose columns do not go together, and no
    /// file at all where the columns are not given.
    pub(crate) fn open(
        paths: &[String],
        format: Format,
        options: ReadOptions,
    ) -> Result<Self, FileError> {
        let options = with_known_columns(paths, &format, options);
        let mut listed = listing::list(paths)?;
        listed.retain(|file| file.bytes > 0);
        let hive = if options.hive { hive_columns(&listed, &options)? } else { Vec::new() };
        let file = |file: &Listed| TableFile {
            path: file.path.clone(),
            bytes: file.bytes,
            modified_ns: file.modified_ns,
        };
        let files: Vec<TableFile> = listed.iter().map(file).collect();
        let given = given_fields(&options, &hive);
        if files.is_empty() && given.is_none() && format != Format::Text {
            return Err(FileError::Nothing { format: format.name(), path: paths.join(", ") });
        }
        let mut found = inspect(&files, &format, &options, given.as_deref())?;
        let keep: Vec<bool> = found
            .fields
            .iter()
            .map(|field| !hive.iter().any(|(name, _)| name == field.name()))
            .collect();
        let mut kept = keep.iter();
        found.fields.retain(|_| kept.next() == Some(&true));
        let mut kept = keep.iter();
        found.statistics.retain(|_| kept.next() == Some(&true));
        if let BadRecords::Keep(column) = &options.bad_records
            && matches!(format, Format::Csv(_) | Format::Json)
        {
            found.fields.push(Arc::new(Field::new(column, DataType::Utf8View, true)));
            found.statistics.push(ColumnStatistics::default());
        }
        let constants = constants(&listed, &hive)?;
        let data_columns = found.fields.len();
        let mut fields = found.fields;
        let mut statistics = found.statistics;
        for (at, (name, data_type)) in hive.iter().enumerate() {
            let nullable = constants.iter().any(|values| values[at].is_null());
            fields.push(Arc::new(Field::new(name, data_type.clone(), nullable)));
            statistics.push(constant_statistics(constants.iter().map(|values| &values[at])));
        }
        Ok(Self(Arc::new(Contents {
            format,
            bad_records: options.bad_records,
            invalid_utf8: options.invalid_utf8,
            splits: splits::plan(&found.atoms),
            files,
            constants,
            schema: Arc::new(Schema::new(fields)),
            data_columns,
            rows: found.rows,
            bytes: found.bytes,
            statistics,
        })))
    }

    /// What planning knows of it.
    pub(crate) fn shape(&self) -> TableShape {
        TableShape {
            schema: Arc::clone(&self.0.schema),
            rows: self.0.rows,
            bytes: self.0.bytes,
            partitions: self.0.splits.len().max(1) as u32,
            columns: self.0.statistics.clone(),
        }
    }

    /// Reads a partition: the columns at `projection`, of rows that pass the predicate over these columns, and
    /// of these no more than `fetch`.
    ///
    /// # Errors
    /// When the batches are asked for: files that changed, are damaged or hold what the options refuse.
    pub(crate) fn scan(
        &self,
        partition: u32,
        projection: &[u32],
        predicate: Option<&Program>,
        fetch: Option<u64>,
        task: &Task,
    ) -> Result<BoxBatches, TaskError> {
        Ok(Box::new(TableScan::new(self, partition, projection, predicate, fetch, task)?))
    }

    pub(super) fn field(&self, column: u32) -> Option<FieldRef> {
        self.0.schema.fields().get(column as usize).cloned()
    }

    /// Whether a column is one of the files.
    pub(super) fn is_data(&self, column: u32) -> bool {
        (column as usize) < self.0.data_columns
    }

    /// The value of a column of directories.
    pub(super) fn constant(&self, file: u32, column: u32) -> Option<&Scalar> {
        let at = (column as usize).checked_sub(self.0.data_columns)?;
        self.0.constants.get(file as usize)?.get(at)
    }

    pub(super) fn pieces(&self, partition: u32) -> Vec<Piece> {
        self.0.splits.get(partition as usize).cloned().unwrap_or_default()
    }

    /// Opens the rows of a piece: those that pass the condition at least, and `limit` of them at most are wanted.
    pub(super) fn open_piece(
        &self,
        piece: &Piece,
        wanted: &[FieldRef],
        condition: Option<Condition>,
        limit: u64,
        task: &Task,
    ) -> Result<Box<dyn FileRows>, TaskError> {
        let file = self.0.files.get(piece.file as usize);
        let file =
            file.ok_or_else(|| TaskError::internal("a piece of a file that is not there"))?;
        let lossy = self.0.invalid_utf8 == InvalidUtf8::Lossy;
        Ok(match &self.0.format {
            Format::Parquet => {
                Box::new(parquet::ParquetRows::open(file, &piece.range, wanted, condition, lossy)?)
            }
            Format::Csv(options) => {
                let all: Vec<FieldRef> = self.0.schema.fields()[..self.0.data_columns].to_vec();
                let how = csv::Reading { options, policy: self.policy(), columns: &all };
                Box::new(csv::CsvRows::open(file, &piece.range, wanted, &how, limit, task)?)
            }
            Format::Json => Box::new(json::JsonRows::open(
                file,
                &piece.range,
                wanted,
                self.policy(),
                limit,
                task,
            )?),
            Format::Ipc => Box::new(ipc::IpcRows::open(file, wanted)?),
            Format::Text => {
                Box::new(TextRows::open(file, &piece.range, wanted, self.policy(), limit, task)?)
            }
        })
    }

    fn policy(&self) -> Policy {
        Policy { bad_records: self.0.bad_records.clone(), invalid_utf8: self.0.invalid_utf8 }
    }
}

/// What is done with records that cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) bad_records: BadRecords,
    pub(crate) invalid_utf8: InvalidUtf8,
}

/// The columns of directories, which are the same for all files, with the types of all their values.
fn hive_columns(
    files: &[Listed],
    options: &ReadOptions,
) -> Result<Vec<(String, DataType)>, FileError> {
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    let names = |file: &Listed| -> Vec<String> {
        file.columns.iter().map(|(name, _)| name.clone()).collect()
    };
    let expected = names(first);
    if let Some(other) = files.iter().find(|file| names(file) != expected) {
        return Err(FileError::Layout {
            path: other.path.clone(),
            found: names(other).join(", "),
            expected: expected.join(", "),
        });
    }
    let given = |name: &str| {
        Some(table_type(options.schema.as_ref()?.field_with_name(name).ok()?.data_type()))
    };
    let typed = |(at, name): (usize, String)| {
        let values: BTreeSet<&str> =
            files.iter().filter_map(|file| file.columns[at].1.as_deref()).collect();
        let data_type = given(&name).unwrap_or_else(|| hive::infer(values.iter().copied()));
        (name, data_type)
    };
    Ok(expected.into_iter().enumerate().map(typed).collect())
}

/// By file, the values of the columns of directories.
fn constants(files: &[Listed], hive: &[(String, DataType)]) -> Result<Vec<Vec<Scalar>>, FileError> {
    let value = |file: &Listed, at: usize| {
        let ((name, data_type), text) = (&hive[at], file.columns[at].1.as_deref());
        hive::value_of(text, data_type).ok_or_else(|| FileError::Value {
            path: file.path.clone(),
            column: name.clone(),
            reason: format!(
                "{} in the name of its directory is no {data_type}",
                text.unwrap_or_default()
            ),
        })
    };
    files.iter().map(|file| (0..hive.len()).map(|at| value(file, at)).collect()).collect()
}

fn constant_statistics<'a>(values: impl Iterator<Item = &'a Scalar> + Clone) -> ColumnStatistics {
    let order =
        |a: &&Scalar, b: &&Scalar| super::prune::compare(a, b).unwrap_or(std::cmp::Ordering::Equal);
    let values = values.filter(|value| !value.is_null());
    let different: BTreeSet<String> = values.clone().map(|value| format!("{value:?}")).collect();
    ColumnStatistics {
        distinct: Some(different.len() as u64),
        min: values.clone().min_by(order).cloned(),
        max: values.max_by(order).cloned(),
        nulls: None,
        bytes: None,
    }
}

/// Text without rows does not tell its columns, or not their types; the manifest of an output does.
fn with_known_columns(paths: &[String], format: &Format, options: ReadOptions) -> ReadOptions {
    let text = matches!(format, Format::Csv(_) | Format::Json);
    let ([path], None, true) = (paths, &options.schema, text) else { return options };
    match Manifest::read(path) {
        Ok(Manifest { rows: 0, schema: Some(schema), .. }) => {
            ReadOptions { schema: Some(schema), ..options }
        }
        _ => options,
    }
}

/// The data columns that were given, without those of directories.
fn given_fields(options: &ReadOptions, hive: &[(String, DataType)]) -> Option<Vec<FieldRef>> {
    let table = |field: &FieldRef| {
        // Files may lack columns and values whatever was said.
        Arc::new(Field::new(field.name(), table_type(field.data_type()), true))
    };
    let is_data = |field: &FieldRef| !hive.iter().any(|(name, _)| name == field.name());
    let fields = options.schema.as_ref()?.fields().iter().map(table);
    Some(fields.filter(is_data).collect())
}

/// Looks into files for their columns and for how they can be divided.
fn inspect(
    files: &[TableFile],
    format: &Format,
    options: &ReadOptions,
    given: Option<&[FieldRef]>,
) -> Result<Found, FileError> {
    match format {
        Format::Parquet => inspect_parquet(files, given),
        Format::Ipc => inspect_ipc(files, given),
        Format::Csv(csv) => {
            let fields = match given {
                Some(given) => given.to_vec(),
                None => csv::infer(files, csv, options.sample_bytes)?,
            };
            let cut = csv::cuttable(files, csv)?;
            Ok(of_text(files, fields, cut))
        }
        Format::Json => {
            let fields = match given {
                Some(given) => given.to_vec(),
                None => json::infer(files, options.sample_bytes)?,
            };
            Ok(of_text(files, fields, true))
        }
        Format::Text => {
            let value = Arc::new(Field::new("value", DataType::Utf8View, false));
            Ok(of_text(files, vec![value], true))
        }
    }
}

fn of_text(files: &[TableFile], fields: Vec<FieldRef>, cut: bool) -> Found {
    let atoms = |file: &TableFile| match cut && Compression::of(&file.path).splittable() {
        true => Atoms::Bytes(file.bytes),
        false => Atoms::Whole(file.bytes),
    };
    Found {
        atoms: files.iter().map(atoms).collect(),
        rows: None,
        bytes: Some(files.iter().map(|file| file.bytes).sum()),
        statistics: vec![ColumnStatistics::default(); fields.len()],
        fields,
    }
}

/// The files to look into: all of few, of many some that are spread over them, and those that have to be
/// looked into in order to be divided.
fn inspected(files: &[TableFile]) -> Vec<usize> {
    let step = files.len().div_ceil(INSPECTED_MAX).max(1);
    let large = |file: &TableFile| file.bytes > DIVIDED_BYTES;
    let last = files.len().saturating_sub(1);
    (0..files.len()).filter(|at| at % step == 0 || *at == last || large(&files[*at])).collect()
}

fn inspect_parquet(files: &[TableFile], given: Option<&[FieldRef]>) -> Result<Found, FileError> {
    let which = inspected(files);
    let shapes: Vec<parquet::FileShape> =
        which.par_iter().map(|at| parquet::shape(&files[*at])).collect::<Result<_, _>>()?;
    let all = which.len() == files.len();
    let mut atoms: Vec<Atoms> = files.iter().map(|file| Atoms::Whole(file.bytes)).collect();
    for (at, shape) in which.iter().zip(&shapes) {
        if !shape.groups.is_empty() {
            atoms[*at] = Atoms::Parts(shape.groups.clone());
        }
    }
    let schemas = which.iter().zip(&shapes).map(|(at, shape)| (&files[*at], &shape.schema));
    let fields = match given {
        Some(given) => given.to_vec(),
        None => merge_schemas(schemas, all)?,
    };
    let share = |sum: u64| match all {
        true => sum,
        false => {
            (u128::from(sum) * total(files)
                / which.iter().map(|at| u128::from(files[*at].bytes)).sum::<u128>().max(1))
                as u64
        }
    };
    let mut statistics: Vec<ColumnStatistics> =
        fields.iter().map(|field| parquet::statistics(field, &shapes, all)).collect();
    let rows = share(shapes.iter().map(|shape| shape.rows).sum());
    let largest = which.iter().zip(&shapes).max_by_key(|(_, shape)| shape.rows);
    if let Some((at, _)) = largest {
        let distinct = parquet::distinct(&files[*at], &fields, rows)?;
        for (statistics, distinct) in statistics.iter_mut().zip(distinct) {
            // There are no more than fit between the bounds.
            statistics.distinct = match (statistics.distinct, distinct) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
    Ok(Found {
        fields,
        atoms,
        rows: (all || !shapes.is_empty()).then_some(rows),
        bytes: Some(share(shapes.iter().map(|shape| shape.bytes).sum())),
        statistics,
    })
}

fn total(files: &[TableFile]) -> u128 {
    files.iter().map(|file| u128::from(file.bytes)).sum()
}

fn inspect_ipc(files: &[TableFile], given: Option<&[FieldRef]>) -> Result<Found, FileError> {
    let fields = match given {
        Some(given) => given.to_vec(),
        None => {
            let which = inspected(files);
            let schemas: Vec<SchemaRef> =
                which.par_iter().map(|at| ipc::schema(&files[*at])).collect::<Result<_, _>>()?;
            let found = which.iter().map(|at| &files[*at]).zip(&schemas);
            merge_schemas(found, which.len() == files.len())?
        }
    };
    Ok(of_text(files, fields, false))
}

/// The columns of all files by name. One that a file lacks may be NULL, and any if not all files are known.
fn merge_schemas<'a>(
    files: impl Iterator<Item = (&'a TableFile, &'a SchemaRef)> + Clone,
    all: bool,
) -> Result<Vec<FieldRef>, FileError> {
    for (file, schema) in files.clone() {
        check_names(&file.path, schema)?;
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for field in files.clone().flat_map(|(_, schema)| schema.fields()) {
        *counts.entry(field.name()).or_default() += 1;
    }
    let count = files.clone().count();
    let found = files.flat_map(|(file, schema)| {
        schema.fields().iter().map(move |field| (Arc::clone(field), &file.path))
    });
    let merged = merge(found, common).map_err(|(known, field, path)| FileError::Type {
        path: path.clone(),
        column: field.name().clone(),
        found: field.data_type().clone(),
        wanted: known.data_type().clone(),
    })?;
    let field = |field: FieldRef| {
        let everywhere = counts.get(field.name().as_str()) == Some(&count);
        let nullable = field.is_nullable() || !all || !everywhere;
        Arc::new(Field::clone(&field).with_nullable(nullable))
    };
    Ok(merged.into_iter().map(field).collect())
}

/// No name twice.
fn check_names(path: &str, schema: &Schema) -> Result<(), FileError> {
    let mut names = HashSet::new();
    match schema.fields().iter().find(|field| !names.insert(field.name())) {
        Some(field) => {
            Err(FileError::Duplicate { path: path.to_owned(), column: field.name().clone() })
        }
        None => Ok(()),
    }
}
