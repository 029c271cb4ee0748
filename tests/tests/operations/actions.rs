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

#[test]
fn sums_extremes_by_key_and_tree_reduce() {
    let sum: u64 = rows().into_iter().map(u64::from).sum();
    // Of the rows with the largest last digit, and with the smallest, the first.
    let first = |digit| rows().into_iter().find(|row| row % 10 == digit);
    let known = (sum, Some(sum), None, first(9), first(0));
    Matrix::default().answers(&known, |context, n| {
        let rows = context.parallelize(rows(), n);
        let wide = rows.map(u64::from);
        assert_eq!(
            wide.aggregate_with(2, 0, |by, sum, row| sum + row * by, |_, a, b| a + b)?,
            2 * wide.sum()?
        );
        let none = wide.filter(|_| false).tree_reduce(|a, b| a + b)?;
        let (most, least) = (rows.max_by_key(|row| row % 10)?, rows.min_by_key(|row| row % 10)?);
        Ok((wide.sum()?, wide.tree_reduce(|a, b| a + b)?, none, most, least))
    });
}

#[test]
fn a_local_iterator_gives_all_rows_in_order_and_ends_at_an_error() {
    Matrix::default().answers(&rows(), |context, n| {
        context.parallelize(rows(), n).to_local_iterator().collect()
    });
    let context = millstream::Context::builder().task_attempts(1).quiet(true).build().unwrap();
    let rows = context.range(0..9, 3).map(|n| {
        assert!(n != 4, "four");
        n
    });
    let seen: Vec<Option<i64>> = rows.to_local_iterator().map(Result::ok).collect();
    assert_eq!(seen, [Some(0), Some(1), Some(2), None]);
}

#[test]
fn for_each_partition_is_called_once_for_each() {
    Matrix::default().answers(&u64::from(N), |context, n| {
        let (calls, seen) = (context.accumulator::<u64>(), context.accumulator::<u64>());
        let state = (calls.clone(), seen.clone());
        context.parallelize(rows(), n).for_each_partition_with(
            state,
            |(calls, seen), _, rows| {
                calls.add(1);
                seen.add(rows.count() as u64);
            },
        )?;
        assert_eq!(calls.value(), u64::from(n));
        Ok(seen.value())
    });
}
