//! Reading delimited text as tables.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use tempfile::TempDir;

use crate::executor::testing::task;
use crate::io::files::tests::{all, open, open_with, scan, shown, write};
use crate::io::files::{BadRecords, CsvOptions, FileTable, Format, Ragged, ReadOptions};
use crate::io::text::InvalidUtf8;

fn csv() -> Format {
    Format::Csv(CsvOptions::default())
}

fn table(dir: &TempDir) -> FileTable {
    open(dir.path(), csv()).unwrap()
}

fn read(table: &FileTable, columns: &[&str]) -> RecordBatch {
    scan(table, columns, None, None, &task()).unwrap()
}

fn schema(fields: &[(&str, DataType)]) -> ReadOptions {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
    let schema = Schema::new(fields.iter().map(field).collect::<Vec<_>>());
    ReadOptions { schema: Some(Arc::new(schema)), ..ReadOptions::default() }
}

#[test]
fn records_of_many_lines_are_the_same_whichever_columns_are_wanted() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.csv", "a,b,c\n1,x,2\n3,\"say \"\"hi\"\",\nthen go\",4\n5,y,6\n");
    let table = table(&dir);
    assert_eq!(shown(&read(&table, &["a"])), "1;3;5");
    assert_eq!(shown(&read(&table, &["c", "a"])), "2,1;4,3;6,5");
    assert_eq!(read(&table, &[]).num_rows(), 3);
    assert_eq!(all(&table).unwrap(), "1,x,2;3,say \"hi\",\nthen go,4;5,y,6");
}

#[test]
fn columns_are_found_by_the_header_of_each_file() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "1.csv", "a,b\n1,2");
    write(dir.path(), "2.csv", "a,b,c\n3,4,5\n");
    write(dir.path(), "3.csv", "\u{FEFF}b,a\r\n7,6\r\n");
    let table = table(&dir);
    assert_eq!(all(&table).unwrap(), "1,2,NULL;3,4,5;6,7,NULL");
    let names: Vec<String> =
        table.shape().schema.fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    write(dir.path(), "4.csv", "a,a\n1,2");
    let error = open(dir.path(), csv()).unwrap_err().to_string();
    assert!(error.contains("4.csv has two columns named a"), "{error}");
}

#[test]
fn types_are_what_all_values_of_the_sample_are() {
    let dir = TempDir::new().unwrap();
    write(
        dir.path(),
        "a.csv",
        "i,f,b,d,t,s,n,big\n1,1,true,2024-02-29,2024-02-29 12:00:00,x,,1\n-2,2.5e3,FALSE,1999-01-01,2024-02-29,2,,99999999999999999999\n",
    );
    let table = table(&dir);
    let schema = table.shape().schema;
    let types: Vec<DataType> =
        schema.fields().iter().map(|field| field.data_type().clone()).collect();
    let instant = DataType::Timestamp(TimeUnit::Microsecond, None);
    assert_eq!(
        types,
        [
            DataType::Int64,
            DataType::Float64,
            DataType::Boolean,
            DataType::Date32,
            instant,
            DataType::Utf8View,
            DataType::Utf8View,
            DataType::Utf8View
        ]
    );
    assert_eq!(
        all(&table).unwrap(),
        "1,1.0,true,2024-02-29,2024-02-29T12:00:00,x,NULL,1;-2,2500.0,false,1999-01-01,2024-02-29T00:00:00,2,NULL,99999999999999999999"
    );
}

#[test]
fn values_of_other_types_name_file_line_and_column() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.csv", "n,s\n1,\"two\nlines\"\n3,x\nfour,y\n5,z\n");
    let fields = [("n", DataType::Int64), ("s", DataType::Utf8)];
    let table = open_with(dir.path(), csv(), schema(&fields)).unwrap();
    let error = all(&table).unwrap_err().to_string();
    assert!(error.contains("a.csv, line 5, column n: \"four\" is no Int64"), "{error}");
    assert_eq!(
        shown(&read(&table, &["s"])),
        "two\nlines;x;y;z",
        "a column that is not used is not looked at"
    );

    let drop = ReadOptions { bad_records: BadRecords::Drop, ..schema(&fields) };
    let task = task();
    let rows =
        scan(&open_with(dir.path(), csv(), drop).unwrap(), &["s", "n"], None, None, &task).unwrap();
    assert_eq!(shown(&rows), "two\nlines,1;x,3;z,5");
    assert_eq!(task.metrics.records_skipped.get(), 1);

    let keep = ReadOptions { bad_records: BadRecords::Keep("raw".into()), ..schema(&fields) };
    let table = open_with(dir.path(), csv(), keep).unwrap();
    assert_eq!(all(&table).unwrap(), "1,two\nlines,NULL;3,x,NULL;NULL,NULL,four,y;5,z,NULL");
}

#[test]
fn ragged_records_are_treated_as_asked() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.csv", "a,b\n1,2\n3\n4,5,6\n");
    let with = |ragged, bad_records| {
        let format = Format::Csv(CsvOptions { ragged, ..CsvOptions::default() });
        all(&open_with(dir.path(), format, ReadOptions { bad_records, ..ReadOptions::default() })
            .unwrap())
    };
    let error = with(Ragged::Bad, BadRecords::Fail).unwrap_err().to_string();
    assert!(error.contains("a.csv, line 3: 1 fields where 2 are expected"), "{error}");
    let error = with(Ragged::Fill, BadRecords::Fail).unwrap_err().to_string();
    assert!(error.contains("a.csv, line 4: 3 fields where 2 are expected"), "{error}");
    assert_eq!(with(Ragged::Fit, BadRecords::Fail).unwrap(), "1,2;3,NULL;4,5");
    assert_eq!(with(Ragged::Bad, BadRecords::Drop).unwrap(), "1,2");
}

#[test]
fn bad_bytes_matter_where_they_are_used_alone() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.csv", b"n,s\n1,Al\n2,Bob\xFF\n");
    assert_eq!(shown(&read(&table(&dir), &["n"])), "1;2");
    let error = all(&table(&dir)).unwrap_err().to_string();
    assert!(error.contains("a.csv, line 3, column s: is not UTF-8"), "{error}");
    let with = |invalid_utf8| {
        all(&open_with(dir.path(), csv(), ReadOptions { invalid_utf8, ..ReadOptions::default() })
            .unwrap())
        .unwrap()
    };
    assert_eq!(with(InvalidUtf8::Lossy), "1,Al;2,Bob\u{FFFD}");
    assert_eq!(with(InvalidUtf8::Skip), "1,Al");
}

#[test]
fn empty_strings_and_nulls_differ_by_their_quotes() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.csv", "a,b\n\"\",x\n,\"NA\"\nNA,y\n");
    assert_eq!(all(&table(&dir)).unwrap(), ",x;NULL,NA;NA,y");
    let nulls = vec!["NA".to_owned()];
    let format = Format::Csv(CsvOptions { nulls, ..CsvOptions::default() });
    assert_eq!(all(&open(dir.path(), format).unwrap()).unwrap(), ",x;,NA;NULL,y");
}

#[test]
fn files_without_header_have_numbered_or_given_columns() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.tsv", "# made up\n1\tx\n\n2\ty\n");
    let format = Format::Csv(CsvOptions {
        header: false,
        delimiter: b'\t',
        comment: Some(b'#'),
        ..CsvOptions::default()
    });
    let table = open(dir.path(), format.clone()).unwrap();
    assert_eq!(shown(&read(&table, &["column_2", "column_1"])), "x,1;y,2");
    let fields = [("n", DataType::Int32), ("s", DataType::Utf8)];
    let table = open_with(dir.path(), format, schema(&fields)).unwrap();
    assert_eq!(shown(&read(&table, &["s", "n"])), "x,1;y,2");
}

#[test]
fn compressed_files_are_read() {
    let dir = TempDir::new().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"a\n1\n").unwrap();
    write(dir.path(), "1.csv.gz", gzip.finish().unwrap());
    write(dir.path(), "2.csv.zst", zstd::encode_all(b"a\n2\n".as_slice(), 1).unwrap());
    assert_eq!(all(&table(&dir)).unwrap(), "1;2");
    write(dir.path(), "3.csv.gz", "no gzip");
    let error = open(dir.path(), csv()).unwrap_err().to_string();
    assert!(error.contains("3.csv.gz is damaged or not gzip"), "{error}");
}

#[test]
fn a_quoted_newline_in_a_file_read_in_parts_is_an_error_that_says_so() {
    let dir = TempDir::new().unwrap();
    let mut content = "n,s\n".to_owned();
    (0..1_000_000).for_each(|n| content.push_str(&format!("{n},x\n")));
    content.push_str("7,\"two\nlines\"\n");
    write(dir.path(), "a.csv", content);
    assert!(table(&dir).shape().partitions > 1);
    let error = scan(&table(&dir), &["n"], None, None, &task()).unwrap_err().to_string();
    assert!(error.contains("a.csv, line 1000002: ") && error.contains("set multi_line"), "{error}");
    let format = Format::Csv(CsvOptions { multi_line: Some(true), ..CsvOptions::default() });
    let table = open(dir.path(), format).unwrap();
    assert_eq!((table.shape().partitions, read(&table, &[]).num_rows()), (1, 1_000_001));
}

#[test]
fn decimals_and_zones_are_read_as_given() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.csv", "d,t\n12.345,2024-01-01T00:00:00Z\n");
    let zone = DataType::Timestamp(TimeUnit::Microsecond, Some("+02:00".into()));
    let table =
        open_with(dir.path(), csv(), schema(&[("d", DataType::Decimal128(10, 3)), ("t", zone)]))
            .unwrap();
    assert_eq!(all(&table).unwrap(), "12.345,2024-01-01T02:00:00+02:00");
    let list = DataType::new_list(DataType::Int64, true);
    let table = open_with(dir.path(), csv(), schema(&[("d", list)])).unwrap();
    assert!(all(&table).unwrap_err().to_string().contains("text has no values of type"));
}
