use millstream::functions::{col, length, lit, substring};
use std::fs;

use millstream::io::text::InvalidUtf8;

use super::super::context;
use super::error_of;

#[test]
fn c059_patterns_match_characters() {
    let context = context();
    let rows = context
        .from_rows([("é", "_"), ("🦆", "_"), ("🦆🦆", "__")])
        .unwrap()
        .rename_all(["s", "p"]);
    let rows = rows.select([
        col("s").like(col("p")).alias("like"),
        length(col("s")).alias("length"),
        substring(col("s"), 1, 1).alias("first"),
    ]);
    let rows: Vec<(bool, i32, String)> = rows.collect_rows().unwrap();
    let known = [(true, 1, "é".into()), (true, 1, "🦆".into()), (true, 2, "🦆".into())];
    assert_eq!(rows, known);
    let one: Vec<(bool,)> = context
        .frame_range(0, 1, 1)
        .select([lit("a%b").like_escape("a!%b", '!').alias("x")])
        .collect_rows()
        .unwrap();
    assert_eq!(one, [(true,)]);
}

#[test]
fn c061_bytes_that_are_no_text_matter_where_they_are_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("names.csv");
    fs::write(&path, b"id,name\n1,Ann\n2,Bob\xff\n").unwrap();
    let context = context();
    let read = || context.read();
    let ids: Vec<(i64,)> = read().csv(&path).unwrap().select(["id"]).collect_rows().unwrap();
    assert_eq!(ids, [(1,), (2,)]);
    let error = error_of(read().csv(&path).unwrap().select(["name"]).collect());
    assert!(error.contains("names.csv") && error.contains('3'), "{error}");
    let lossy = read().invalid_utf8(InvalidUtf8::Lossy).csv(&path).unwrap();
    let names: Vec<(String,)> = lossy.select(["name"]).collect_rows().unwrap();
    assert_eq!(names[1].0, "Bob\u{fffd}");
}
