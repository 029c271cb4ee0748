//! Selections and expressions.

use millstream::functions::{col, lit, round, upper, when};

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
