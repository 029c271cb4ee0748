//! Reading Parquet: what is found by name, what is passed over, and what is said of bad files.

use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use arrow::array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int32Array, Int64Array, LargeStringArray,
    ListArray, RecordBatch, StringArray, StructArray, TimestampNanosecondArray,
};
use arrow::datatypes::{DataType, Field, Int32Type, TimeUnit};
use millstream_planner::expr::{BinaryOp, Scalar};
use tempfile::TempDir;

use crate::executor::testing::task;
use crate::io::files::tests::{
    all, batch, compare, ints, open, open_with, or_null, scan, shown, strings, write, write_parquet,
};
use crate::io::files::{FileTable, Format, ReadOptions};
use crate::io::text::InvalidUtf8;

fn usual() -> WriterProperties {
    WriterProperties::default()
}

fn table(dir: &TempDir) -> FileTable {
    open(dir.path(), Format::Parquet).unwrap()
}

/// Row groups of 1000 rows with pages of 100.
fn small_groups() -> WriterProperties {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .build()
}

#[test]
fn columns_are_found_by_name_and_widened() {
    let dir = TempDir::new().unwrap();
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![5]));
    write_parquet(dir.path(), "1.parquet", &batch(vec![("c1", ints([1]))]), usual());
    let both = batch(vec![("c2", strings(["x"])), ("c1", ints([3]))]);
    write_parquet(dir.path(), "2.parquet", &both, usual());
    write_parquet(dir.path(), "3.parquet", &batch(vec![("c1", narrow)]), usual());
    assert_eq!(all(&table(&dir)).unwrap(), "1,NULL;3,x;5,NULL");
    let rows =
        scan(&table(&dir), &["c2", "c1"], Some(&compare(1, BinaryOp::Gt, 2i64)), None, &task());
    assert_eq!(shown(&rows.unwrap()), "x,3;NULL,5");

    write_parquet(dir.path(), "4.parquet", &batch(vec![("c1", strings(["no number"]))]), usual());
    let error = open(dir.path(), Format::Parquet).unwrap_err().to_string();
    assert!(error.contains("column c1 of") && error.contains("4.parquet has type"), "{error}");
}

#[test]
fn types_of_files_become_those_of_tables() {
    let dir = TempDir::new().unwrap();
    let dictionary: DictionaryArray<Int32Type> = vec![Some("p"), None].into_iter().collect();
    let items =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None]);
    let member: ArrayRef = Arc::new(StringArray::from(vec!["m", "n"]));
    let pair = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Utf8, true)), member)]);
    let rows = batch(vec![
        ("s", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef),
        ("l", Arc::new(LargeStringArray::from(vec!["c", "d"]))),
        ("b", Arc::new(BinaryArray::from_vec(vec![b"e", b"f"]))),
        ("d", Arc::new(dictionary)),
        ("t", Arc::new(TimestampNanosecondArray::from(vec![1_500, 2_500_000]))),
        ("i", Arc::new(items)),
        ("p", Arc::new(pair)),
    ]);
    write_parquet(dir.path(), "a.parquet", &rows, usual());
    let schema = table(&dir).shape().schema;
    let types: Vec<&DataType> = schema.fields().iter().map(|field| field.data_type()).collect();
    assert_eq!(
        types[..4],
        [&DataType::Utf8View, &DataType::Utf8View, &DataType::BinaryView, &DataType::Utf8View]
    );
    assert_eq!(types[4], &DataType::Timestamp(TimeUnit::Microsecond, None));
    let shown = all(&table(&dir)).unwrap();
    assert_eq!(
        shown,
        "a,c,65,p,1970-01-01T00:00:00.000001,[1, ],{x: m};b,d,66,NULL,1970-01-01T00:00:00.002500,NULL,{x: n}"
    );
}

#[test]
fn a_missing_null_count_is_not_zero() {
    let dir = TempDir::new().unwrap();
    let rows = batch(vec![("x", Arc::new(Int64Array::from(vec![Some(5), None])) as ArrayRef)]);
    for (name, statistics) in [
        ("chunk", EnabledStatistics::Chunk),
        ("page", EnabledStatistics::Page),
        ("none", EnabledStatistics::None),
    ] {
        let properties = WriterProperties::builder().set_statistics_enabled(statistics).build();
        write_parquet(&dir.path().join(name), "a.parquet", &rows, properties);
        let bytes = std::fs::read(dir.path().join(name).join("a.parquet")).unwrap();
        write(&dir.path().join(name), "a.parquet", without_null_counts(&bytes));
        let table = open(dir.path().join(name), Format::Parquet).unwrap();
        let either = or_null(compare(0, BinaryOp::Eq, 9i64), 0, DataType::Int64);
        let found = scan(&table, &["x"], Some(&either), None, &task()).unwrap();
        assert_eq!(shown(&found), "NULL", "{name}");
    }
}

/// The same file with a footer that has no null counts.
fn without_null_counts(bytes: &[u8]) -> Vec<u8> {
    use ::parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
    use ::parquet::file::statistics::Statistics;
    let content = bytes::Bytes::copy_from_slice(bytes);
    let footer = ParquetMetaDataReader::new().parse_and_finish(&content).unwrap();
    let mut builder = footer.clone().into_builder();
    let groups = builder.take_row_groups();
    for group in groups {
        let mut builder_of_group = group.into_builder();
        let columns = builder_of_group.take_columns();
        for column in columns {
            let statistics = column.statistics().map(|found| match found {
                Statistics::Int64(values) => Statistics::int64(
                    values.min_opt().copied(),
                    values.max_opt().copied(),
                    None,
                    None,
                    false,
                ),
                other => other.clone(),
            });
            let mut column = column.into_builder().clear_statistics();
            if let Some(statistics) = statistics {
                column = column.set_statistics(statistics);
            }
            builder_of_group = builder_of_group.add_column_metadata(column.build().unwrap());
        }
        builder = builder.add_row_group(builder_of_group.build().unwrap());
    }
    let end = footer
        .row_group(0)
        .columns()
        .iter()
        .map(|c| {
            let (s, l) = c.byte_range();
            s + l
        })
        .max()
        .unwrap();
    let mut out = bytes[..end as usize].to_vec();
    let footer = builder.build();
    ParquetMetaDataWriter::new(&mut out, &footer).finish().unwrap();
    out
}

#[test]
fn every_way_of_passing_over_rows_gives_the_same_rows() {
    // Many row groups of many pages; one of several windows; pages by the index and without one.
    let pages = || {
        WriterProperties::builder().set_data_page_row_count_limit(1000).set_write_batch_size(1000)
    };
    check_ways(5_000, small_groups());
    check_ways(150_000, pages().build());
    check_ways(20_000, pages().set_statistics_enabled(EnabledStatistics::Chunk).build());
}

fn check_ways(count: i64, properties: WriterProperties) {
    let dir = TempDir::new().unwrap();
    let words: Vec<String> = (0..count).map(|n| format!("the word of row {n}")).collect();
    let nulls = Int64Array::from_iter((0..count).map(|n| (n % 7 != 0).then_some(n * n % 1009)));
    let rows = batch(vec![
        ("k", ints(0..count)),
        ("v", Arc::new(nulls) as ArrayRef),
        ("s", strings(words.iter().map(String::as_str))),
    ]);
    write_parquet(dir.path(), "a.parquet", &rows, properties);
    let table = table(&dir);
    let whole = scan(&table, &["s", "v", "k"], None, None, &task()).unwrap();
    assert_eq!(whole.num_rows(), count as usize);
    for (column, op, value) in [
        (2, BinaryOp::Eq, 1234i64),
        (2, BinaryOp::Lt, 150),
        (2, BinaryOp::GtEq, count - 10),
        (2, BinaryOp::GtEq, 1200),
        (2, BinaryOp::Gt, count),
        (1, BinaryOp::Eq, 4),
        (1, BinaryOp::Lt, 40),
        (1, BinaryOp::GtEq, 5),
    ] {
        let predicate = compare(column, op, value);
        for predicate in [predicate.clone(), or_null(predicate, 1, DataType::Int64)] {
            let evaluator = crate::eval::Evaluator::new(&predicate).unwrap();
            let origin = crate::eval::RowOrigin { partition: 0, row: 0 };
            let mask = evaluator.mask(&whole, origin).unwrap();
            let expected = arrow::compute::filter_record_batch(&whole, &mask).unwrap();
            let found = scan(&table, &["s", "v", "k"], Some(&predicate), None, &task()).unwrap();
            assert_eq!(found, expected, "{column} {op:?} {value}");
        }
        // With no other columns than those of the condition.
        let only = compare(0, op, value);
        let name = ["s", "v", "k"][column as usize];
        let found = scan(&table, &[name], Some(&only), None, &task()).unwrap();
        let one = whole.project(&[column as usize]).unwrap();
        let mask = crate::eval::Evaluator::new(&only).unwrap();
        let mask = mask.mask(&one, crate::eval::RowOrigin { partition: 0, row: 0 }).unwrap();
        assert_eq!(found, arrow::compute::filter_record_batch(&one, &mask).unwrap());
    }
}

#[test]
fn row_groups_without_rows_that_pass_are_not_read() {
    let dir = TempDir::new().unwrap();
    let rows = batch(vec![("k", ints(0..5_000))]);
    write_parquet(dir.path(), "a.parquet", &rows, small_groups());
    let table = table(&dir);
    // The content of all row groups but the second is destroyed.
    let path = dir.path().join("a.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    let content = bytes::Bytes::from(bytes.clone());
    let footer =
        ::parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(&content).unwrap();
    for group in [0, 2, 3, 4] {
        let (start, length) = footer.row_group(group).column(0).byte_range();
        bytes[start as usize..(start + length) as usize].fill(0xFF);
    }
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, bytes).unwrap();
    std::fs::File::open(&path).unwrap().set_modified(modified).unwrap();
    let found = scan(&table, &["k"], Some(&compare(0, BinaryOp::Eq, 1_500i64)), None, &task());
    assert_eq!(shown(&found.unwrap()), "1500");
    let error = scan(&table, &["k"], None, None, &task()).unwrap_err().to_string();
    assert!(error.contains("a.parquet is damaged or not a parquet file: row group 0"), "{error}");
    // Nothing of the content is needed for the number of rows.
    assert_eq!(scan(&table, &[], None, None, &task()).unwrap().num_rows(), 5_000);
}

#[test]
fn bloom_filters_and_bounds_of_nan_are_understood() {
    let dir = TempDir::new().unwrap();
    let words = ["alpha", "gamma"];
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    let rows = batch(vec![("s", strings(words)), ("f", numbers), ("n", ints([1, 9]))]);
    let properties = WriterProperties::builder().set_bloom_filter_enabled(true).build();
    write_parquet(dir.path(), "a.parquet", &rows, properties);
    let table = table(&dir);
    let find = |columns: &[&str], predicate| {
        shown(&scan(&table, columns, Some(&predicate), None, &task()).unwrap())
    };
    assert_eq!(find(&["s"], compare(0, BinaryOp::Eq, "beta")), "");
    assert_eq!(find(&["s"], compare(0, BinaryOp::Eq, "gamma")), "gamma");
    assert_eq!(find(&["n"], compare(0, BinaryOp::Eq, 5i64)), "");
    assert_eq!(find(&["f"], compare(0, BinaryOp::Gt, 2.0)), "NaN", "a NaN is the largest");
}

#[test]
fn bad_strings_matter_where_they_are_used_alone() {
    let dir = TempDir::new().unwrap();
    let bytes: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"ok", b"b\xFFd", b"ok"]));
    let rows = RecordBatch::try_from_iter([("n", ints([1, 2, 3])), ("s", bytes)]).unwrap();
    write_parquet(dir.path(), "a.parquet", &rows, usual());
    let schema = Arc::new(arrow::datatypes::Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
    ]));
    let options = ReadOptions { schema: Some(schema), ..ReadOptions::default() };
    let table = open_with(dir.path(), Format::Parquet, options.clone()).unwrap();
    assert_eq!(shown(&scan(&table, &["n"], None, None, &task()).unwrap()), "1;2;3");
    let error = scan(&table, &["s"], None, None, &task()).unwrap_err().to_string();
    assert!(
        error.contains("column s of") && error.contains("a.parquet is not UTF-8 at row 1"),
        "{error}"
    );
    let lossy = ReadOptions { invalid_utf8: InvalidUtf8::Lossy, ..options };
    let table = open_with(dir.path(), Format::Parquet, lossy).unwrap();
    assert_eq!(shown(&scan(&table, &["s"], None, None, &task()).unwrap()), "ok;b\u{FFFD}d;ok");
}

#[test]
fn statistics_are_of_all_files() {
    let dir = TempDir::new().unwrap();
    let zstd = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    write_parquet(dir.path(), "1.parquet", &batch(vec![("k", ints(5..8))]), zstd);
    let some: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(20)]));
    write_parquet(dir.path(), "2.parquet", &batch(vec![("k", some)]), usual());
    let shape = table(&dir).shape();
    let column = &shape.columns[0];
    assert_eq!((shape.rows, column.nulls, column.distinct), (Some(5), Some(1), Some(5)));
    assert_eq!((&column.min, &column.max), (&Some(Scalar::Int64(5)), &Some(Scalar::Int64(20))));
    assert!(shape.bytes.is_some_and(|bytes| bytes >= 40));
}

#[test]
fn files_that_are_none_are_named() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.parquet", "certainly no parquet file");
    let error = open(dir.path(), Format::Parquet).unwrap_err().to_string();
    assert!(error.contains("a.parquet is damaged or not a parquet file"), "{error}");
}
