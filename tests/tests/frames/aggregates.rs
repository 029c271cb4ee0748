//! Groups and aggregates.

use std::collections::{BTreeMap, BTreeSet};

use millstream::functions::{
    avg, col, collect_list, count, count_distinct, count_star, first, grouping_id, max, max_by,
    min, stddev_samp, sum,
};
use millstream_tests::matrix::Matrix;

use super::{Item, check, frame, items};

fn by_kind() -> BTreeMap<Option<String>, Vec<Item>> {
    let mut groups: BTreeMap<Option<String>, Vec<Item>> = BTreeMap::new();
    for item in items() {
        groups.entry(item.kind.clone()).or_default().push(item);
    }
    groups
}

#[test]
fn groups_have_their_figures() {
    type Row = (Option<String>, i64, i64, Option<i64>, f64, f64, Option<i64>, Option<i64>);
    let row = |(kind, items): (Option<String>, Vec<Item>)| -> Row {
        let sizes: Vec<i64> = items.iter().filter_map(|item| item.size).collect();
        let prices: f64 = items.iter().map(|item| item.price).sum();
        (
            kind,
            items.len() as i64,
            sizes.len() as i64,
            Some(sizes.iter().sum()),
            prices,
            prices / items.len() as f64,
            sizes.iter().min().copied(),
            sizes.iter().max().copied(),
        )
    };
    let known: Vec<Row> = by_kind().into_iter().map(row).collect();
    check(&known, |items| {
        items
            .group_by(["kind"])
            .agg([
                count_star().alias("items"),
                count(col("size")).alias("sizes"),
                sum(col("size")).alias("size"),
                sum(col("price")).alias("prices"),
                avg(col("price")).alias("mean"),
                min(col("size")).alias("least"),
                max(col("size")).alias("most"),
            ])
            .sort([col("kind")])
    });
}

#[test]
fn no_rows_have_an_aggregate() {
    check(&[(0i64, None::<i64>)], |items| {
        items.filter(col("id").lt(0)).agg([count_star().alias("n"), sum(col("size")).alias("size")])
    });
}

#[test]
fn different_values_are_counted() {
    let different = |items: Vec<Item>| {
        items.iter().filter_map(|item| item.size).collect::<BTreeSet<_>>().len() as i64
    };
    let known: Vec<(Option<String>, i64, i64)> = by_kind()
        .into_iter()
        .map(|(kind, items)| (kind, different(items.clone()), items.len() as i64))
        .collect();
    check(&known, |items| {
        items
            .group_by(["kind"])
            .agg([count_distinct(["size"]).alias("sizes"), count_star().alias("items")])
            .sort([col("kind")])
    });
}

#[test]
fn parts_of_keys_are_rolled_up() {
    let mut known: Vec<(Option<i64>, Option<bool>, i64, i64)> = Vec::new();
    known.push((None, None, 3, 1000));
    for third in 0..3 {
        let of_third = (0..1000).filter(|id| id % 3 == third);
        known.push((Some(third), None, 1, of_third.clone().count() as i64));
        for even in [false, true] {
            let count = of_third.clone().filter(|id| (id % 2 == 0) == even).count() as i64;
            known.push((Some(third), Some(even), 0, count));
        }
    }
    check(&known, |items| {
        items
            .select([(col("id") % 3).alias("third"), (col("id") % 2).eq(0).alias("even")])
            .group_by(["third", "even"])
            .rollup()
            .agg([
                grouping_id().cast(arrow::datatypes::DataType::Int64).alias("set"),
                count_star().alias("n"),
            ])
            .sort([col("third"), col("even")])
    });
}

#[test]
fn a_value_becomes_columns() {
    let count = |third: i64, rest: i64| {
        (0..1000).filter(|id| id % 3 == third && id % 4 == rest).count() as i64
    };
    let known: Vec<(i64, i64, i64)> =
        (0..3).map(|third| (third, count(third, 0), count(third, 1))).collect();
    check(&known, |items| {
        items
            .select([(col("id") % 3).alias("third"), (col("id") % 4).alias("rest")])
            .group_by(["third"])
            .pivot("rest", [0i64, 1])
            .agg([count_star().alias("n")])
            .sort([col("third")])
    });
}

#[test]
fn lists_and_firsts_follow_the_order_of_rows() {
    type Row = (i64, Vec<i64>, i64, Option<i64>);
    let known: Vec<Row> = (0..4)
        .map(|rest| {
            let ids: Vec<i64> = (0..40).filter(|id| id % 4 == rest).collect();
            (rest, ids.clone(), ids[0], ids.last().copied())
        })
        .collect();
    Matrix::default().answers(&known, |context, n| {
        // One partition in, so that there is an order of all rows.
        let items = frame(context, n)?.filter(col("id").lt(40)).sort([col("id")]);
        items
            .group_by([(col("id") % 4).alias("rest")])
            .agg([
                collect_list(col("id")).alias("ids"),
                first(col("id")).alias("first"),
                max_by(col("id"), col("id")).alias("last"),
            ])
            .sort([col("rest")])
            .collect_rows::<Row>()
    });
}

#[test]
fn a_deviation_does_not_depend_on_how_rows_are_spread() {
    let mean = 499.5f64;
    let squares: f64 = (0..1000).map(|id| (f64::from(id) - mean).powi(2)).sum();
    let known = (squares / 999.0).sqrt();
    Matrix::default().answers(&true, |context, n| {
        let rows: Vec<(f64,)> =
            frame(context, n)?.agg([stddev_samp(col("id")).alias("s")]).collect_rows()?;
        Ok((rows[0].0 - known).abs() < 1e-9)
    });
}

#[test]
fn many_groups_finish_in_little_memory() {
    Matrix::spilling().answers(&(60_000i64, 1_799_970_000i64), |context, n| {
        let numbers = context.with_partitions(n).frame_range(0, 60_000, n);
        let groups = numbers
            .group_by([(col("id") * 7919 % 60_000).alias("key")])
            .agg([sum(col("id")).alias("sum"), count_star().alias("n")]);
        let rows: Vec<(i64, i64)> = groups
            .agg([count_star().alias("groups"), sum(col("sum")).alias("sum")])
            .collect_rows()?;
        Ok(rows[0])
    });
}
