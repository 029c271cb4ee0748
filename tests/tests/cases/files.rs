//! Input and output files.

use std::io::Write;

use millstream::Error;
use millstream::io::text::{InvalidUtf8, TextOptions};
use serde::{Deserialize, Serialize};

use super::{builder, context};

#[test]
fn c061_invalid_utf8_is_placed_or_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("names.csv");
    std::fs::write(&path, b"1,Ann\n2,Bob\xFF\n3,Cy\n").unwrap();
    let context = builder().build().unwrap();
    let read = |invalid_utf8| {
        let options = TextOptions { invalid_utf8, ..TextOptions::default() };
        context.text_files([path.display().to_string()], &options).unwrap().collect()
    };
    let error = read(InvalidUtf8::Fail).unwrap_err().to_string();
    assert!(error.contains("after 1 attempt(s)"), "bytes do not change by reading again: {error}");
    assert!(error.contains("names.csv") && error.contains("byte 11"), "{error}");
    assert_eq!(read(InvalidUtf8::Lossy).unwrap(), ["1,Ann", "2,Bob\u{FFFD}", "3,Cy"]);
    assert_eq!(read(InvalidUtf8::Skip).unwrap(), ["1,Ann", "3,Cy"]);
    assert_eq!(context.metrics().records_skipped, 1);
}

#[test]
fn c067_the_first_lines_are_the_same_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = (0..10).map(|n| format!("{n}\n")).collect::<String>().into_bytes();
    text.extend(b"caf\xE9\n");
    std::fs::write(dir.path().join("a.txt"), text).unwrap();
    let options = TextOptions { invalid_utf8: InvalidUtf8::Lossy, ..TextOptions::default() };
    let context = context();
    for _ in 0..20 {
        let lines = context.text_files([dir.path().display().to_string()], &options).unwrap();
        let known: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(lines.take(10).unwrap(), known);
    }
}

#[test]
fn c069_empty_and_foreign_files_are_no_data() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("part-0.txt", "a\nb\nc\n");
    write("part-1.txt", "");
    write("_SUCCESS", "x\n");
    write(".part-0.txt.crc", "x\n");
    let lines = context().text_file(dir.path().display().to_string()).unwrap();
    assert_eq!(lines.collect().unwrap(), ["a", "b", "c"]);
    let none = tempfile::tempdir().unwrap();
    std::fs::write(none.path().join("a.txt"), "").unwrap();
    let lines = context().text_file(none.path().display().to_string()).unwrap();
    assert_eq!(lines.count().unwrap(), 0);
}

#[derive(Clone, Serialize, Deserialize)]
struct Row {
    id: i64,
    name: Option<String>,
}

#[test]
fn c071_an_empty_result_is_readable() {
    let dir = tempfile::tempdir().unwrap();
    let context = context();
    let none = context.range(0..10, 2).filter(|_| false);
    none.save_as_text(dir.path().join("text")).unwrap();
    let text = context.text_file(dir.path().join("text").display().to_string()).unwrap();
    assert_eq!(text.count().unwrap(), 0);
    let rows = none.map(|id| Row { id, name: None });
    let manifest = rows.save_as_parquet(dir.path().join("parquet")).unwrap();
    let file = dir.path().join("parquet").join(&manifest.files[0].name);
    let file = std::fs::File::open(file).unwrap();
    let reader =
        parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let names: Vec<&str> =
        reader.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["id", "name"]);
    assert_eq!(reader.build().unwrap().count(), 0);
}

#[test]
fn c155_many_small_files_are_few_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    for n in 0..20_000 {
        let mut file = std::fs::File::create(dir.path().join(format!("{n:05}.txt"))).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
    }
    let rows = context().text_file(dir.path().display().to_string()).unwrap();
    assert!(rows.partitions() <= 200, "{} tasks for 20,000 files", rows.partitions());
    assert_eq!(rows.count().unwrap(), 200_000);
}

#[test]
fn c157_errors_are_one_plain_line() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("readings.txt"), "1\n").unwrap();
    let missing = dir.path().join("reading.txt").display().to_string();
    let error = context().text_file(&missing).unwrap_err();
    assert!(matches!(error, Error::Input(_)));
    let text = error.to_string();
    assert!(text.contains(&missing) && text.contains("readings.txt"), "{text}");
    let none = context()
        .text_file(dir.path().join("*.csv").display().to_string())
        .unwrap_err()
        .to_string();
    let setting = builder().master("local[none]").build().unwrap_err().to_string();
    for text in [text, none, setting] {
        let plain = !text.contains(['\n', '{', '}']) && !text.contains("Some(");
        assert!(plain && text.len() < 400, "{text}");
    }
}
