use std::fs;

use arrow::array::{Int32Array, Int64Array};
use arrow::datatypes::{DataType, Field, Schema};
use millstream::functions::{col, lit};

use super::super::context;
use super::{array, frame};

#[test]
fn c063_records_of_several_lines_are_whole_whatever_is_selected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.csv");
    fs::write(&path, "id,note,n\n1,plain,10\n2,\"a \"\"b\"\",\nc\",20\n3,last,30\n").unwrap();
    let rows = context().read().csv(&path).unwrap();
    let ids: Vec<(i64,)> = rows.select(["id"]).collect_rows().unwrap();
    assert_eq!(ids, [(1,), (2,), (3,)]);
    let all: Vec<(i64, String, i64)> = rows.collect_rows().unwrap();
    assert_eq!(all[1], (2, "a \"b\",\nc".into(), 20));
    assert_eq!(rows.count().unwrap(), 3);
}

#[test]
fn c065_files_with_other_columns_are_read_by_name() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f1.csv"), "a,b\n1,2\n").unwrap();
    fs::write(dir.path().join("f2.csv"), "a,b,c\n3,4,5\n").unwrap();
    fs::write(dir.path().join("f3.csv"), "\u{feff}b,a\r\n7,6\r\n").unwrap();
    let rows = context().read().csv(dir.path()).unwrap();
    let names: Vec<String> =
        rows.schema().unwrap().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let rows: Vec<(i64, i64, Option<i64>)> = rows.sort([col("a")]).collect_rows().unwrap();
    assert_eq!(rows, [(1, 2, None), (3, 4, Some(5)), (6, 7, None)]);
}

#[test]
fn c067_the_first_rows_do_not_depend_on_later_ones() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latin.csv");
    let mut bytes = b"id,name\n".to_vec();
    for id in 1..=10 {
        bytes.extend(format!("{id},n{id}\n").bytes());
    }
    bytes.extend(b"11,caf\xe9\n");
    fs::write(&path, bytes).unwrap();
    for _ in 0..20 {
        let rows = context().read().csv(&path).unwrap().limit(10);
        let rows: Vec<(i64, String)> = rows.collect_rows().unwrap();
        assert_eq!(rows.len(), 10);
    }
}

#[test]
fn c069_empty_and_hidden_files_are_no_data() {
    for kind in ["parquet", "csv", "json"] {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let context = context();
        let write = context.frame_range(0, 3, 1).write();
        let read = || context.read();
        match kind {
            "parquet" => write.parquet(&out).unwrap(),
            "csv" => write.csv(&out).unwrap(),
            _ => write.json(&out).unwrap(),
        };
        fs::write(out.join(format!("part-99.{kind}")), b"").unwrap();
        fs::write(out.join(format!(".part-0.{kind}.crc")), b"crc").unwrap();
        let rows = match kind {
            "parquet" => read().parquet(&out),
            "csv" => read().csv(&out),
            _ => read().json(&out),
        };
        assert_eq!(rows.unwrap().count().unwrap(), 3, "{kind}");
    }
}

#[test]
fn c071_an_empty_result_has_its_columns() {
    let context = context();
    let none = context.from_rows([(1i64, "a")]).unwrap().rename_all(["n", "s"]).filter(lit(false));
    let dir = tempfile::tempdir().unwrap();
    none.write().parquet(dir.path().join("p")).unwrap();
    none.write().csv(dir.path().join("c")).unwrap();
    none.write().json(dir.path().join("j")).unwrap();
    let names = |frame: millstream::DataFrame| {
        assert_eq!(frame.count().unwrap(), 0);
        let schema = frame.schema().unwrap();
        schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(context.read().parquet(&dir.path().join("p")).unwrap()), ["n", "s"]);
    assert_eq!(names(context.read().csv(&dir.path().join("c")).unwrap()), ["n", "s"]);
    assert_eq!(names(context.read().json(&dir.path().join("j")).unwrap()), ["n", "s"]);
}

#[test]
fn c073_columns_of_parquet_are_found_by_name_and_widened() {
    let context = context();
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, columns: Vec<(&str, arrow::array::ArrayRef)>| {
        let path = dir.path().join(name);
        frame(&context, columns).write().parquet(&path).unwrap();
        let mut part = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let part = part.find(|path| path.extension().is_some_and(|e| e == "parquet")).unwrap();
        fs::rename(part, dir.path().join(format!("{name}.parquet"))).unwrap();
        fs::remove_dir_all(path).unwrap();
    };
    let longs = |n: i64| array(Int64Array::from(vec![n]));
    write("f1", vec![("c1", longs(1))]);
    write("f2", vec![("c2", longs(20)), ("c1", longs(2))]);
    write("f3", vec![("c1", array(Int32Array::from(vec![3])))]);
    let schema = Schema::new(vec![
        Field::new("c1", DataType::Int64, true),
        Field::new("c2", DataType::Int64, true),
    ]);
    let rows = context.read().schema(schema).parquet(dir.path()).unwrap().sort([col("c1")]);
    let rows: Vec<(i64, Option<i64>)> = rows.collect_rows().unwrap();
    assert_eq!(rows, [(1, None), (2, Some(20)), (3, None)]);
}

#[test]
fn c075_values_of_directories_keep_their_form() {
    let context = context();
    let dir = tempfile::tempdir().unwrap();
    let rows = context
        .from_rows([
            (Some("01"), 1i64),
            (Some("02"), 2),
            (Some("2A001"), 3),
            (Some("a/b=c %"), 4),
            (None, 5),
        ])
        .unwrap()
        .rename_all(["code", "n"]);
    rows.write().partition_by(&["code"]).parquet(dir.path().join("t")).unwrap();
    let table = context.read().parquet(&dir.path().join("t")).unwrap();
    assert_eq!(table.filter(col("code").eq("01")).count().unwrap(), 1);
    let back: Vec<(Option<String>, i64)> =
        table.select(["code", "n"]).sort([col("n")]).collect_rows().unwrap();
    let known: Vec<(Option<String>, i64)> = rows.collect_rows().unwrap();
    assert_eq!(back, known);
}

#[test]
fn c155_many_small_files_are_few_tasks() {
    let context = context();
    let dir = tempfile::tempdir().unwrap();
    for file in 0..2000 {
        let rows: String = (0..10).map(|row| format!("{file},{row}\n")).collect();
        fs::write(dir.path().join(format!("f{file}.csv")), format!("file,row\n{rows}")).unwrap();
    }
    let rows = context.read().csv(dir.path()).unwrap();
    assert_eq!(rows.count().unwrap(), 20_000);
    assert!(rows.to_rdd::<(i64, i64)>().unwrap().partitions() < 20);
}
