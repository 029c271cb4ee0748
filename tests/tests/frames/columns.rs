//! Selections and expressions.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, DictionaryArray, FixedSizeBinaryArray, LargeListArray, RecordBatch,
    TimestampSecondArray,
};
use arrow::datatypes::{DataType, Int8Type, Int64Type, TimeUnit};
use millstream::functions::{col, lit, round, upper, when};
use millstream::{Context, DataFrame, Error};

use super::{check, items};

#[test]
fn columns_are_computed_and_filtered() {
    let known: Vec<(i64, Option<String>, f64)> = items()
        .into_iter()
        .filter(|item| item.size.is_some_and(|size| size > 30))
        .map(|item| (item.id, item.kind.map(|kind| kind.to_uppercase()), item.price * 2.0 + 1.0))
        .collect();
    check(&known, |items| {
        items
            .filter(col("size").gt(30))
            .select([
                col("id"),
                upper(col("kind")).alias("kind"),
                (col("price") * 2 + lit(1.0)).alias("price"),
            ])
            .sort([col("id")])
    });
}

#[test]
fn a_case_looks_at_the_branch_that_is_taken_alone() {
    let known: Vec<(i64, f64)> =
        (0..1000).map(|id| (id, if id % 3 == 0 { -1.0 } else { 6.0 / (id % 3) as f64 })).collect();
    check(&known, |items| {
        let third = || col("id") % 3;
        items
            .select([
                col("id"),
                when(third().eq(0), -1.0).otherwise(lit(6) / third()).alias("part"),
            ])
            .sort([col("id")])
    });
}

#[test]
fn rounding_goes_away_from_zero() {
    check(&[(-3.0, 3.0)], |items| {
        let (low, high) = (round(lit(-2.5), 0), round(lit(2.5), 0));
        items.limit(1).select([low.alias("low"), high.alias("high")])
    });
}

#[test]
fn columns_that_are_handed_over_have_the_types_of_tables() {
    let lists = [Some(vec![Some(1), None]), None, Some(Vec::new())];
    let columns: [(&str, ArrayRef); 4] = [
        ("word", Arc::new(["b", "a", "b"].into_iter().collect::<DictionaryArray<Int8Type>>())),
        ("code", Arc::new(FixedSizeBinaryArray::try_from_iter(["xy", "zz", "xy"].iter()).unwrap())),
        ("list", Arc::new(LargeListArray::from_iter_primitive::<Int64Type, _, _>(lists.clone()))),
        ("at", Arc::new(TimestampSecondArray::from(vec![Some(7), None, Some(-1)]))),
    ];
    let context = Context::local("types").unwrap();
    let frame = of_columns(&context, columns).unwrap();
    let schema = frame.schema().unwrap();
    let types: Vec<&DataType> = schema.fields().iter().map(|field| field.data_type()).collect();
    assert_eq!(types[..2], [&DataType::Utf8View, &DataType::BinaryView]);
    assert!(matches!(types[2], DataType::List(item) if *item.data_type() == DataType::Int64));
    assert_eq!(types[3], &DataType::Timestamp(TimeUnit::Microsecond, None));
    let words: Vec<(String, Option<Vec<Option<i64>>>)> =
        frame.select(["word", "list"]).collect_rows().unwrap();
    assert_eq!(words, ["b", "a", "b"].map(String::from).into_iter().zip(lists).collect::<Vec<_>>());
}

#[test]
fn a_value_that_the_type_of_a_table_cannot_hold_is_an_error() {
    let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
    assert!(of_columns(&Context::local("far").unwrap(), [("at", far)]).is_err());
}

fn of_columns<const N: usize>(
    context: &Context,
    columns: [(&str, ArrayRef); N],
) -> Result<DataFrame, Error> {
    let columns = columns.map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    context.from_batches(batch.schema(), [batch])
}

#[test]
fn a_condition_guards_what_stands_behind_it_in_each_alternative() {
    let known: Vec<(i64,)> = vec![(2,)];
    check(&known, |items| {
        let five = || lit(10i64).int_div(col("id") - 4).eq(lit(-5i64));
        let guarded = col("id").gt(4).and(five()).or(col("id").lt(4).and(five()));
        items.filter(guarded).select(["id"])
    });
}

#[test]
fn what_turns_out_to_be_constant_does_not_change_the_type_beside_it() {
    use arrow::datatypes::DataType;
    // 1.00 / 3 has thirteen digits where 3 is any `int`, and six where it is written out.
    check(&[("0.3333333333333".to_owned(), "0.3333333333333".to_owned())], |items| {
        let one = lit(1).cast(DataType::Decimal128(7, 2));
        let row = items.limit(1).select([one.alias("one"), lit(3).alias("three")]);
        let sum = (col("one") / (lit(1) + lit(2))).alias("sum");
        let column = (col("one") / col("three")).alias("column");
        row.select([sum, column]).select([
            col("sum").cast(DataType::Utf8View).alias("sum"),
            col("column").cast(DataType::Utf8View).alias("column"),
        ])
    });
}
