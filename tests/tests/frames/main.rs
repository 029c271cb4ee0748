//! Frames through the matrix: each operator and kind of join under all partition counts, memory limits, masters and
//! faults, with one known answer, rows in one order.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

millstream_tests::executor_role!();

mod adaptive;
mod aggregates;
mod columns;
mod joins;
mod rows;
mod tpch;
mod windows;

use millstream::{Context, DataFrame, Error};
use millstream_tests::matrix::Matrix;
use serde::{Deserialize, Serialize};

/// A row of the frame that most tests begin with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Item {
    id: i64,
    kind: Option<String>,
    size: Option<i64>,
    price: f64,
}

/// 1,000 items: ids from 0, a kind of seven or NULL, a size that is NULL at times, a price in quarters.
fn items() -> Vec<Item> {
    let kind = |id: i64| (id % 8 != 7).then(|| format!("kind {}", id % 8));
    let size = |id: i64| (id % 5 != 0).then_some(id % 37);
    (0..1000)
        .map(|id| Item { id, kind: kind(id), size: size(id), price: (id * 13 % 400) as f64 / 4.0 })
        .collect()
}

/// The items in `n` partitions, with as many after each exchange.
fn frame(context: &Context, n: u32) -> Result<DataFrame, Error> {
    Ok(context.with_partitions(n).from_rows(items())?.repartition(n))
}

/// Demands these rows, in this order, of all cells.
fn check<T>(known: &[T], pipeline: impl Fn(DataFrame) -> DataFrame)
where
    T: for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug + Clone,
{
    Matrix::default()
        .answers(&known.to_vec(), |context, n| pipeline(frame(context, n)?).collect_rows::<T>());
}
