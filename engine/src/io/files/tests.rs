//! Tables of files of all formats, as they are opened, divided and scanned.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::array_value_to_string;
use millstream_planner::expr::{BinaryOp, Scalar, UnaryOp};
use millstream_planner::physical::{ExprId, ExprOp, PhysicalExpr, Program};
use tempfile::TempDir;

use super::*;
use crate::executor::testing::task;
use crate::executor::{Task, TaskError};

pub(crate) fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path.to_string_lossy().into_owned()
}

pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

pub(crate) fn ints(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

pub(crate) fn strings<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values(values))
}

pub(crate) fn write_parquet(
    dir: &Path,
    name: &str,
    batch: &RecordBatch,
    properties: WriterProperties,
) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

pub(crate) fn open(path: impl AsRef<Path>, format: Format) -> Result<FileTable, FileError> {
    open_with(path, format, ReadOptions::default())
}

pub(crate) fn open_with(
    path: impl AsRef<Path>,
    format: Format,
    options: ReadOptions,
) -> Result<FileTable, FileError> {
    FileTable::open(&[path.as_ref().to_string_lossy().into_owned()], format, options)
}

/// A table as it is after it has travelled.
pub(crate) fn sent(table: &FileTable) -> FileTable {
    postcard::from_bytes(&postcard::to_stdvec(table).unwrap()).unwrap()
}

pub(crate) fn scan(
    table: &FileTable,
    columns: &[&str],
    predicate: Option<&Program>,
    fetch: Option<u64>,
    task: &Task,
) -> Result<RecordBatch, TaskError> {
    let schema = table.shape().schema;
    let projection: Vec<u32> =
        columns.iter().map(|name| schema.index_of(name).unwrap() as u32).collect();
    let given = Arc::new(
        schema.project(&projection.iter().map(|at| *at as usize).collect::<Vec<_>>()).unwrap(),
    );
    let table = sent(table);
    let mut batches = Vec::new();
    for partition in 0..table.shape().partitions {
        let mut rows = table.scan(partition, &projection, predicate, fetch, task)?;
        while let Some(batch) = rows.next()? {
            assert_eq!(batch.schema(), given);
            batches.push(batch);
        }
    }
    Ok(concat_batches(&given, &batches).unwrap())
}

/// The rows of all columns, as text: `1,a;2,NULL`.
pub(crate) fn all(table: &FileTable) -> Result<String, TaskError> {
    let schema = table.shape().schema;
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    Ok(shown(&scan(table, &names, None, None, &task())?))
}

pub(crate) fn shown(batch: &RecordBatch) -> String {
    let value = |column: &ArrayRef, row| match column.is_null(row) {
        true => "NULL".to_owned(),
        false => array_value_to_string(column, row).unwrap(),
    };
    let row =
        |row| batch.columns().iter().map(|column| value(column, row)).collect::<Vec<_>>().join(",");
    (0..batch.num_rows()).map(row).collect::<Vec<_>>().join(";")
}

/// `column op value` over columns of a scan.
pub(crate) fn compare(column: u32, op: BinaryOp, value: impl Into<Scalar>) -> Program {
    let value = value.into();
    let data_type = value.data_type();
    let node = |op, data_type| PhysicalExpr { op, data_type, nullable: true };
    Program {
        nodes: vec![
            node(ExprOp::Column(column), data_type.clone()),
            node(ExprOp::Literal(value), data_type),
            node(ExprOp::Binary(op, ExprId(0), ExprId(1)), DataType::Boolean),
        ],
        roots: vec![ExprId(2)],
    }
}

/// `program OR column IS NULL`.
pub(crate) fn or_null(mut program: Program, column: u32, data_type: DataType) -> Program {
    let at = program.nodes.len() as u32;
    let mut add =
        |op, data_type| program.nodes.push(PhysicalExpr { op, data_type, nullable: true });
    add(ExprOp::Column(column), data_type);
    add(ExprOp::Unary(UnaryOp::IsNull, ExprId(at)), DataType::Boolean);
    add(ExprOp::Or(vec![program.roots[0], ExprId(at + 1)]), DataType::Boolean);
    program.roots = vec![ExprId(at + 2)];
    program
}

fn message<T>(result: Result<T, impl ToString>) -> String {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => error.to_string(),
    }
}

fn formats() -> [Format; 5] {
    [Format::Parquet, Format::Csv(CsvOptions::default()), Format::Json, Format::Ipc, Format::Text]
}

#[test]
fn markers_and_empty_files_are_passed_over_in_all_formats() {
    let dir = TempDir::new().unwrap();
    for name in [
        "p/part-1.parquet",
        "p/_SUCCESS",
        "p/.part-0.parquet.crc",
        "c/part-1.csv",
        "c/_SUCCESS",
        "j/b.json",
    ] {
        write(dir.path(), name, if name.ends_with("crc") { "x" } else { "" });
    }
    let rows = batch(vec![("a", ints([1, 2, 3]))]);
    write_parquet(dir.path(), "p/part-0.parquet", &rows, WriterProperties::default());
    write(dir.path(), "c/part-0.csv", "a\n1\n2\n3\n");
    write(dir.path(), "j/a.json", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}");
    for (name, format) in ["p", "c", "j"].into_iter().zip(formats()) {
        let table = open(dir.path().join(name), format).unwrap();
        assert_eq!(all(&table).unwrap(), "1;2;3", "{name}");
        assert_eq!(table.shape().partitions, 1);
    }
}

#[test]
fn without_data_columns_must_be_given() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "_SUCCESS", "");
    for format in formats().into_iter().take(4) {
        let error = message(open(dir.path(), format.clone()));
        assert!(error.contains("give a schema"), "{error}");
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Utf8, false)]));
        let options = ReadOptions { schema: Some(schema), ..ReadOptions::default() };
        let table = open_with(dir.path(), format, options).unwrap();
        assert_eq!(all(&table).unwrap(), "");
        assert_eq!(table.shape().schema.field(0).data_type(), &DataType::Utf8View);
    }
}

#[test]
fn columns_of_directories_have_the_type_of_all_their_values() {
    let dir = TempDir::new().unwrap();
    for (code, value) in [("01", 1), ("02", 2), ("2A001", 3)] {
        let rows = batch(vec![("v", ints([value]))]);
        write_parquet(
            dir.path(),
            &format!("code={code}/n={value}/x.parquet"),
            &rows,
            WriterProperties::default(),
        );
    }
    let table = open(dir.path(), Format::Parquet).unwrap();
    assert_eq!(all(&table).unwrap(), "1,01,1;2,02,2;3,2A001,3");
    assert_eq!(table.shape().schema.field(2).data_type(), &DataType::Int64);
    let only = compare(0, BinaryOp::Eq, "01");
    assert_eq!(shown(&scan(&table, &["code", "v"], Some(&only), None, &task()).unwrap()), "01,1");
    assert_eq!(table.shape().columns[1].distinct, Some(3));
}

#[test]
fn files_of_directories_without_rows_that_pass_are_not_opened() {
    let dir = TempDir::new().unwrap();
    for n in 0..3 {
        let rows = batch(vec![("v", ints([n]))]);
        write_parquet(dir.path(), &format!("n={n}/x.parquet"), &rows, WriterProperties::default());
    }
    let table = open(dir.path(), Format::Parquet).unwrap();
    fs::remove_file(dir.path().join("n=0/x.parquet")).unwrap();
    let some = compare(1, BinaryOp::Gt, 0i64);
    assert_eq!(shown(&scan(&table, &["v", "n"], Some(&some), None, &task()).unwrap()), "1,1;2,2");
    assert!(message(all(&table)).contains("vanished"));
}

#[test]
fn null_and_encoded_directories_are_values() {
    let dir = TempDir::new().unwrap();
    for value in [None, Some("a/b=c"), Some("__HIVE_DEFAULT_PARTITION__"), Some("")] {
        write(dir.path(), &format!("{}/x.csv", hive_directory("k", value)), "v\n1\n");
    }
    let table = open(dir.path(), Format::Csv(CsvOptions::default())).unwrap();
    let rows = all(&table).unwrap();
    let mut rows: Vec<&str> = rows.split(';').collect();
    rows.sort_unstable();
    assert_eq!(rows, ["1,", "1,NULL", "1,__HIVE_DEFAULT_PARTITION__", "1,a/b=c"]);
}

#[test]
fn directories_of_different_columns_are_told_apart() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "k=1/x.csv", "v\n1\n");
    write(dir.path(), "y.csv", "v\n2\n");
    let csv = Format::Csv(CsvOptions::default());
    let error = message(open(dir.path(), csv.clone()));
    assert!(error.contains("y.csv") && error.contains("(k)"), "{error}");
    let plain = ReadOptions { hive: false, ..ReadOptions::default() };
    assert_eq!(all(&open_with(dir.path(), csv, plain).unwrap()).unwrap(), "1;2");
}

#[test]
fn many_small_files_are_few_partitions_and_soon_counted() {
    let dir = TempDir::new().unwrap();
    let count = 2_000;
    let mut bytes = Vec::new();
    let rows = batch(vec![("v", ints(0..10))]);
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    for n in 0..count {
        write(dir.path(), &format!("{n}.parquet"), &bytes);
    }
    let started = Instant::now();
    let table = open(dir.path(), Format::Parquet).unwrap();
    let shape = table.shape();
    assert!(shape.partitions <= 20, "{}", shape.partitions);
    assert_eq!(shape.rows, Some(count * 10));
    assert_eq!(scan(&table, &[], None, None, &task()).unwrap().num_rows() as u64, count * 10);
    // Far less in fact; the bound is for a debug build on a busy machine.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn no_more_than_the_bound_is_read() {
    let dir = TempDir::new().unwrap();
    let bad: Vec<u8> = (1..=20)
        .flat_map(
            |n| if n == 11 { b"caf\xE9,x\n".to_vec() } else { format!("{n},x\n").into_bytes() },
        )
        .collect();
    write(dir.path(), "c/a.csv", [b"a,b\n".as_slice(), &bad].concat());
    let text = ReadOptions {
        schema: Some(Arc::new(Schema::new(vec![
            Field::new("a", DataType::Utf8View, true),
            Field::new("b", DataType::Utf8View, true),
        ]))),
        ..ReadOptions::default()
    };
    let table = open_with(dir.path().join("c"), Format::Csv(CsvOptions::default()), text).unwrap();
    for _ in 0..20 {
        let ten = scan(&table, &["a"], None, Some(10), &task()).unwrap();
        assert_eq!(shown(&ten), "1;2;3;4;5;6;7;8;9;10");
    }
    // With a condition it cannot be known how much must be read; rows before the bad one come first.
    let all_rows = compare(0, BinaryOp::NotEq, "");
    let ten = scan(&table, &["a"], Some(&all_rows), Some(10), &task()).unwrap();
    assert_eq!(ten.num_rows(), 10);
    let error = message(scan(&table, &["a"], None, Some(11), &task()));
    assert!(error.contains("a.csv, line 12, column a: is not UTF-8"), "{error}");
    assert_eq!(scan(&table, &["b"], None, None, &task()).unwrap().num_rows(), 20);
}

#[test]
fn lines_of_text_are_one_column() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.txt", "\u{FEFF}one\r\n\nthree");
    write(dir.path(), "b.txt.gz", {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, b"four\n").unwrap();
        gzip.finish().unwrap()
    });
    let table = open(dir.path(), Format::Text).unwrap();
    assert_eq!(all(&table).unwrap(), "one;;three;four");
    assert_eq!(scan(&table, &[], None, None, &task()).unwrap().num_rows(), 4);
    write(dir.path(), "c.txt", b"ok\n\xFF\n");
    let table = open(dir.path(), Format::Text).unwrap();
    let error = message(all(&table));
    assert!(error.contains("c.txt, line 2, column value"), "{error}");
    let skip =
        ReadOptions { invalid_utf8: crate::io::text::InvalidUtf8::Skip, ..ReadOptions::default() };
    let task = task();
    let rows =
        scan(&open_with(dir.path(), Format::Text, skip).unwrap(), &["value"], None, None, &task)
            .unwrap();
    assert_eq!((rows.num_rows(), task.metrics.records_skipped.get()), (5, 1));
}

#[test]
fn large_files_are_read_in_parts_that_join() {
    let dir = TempDir::new().unwrap();
    let line = |n: usize| format!("{n},{}\n", "x".repeat(n % 97));
    let content: String = (0..250_000).map(line).collect();
    write(dir.path(), "a.csv", format!("n,s\n{content}"));
    let table = open(dir.path(), Format::Csv(CsvOptions::default())).unwrap();
    assert!(table.shape().partitions > 1);
    let rows = scan(&table, &["n"], None, None, &task()).unwrap();
    assert_eq!(rows.column(0).as_ref(), ints(0..250_000).as_ref());
    let lines = open(dir.path(), Format::Text).unwrap();
    assert_eq!(scan(&lines, &[], None, None, &task()).unwrap().num_rows(), 250_001);
}

#[test]
fn ipc_files_and_streams_are_read_by_name() {
    let dir = TempDir::new().unwrap();
    let one = batch(vec![("a", ints([1])), ("s", strings(["x"]))]);
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![2]));
    let two = batch(vec![("t", strings(["y"])), ("a", narrow)]);
    let mut file = arrow::ipc::writer::FileWriter::try_new(Vec::new(), &one.schema()).unwrap();
    file.write(&one).unwrap();
    write(dir.path(), "1.arrow", file.into_inner().unwrap());
    let mut stream = arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &two.schema()).unwrap();
    stream.write(&two).unwrap();
    write(dir.path(), "2.arrows", stream.into_inner().unwrap());
    let table = open(dir.path(), Format::Ipc).unwrap();
    assert_eq!(all(&table).unwrap(), "1,x,NULL;2,NULL,y");
    write(dir.path(), "3.arrow", "this is none");
    assert!(
        message(open(dir.path(), Format::Ipc)).contains("3.arrow is damaged or not a ipc file")
    );
}
