//! Actions that reduce an `Rdd` to a value.

use millstream_tests::matrix::Matrix;

use super::scatter;

const N: u32 = 30_000;

fn rows() -> Vec<u32> {
    (0..N).map(scatter).collect()
}

#[test]
fn reduce_fold_and_aggregate() {
    let sum: u64 = rows().into_iter().map(u64::from).sum();
    Matrix::default().answers(&(Some(sum), None, sum, (u64::from(N), sum)), |context, n| {
        let rows = context.parallelize(rows(), n).map(u64::from);
        let none = rows.filter(|_| false).reduce(|a, b| a + b)?;
        let add = |(count, sum): (u64, u64), row| (count + 1, sum + row);
        let both = rows.aggregate((0, 0), add, |a, b| (a.0 + b.0, a.1 + b.1))?;
        Ok((rows.reduce(|a, b| a + b)?, none, rows.fold(0, |a, b| a + b)?, both))
    });
}

#[test]
fn tree_aggregate_agrees() {
    let sum: u64 = rows().into_iter().map(u64::from).sum();
    Matrix::default().answers(&sum, |context, n| {
        let rows = context.parallelize(rows(), n * 5);
        rows.tree_aggregate(0, |sum, row| sum + u64::from(row), |a, b| a + b)
    });
}

#[test]
fn reduce_with_state_keeps_the_order_of_rows() {
    let known = Some((0..500).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    Matrix::default().answers(&known, |context, n| {
        let rows = context.range(0..500, n).map(|n| n.to_string());
        rows.reduce_with(",".to_owned(), |comma, a, b| a + comma + &b)
    });
}

#[test]
fn count_first_take_and_is_empty() {
    let known = (u64::from(N), Some(rows()[0]), rows()[..20_000].to_vec(), None::<u32>);
    Matrix::default().answers(&known, |context, n| {
        let rows = context.parallelize(rows(), n);
        let none = rows.filter(|_| false);
        assert!(none.is_empty()? && !rows.is_empty()?);
        assert!(none.take(5)?.is_empty() && rows.take(0)?.is_empty());
        assert_eq!(rows.take(usize::MAX)?.len(), N as usize);
        Ok((rows.count()?, rows.first()?, rows.take(20_000)?, none.first()?))
    });
}

#[test]
fn top_take_ordered_min_and_max() {
    let mut sorted = rows();
    sorted.sort_unstable();
    let least = sorted[..2_000].to_vec();
    let most: Vec<u32> = sorted.iter().rev().take(2_000).copied().collect();
    let ends = (sorted.first().copied(), sorted.last().copied());
    Matrix::default().answers(&(least, most, ends), |context, n| {
        let rows = context.parallelize(rows(), n);
        assert!(rows.top(0)?.is_empty());
        Ok((rows.take_ordered(2_000)?, rows.top(2_000)?, (rows.min()?, rows.max()?)))
    });
}

#[test]
fn for_each_sees_every_row_once() {
    let sum: u64 = rows().into_iter().map(u64::from).sum();
    Matrix::default().answers(&sum, |context, n| {
        let sum = context.accumulator::<u64>();
        let rows = context.parallelize(rows(), n);
        rows.for_each_with(sum.clone(), |sum, row| sum.add(u64::from(row)))?;
        Ok(sum.value())
    });
}
