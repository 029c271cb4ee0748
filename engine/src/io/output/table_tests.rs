//! Tables that are written come back: all columns, all rows, whatever the format and the folders.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, RecordBatch,
    StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use tempfile::TempDir;

use super::folder::publish;
use super::staging::Kind;
use super::table::{WriteSpec, write_partition};
use super::*;
use crate::executor::testing::task;
use crate::io::files::tests::{all, batch, ints, open, scan, shown, strings};
use crate::io::files::{CsvOptions, Format};
use crate::operators::batches::BoxBatches;

fn formats() -> [(OutputFormat, Format); 4] {
    [
        (OutputFormat::Parquet(ParquetOutput::default()), Format::Parquet),
        (OutputFormat::Csv(CsvOutput::default()), Format::Csv(CsvOptions::default())),
        (OutputFormat::Json(TextCompression::None), Format::Json),
        (OutputFormat::Ipc, Format::Ipc),
    ]
}

fn stream(batches: Vec<RecordBatch>) -> BoxBatches {
    let mut batches = batches.into_iter();
    Box::new(move || Ok(batches.next()))
}

fn write_to(
    dir: &Path,
    mode: WriteMode,
    spec: &WriteSpec,
    partitions: Vec<Vec<RecordBatch>>,
) -> Manifest {
    let job = OutputJob::open(dir, mode).unwrap().unwrap();
    let task = task();
    let mut all = Vec::new();
    for (partition, batches) in (0..).zip(partitions.iter().cloned()) {
        let mut parts = write_partition(spec, job.staging(), stream(batches), &task).unwrap();
        // All parts are of the one partition that a task of a unit test has.
        for part in &mut parts {
            part.name = part.name.replace("part-00000", &format!("part-{partition:05}"));
        }
        all.extend(parts);
    }
    job.commit_table(spec, all, None).unwrap()
}

fn files_below(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => names.push(path.strip_prefix(dir).unwrap().to_string_lossy().into_owned()),
            }
        }
    }
    names.sort();
    names
}

fn spec_of(format: &OutputFormat, schema: SchemaRef, partition_by: &[&str]) -> WriteSpec {
    let names: Vec<String> = partition_by.iter().map(|name| (*name).to_owned()).collect();
    WriteSpec::new(format.clone(), schema, &names).unwrap()
}

#[test]
fn tables_come_back_from_every_format() {
    let decimals = Decimal128Array::from(vec![Some(-12345), None, Some(1)]);
    let rows = batch(vec![
        ("i", ints([1, -2, 3])),
        ("f", Arc::new(Float64Array::from(vec![Some(0.1), None, Some(1e300)])) as ArrayRef),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("s", Arc::new(StringViewArray::from(vec![Some("a,\"b\"\r\nc"), Some(""), None]))),
        ("d", Arc::new(Date32Array::from(vec![0, 19_782, -1]))),
        ("t", Arc::new(TimestampMicrosecondArray::from(vec![1, 1_700_000_000_000_000, -1]))),
        ("n", Arc::new(decimals.with_precision_and_scale(12, 3).unwrap())),
    ]);
    for (written, read) in formats() {
        let dir = TempDir::new().unwrap();
        let spec = spec_of(&written, rows.schema(), &[]);
        let manifest = write_to(dir.path(), WriteMode::Error, &spec, vec![vec![rows.clone()]]);
        assert_eq!((manifest.rows, manifest.files.len()), (3, 1));
        let options =
            crate::io::files::ReadOptions { schema: Some(rows.schema()), ..Default::default() };
        let table = crate::io::files::tests::open_with(dir.path(), read, options).unwrap();
        assert_eq!(
            scan(&table, &["i", "f", "b", "s", "d", "t", "n"], None, None, &task())
                .unwrap()
                .columns(),
            rows.columns(),
            "{written:?}"
        );
    }
}

#[test]
fn a_table_without_rows_has_its_columns() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("s", DataType::Utf8View, true),
    ]));
    for (written, read) in formats() {
        for partition_by in [vec![], vec!["s"]] {
            let dir = TempDir::new().unwrap();
            let spec = spec_of(&written, Arc::clone(&schema), &partition_by);
            let empty = RecordBatch::new_empty(Arc::clone(&schema));
            let manifest = write_to(dir.path(), WriteMode::Error, &spec, vec![vec![], vec![empty]]);
            assert_eq!((manifest.rows, manifest.files.len()), (0, 1));
            let table = open(dir.path(), read.clone()).unwrap();
            assert_eq!(table.shape().schema, schema, "{written:?}");
            assert_eq!(all(&table).unwrap(), "");
        }
    }
}

#[test]
fn columns_of_folders_come_back() {
    let dir = TempDir::new().unwrap();
    let codes = StringViewArray::from(vec![Some("01"), Some("2A/x"), None, Some("01"), Some("")]);
    let rows = batch(vec![
        ("code", Arc::new(codes) as ArrayRef),
        ("v", ints([1, 2, 3, 4, 5])),
        ("day", Arc::new(Date32Array::from(vec![0, 1, 0, 0, 0]))),
    ]);
    for (written, read) in formats() {
        let spec = spec_of(&written, rows.schema(), &["day", "code"]);
        let manifest = write_to(
            dir.path(),
            WriteMode::Overwrite,
            &spec,
            vec![vec![rows.clone(), rows.slice(0, 1)], vec![rows.slice(1, 1)]],
        );
        assert_eq!((manifest.rows, manifest.files.len()), (7, 5), "one file a folder and task");
        let extension = written.extension();
        let names = files_below(dir.path());
        assert!(
            names.contains(&format!("day=1970-01-02/code=2A%2Fx/part-00001{extension}")),
            "{names:?}"
        );
        assert_eq!(names.len(), 6, "the output that was there is replaced");
        let table = open(dir.path(), read).unwrap();
        let found = shown(&scan(&table, &["v", "code", "day"], None, None, &task()).unwrap());
        let mut found: Vec<&str> = found.split(';').collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "1,01,1970-01-01",
                "1,01,1970-01-01",
                "2,2A/x,1970-01-02",
                "2,2A/x,1970-01-02",
                "3,NULL,1970-01-01",
                "4,01,1970-01-01",
                "5,,1970-01-01"
            ]
        );
    }
}

#[test]
fn files_end_when_they_are_full() {
    let dir = TempDir::new().unwrap();
    let rows = batch(vec![("n", ints(0..10_000))]);
    let format =
        OutputFormat::Parquet(ParquetOutput { row_group_rows: 1000, ..ParquetOutput::default() });
    let spec = WriteSpec { rows_max: Some(4_000), ..spec_of(&format, rows.schema(), &[]) };
    write_to(
        dir.path(),
        WriteMode::Error,
        &spec,
        vec![vec![rows.slice(0, 5_000), rows.slice(5_000, 5_000)]],
    );
    let names = files_below(dir.path());
    assert_eq!(
        names,
        ["_SUCCESS", "part-00000-1.parquet", "part-00000-2.parquet", "part-00000.parquet"]
    );
    let file = fs::File::open(dir.path().join("part-00000.parquet")).unwrap();
    let file = SerializedFileReader::new(file).unwrap();
    assert_eq!((file.metadata().file_metadata().num_rows(), file.num_row_groups()), (4_000, 4));
    let spec = WriteSpec { rows_max: None, bytes_max: Some(1), ..spec };
    let manifest = write_to(
        dir.path(),
        WriteMode::Overwrite,
        &spec,
        vec![vec![rows.slice(0, 10), rows.slice(10, 10)]],
    );
    assert_eq!(manifest.files.len(), 2);
}

#[test]
fn many_folders_in_no_order_are_written_with_few_files_open() {
    let dir = TempDir::new().unwrap();
    let rows = batch(vec![("k", ints((0..1_000).map(|n| n * 7 % 200))), ("v", ints(0..1_000))]);
    let spec = spec_of(&OutputFormat::Ipc, rows.schema(), &["k"]);
    write_to(
        dir.path(),
        WriteMode::Error,
        &spec,
        vec![(0..10).map(|at| rows.slice(at * 100, 100)).collect()],
    );
    let table = open(dir.path(), Format::Ipc).unwrap();
    let found = scan(&table, &["v", "k"], None, None, &task()).unwrap();
    let (v, k) = (found.column(0), found.column(1));
    let pairs = |v: &ArrayRef, k: &ArrayRef| {
        use arrow::array::AsArray;
        use arrow::datatypes::Int64Type;
        let (v, k) = (v.as_primitive::<Int64Type>(), k.as_primitive::<Int64Type>());
        let mut pairs: Vec<(i64, i64)> =
            v.values().iter().copied().zip(k.values().iter().copied()).collect();
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(pairs(v, k), pairs(rows.column(1), rows.column(0)));
}

#[test]
fn modes_treat_what_is_there_as_they_say() {
    let dir = TempDir::new().unwrap();
    let one = |n| batch(vec![("n", ints([n]))]);
    let spec = spec_of(&OutputFormat::Parquet(ParquetOutput::default()), one(1).schema(), &[]);
    let read = || all(&open(dir.path(), Format::Parquet).unwrap()).unwrap();
    write_to(dir.path(), WriteMode::Error, &spec, vec![vec![one(1)]]);
    assert!(matches!(
        OutputJob::open(dir.path(), WriteMode::Error),
        Err(OutputError::NotEmpty { .. })
    ));
    assert!(OutputJob::open(dir.path(), WriteMode::Ignore).unwrap().is_none());
    let manifest = write_to(dir.path(), WriteMode::Append, &spec, vec![vec![one(2)], vec![one(3)]]);
    assert_eq!((manifest.rows, manifest.files.len()), (3, 3));
    let mut rows: Vec<String> = read().split(';').map(str::to_owned).collect();
    rows.sort_unstable();
    assert_eq!(rows, ["1", "2", "3"]);
    write_to(dir.path(), WriteMode::Append, &spec, vec![vec![]]);
    assert_eq!(Manifest::read(dir.path()).unwrap().rows, 3);
    write_to(dir.path(), WriteMode::Overwrite, &spec, vec![vec![one(4)]]);
    assert_eq!(read(), "4");
}

#[test]
fn an_append_cut_short_is_undone_with_its_folders() {
    let dir = TempDir::new().unwrap();
    let rows = |k, v| batch(vec![("k", ints([k])), ("v", ints([v]))]);
    let spec = spec_of(&OutputFormat::Ipc, rows(1, 1).schema(), &["k"]);
    write_to(dir.path(), WriteMode::Error, &spec, vec![vec![rows(1, 1)]]);
    let before = files_below(dir.path());
    let job = OutputJob::open(dir.path(), WriteMode::Append).unwrap().unwrap();
    let write =
        |k| write_partition(&spec, job.staging(), stream(vec![rows(k, 2)]), &task()).unwrap();
    let parts = [write(1), write(2), write(3)].concat();
    // The last part is lost, so that publishing fails after the others have been moved.
    job.staging().discard(&parts[2]).unwrap();
    let manifest = Manifest::of(&parts);
    let Kind::Folder(staging) = &job.staging().0 else { panic!("it writes to a folder") };
    publish(dir.path(), staging, &parts, &manifest, vec![MANIFEST_NAME.to_owned()]).unwrap_err();
    assert!(dir.path().join("k=2").exists());
    job.abort().unwrap();
    assert_eq!(files_below(dir.path()), before);
    assert!(!dir.path().join("k=2").exists() && !dir.path().join("_temporary").exists());
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_runs() {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    let schema = |fields: Vec<Field>| -> SchemaRef { Arc::new(Schema::new(fields)) };
    let refused = |format: &OutputFormat, fields, by: &[&str]| {
        let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
        WriteSpec::new(format.clone(), schema(fields), &by).unwrap_err().to_string()
    };
    let [(parquet, _), (csv, _), ..] = formats();
    let two = vec![field("id", DataType::Int64), field("id", DataType::Int64)];
    assert!(refused(&parquet, two, &[]).starts_with("two columns are named id"));
    let one = || vec![field("id", DataType::Int64)];
    assert!(refused(&parquet, one(), &["ID"]).ends_with("there are id"));
    assert!(refused(&parquet, one(), &["id"]).ends_with("no columns are left for the files"));
    let list = vec![field("l", DataType::new_list(DataType::Int64, true))];
    assert!(refused(&csv, list, &[]).contains("cannot be written as csv; cast it"));
}

#[test]
fn foreign_files_within_folders_are_not_overwritten() {
    let dir = TempDir::new().unwrap();
    let rows = batch(vec![("k", ints([1])), ("s", strings(["x"]))]);
    let spec = spec_of(&OutputFormat::Ipc, rows.schema(), &["k"]);
    write_to(dir.path(), WriteMode::Error, &spec, vec![vec![rows]]);
    fs::write(dir.path().join("k=1/notes"), "mine").unwrap();
    let error = OutputJob::open(dir.path(), WriteMode::Overwrite).unwrap_err().to_string();
    assert!(error.contains("holds k=1/notes"), "{error}");
}
