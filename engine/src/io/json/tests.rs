//! Reading JSON lines as tables.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use tempfile::TempDir;

use crate::executor::testing::task;
use crate::io::files::tests::{all, open, open_with, scan, shown, write};
use crate::io::files::{BadRecords, Format, ReadOptions};
use crate::io::text::InvalidUtf8;

#[test]
fn columns_and_their_types_are_found() {
    let dir = TempDir::new().unwrap();
    write(
        dir.path(),
        "1.json",
        "{\"n\":1,\"l\":[1,2],\"o\":{\"x\":\"a\"}}\n\n{\"n\":2.5,\"s\":\"t\"}\n",
    );
    write(dir.path(), "2.json", "{\"n\":3,\"b\":true,\"none\":null,\"o\":{\"y\":1}}");
    let table = open(dir.path(), Format::Json).unwrap();
    let schema = table.shape().schema;
    assert_eq!(schema.field_with_name("n").unwrap().data_type(), &DataType::Float64);
    let rows = scan(&table, &["n", "s", "l", "b", "none"], None, None, &task()).unwrap();
    assert_eq!(
        shown(&rows),
        "1.0,NULL,[1, 2],NULL,NULL;2.5,t,NULL,NULL,NULL;3.0,NULL,NULL,true,NULL"
    );
    let rows = scan(&table, &["o"], None, None, &task()).unwrap();
    assert_eq!(shown(&rows), "{x: a, y: };NULL;{x: , y: 1}");
    assert_eq!(scan(&table, &[], None, None, &task()).unwrap().num_rows(), 3);
}

#[test]
fn values_of_any_kind_are_strings_together() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "1.json", "{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":true}\n");
    assert_eq!(all(&open(dir.path(), Format::Json).unwrap()).unwrap(), "1;x;true");
}

fn given(bad_records: BadRecords, invalid_utf8: InvalidUtf8) -> ReadOptions {
    let fields =
        vec![Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8, true)];
    let schema = Some(Arc::new(Schema::new(fields)));
    ReadOptions { schema, bad_records, invalid_utf8, ..ReadOptions::default() }
}

#[test]
fn bad_lines_are_treated_as_asked() {
    let dir = TempDir::new().unwrap();
    write(
        dir.path(),
        "a.json",
        "{\"n\":1,\"s\":\"a\"}\n{\"n\":2\n\n[3]\n{\"n\":\"four\"}\n{\"n\":5} {\"n\":6}\n{\"n\":7}",
    );
    let open = |bad| open_with(dir.path(), Format::Json, given(bad, InvalidUtf8::Fail)).unwrap();
    let error = all(&open(BadRecords::Fail)).unwrap_err().to_string();
    assert!(error.contains("a.json, line 2: "), "{error}");
    let first = scan(&open(BadRecords::Fail), &["n"], None, Some(1), &task()).unwrap();
    assert_eq!(shown(&first), "1");
    let task = task();
    let rows = scan(&open(BadRecords::Drop), &["n", "s"], None, None, &task).unwrap();
    assert_eq!(shown(&rows), "1,a;7,NULL");
    assert_eq!(task.metrics.records_skipped.get(), 4);
    let kept = all(&open(BadRecords::Keep("raw".into()))).unwrap();
    assert_eq!(
        kept,
        "1,a,NULL;NULL,NULL,{\"n\":2;NULL,NULL,[3];NULL,NULL,{\"n\":\"four\"};NULL,NULL,{\"n\":5} {\"n\":6};7,NULL,NULL"
    );
}

#[test]
fn bad_bytes_matter_where_they_are_used_alone() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.json", b"{\"n\":1,\"s\":\"a\"}\n{\"n\":2,\"s\":\"b\xFF\"}\n");
    let open =
        |policy| open_with(dir.path(), Format::Json, given(BadRecords::Fail, policy)).unwrap();
    let numbers = scan(&open(InvalidUtf8::Fail), &["n"], None, None, &task()).unwrap();
    assert_eq!(shown(&numbers), "1;2");
    let error = all(&open(InvalidUtf8::Fail)).unwrap_err().to_string();
    assert!(error.contains("a.json, line 2: is not UTF-8"), "{error}");
    assert_eq!(all(&open(InvalidUtf8::Lossy)).unwrap(), "1,a;2,b\u{FFFD}");
    assert_eq!(all(&open(InvalidUtf8::Skip)).unwrap(), "1,a");
}

#[test]
fn large_files_are_read_in_parts_that_join() {
    let dir = TempDir::new().unwrap();
    let content: String = (0..250_000)
        .map(|n| format!("{{\"n\": {n}, \"pad\": \"{}\"}}\n", "x".repeat(n % 53)))
        .collect();
    write(dir.path(), "a.json", content);
    let table = open(dir.path(), Format::Json).unwrap();
    assert!(table.shape().partitions > 1);
    let rows = scan(&table, &["n"], None, None, &task()).unwrap();
    let expected = crate::io::files::tests::ints(0..250_000);
    assert_eq!(rows.column(0).as_ref(), expected.as_ref());
}
