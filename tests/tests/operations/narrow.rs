//! Operations that look at one row, or one partition, at a time.

use millstream::Context;
use millstream_tests::matrix::Matrix;

const N: i64 = 20_000;

#[test]
fn map_filter_and_their_state() {
    let known: Vec<i64> = (0..N).map(|n| n * 3 + 7).filter(|n| n % 5 == 1).collect();
    Matrix::default().answers(&known, |context, partitions| {
        let rows = context.range(0..N, partitions).map_with(7, |seven, n| n * 3 + seven);
        rows.filter_with(5, |five, n| n % five == 1).collect()
    });
    Matrix::default().answers(&known, |context, partitions| {
        context.range(0..N, partitions).map(|n| n * 3 + 7).filter(|n| n % 5 == 1).collect()
    });
}

#[test]
fn flat_map_expands_and_drops() {
    let known: Vec<i64> = (0..400).flat_map(|n| 0..n % 300).collect();
    Matrix::default().answers(&known, |context, partitions| {
        context.range(0..400, partitions).flat_map(|n| 0..n % 300).collect()
    });
    Matrix::default().answers(&known, |context, partitions| {
        context.range(0..400, partitions).flat_map_with(300, |most, n| 0..n % *most).collect()
    });
}

#[test]
fn one_row_expands_without_being_held() {
    Matrix::default().answers(&3_000_000, |context, partitions| {
        context.range(0..3, partitions).flat_map(|_| 0..1_000_000u64).count()
    });
}

#[test]
fn map_partitions_sees_each_partition_once_and_whole() {
    Matrix::default().answers(&(N, N * (N - 1) / 2), |context, partitions| {
        let sums = context.range(0..N, partitions).map_partitions(|rows| {
            let (count, sum) = rows.fold((0, 0), |(count, sum), n| (count + 1, sum + n));
            [(count, sum)]
        });
        assert_eq!(sums.count()?, u64::from(partitions));
        Ok(sums.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?.unwrap())
    });
}

#[test]
fn partitions_know_their_number() {
    Matrix::default().answers(&true, |context, partitions| {
        let numbers = context.range(0..N, partitions).map_partitions_with_index(|at, _| [at]);
        let with = context.range(0..N, partitions).map_partitions_with(10, |ten, at, _| [at + ten]);
        let known: Vec<u32> = (0..partitions).collect();
        let shifted: Vec<u32> = (10..partitions + 10).collect();
        Ok(numbers.collect()? == known && with.collect()? == shifted)
    });
}

#[test]
fn key_by_keeps_the_row() {
    let known: Vec<(i64, i64)> = (0..N).map(|n| (n % 7, n)).collect();
    Matrix::default().answers(&known, |context, partitions| {
        context.range(0..N, partitions).key_by(|n| n % 7).collect()
    });
    Matrix::default().answers(&known, |context, partitions| {
        context.range(0..N, partitions).key_by_with(7, |seven, n| n % seven).collect()
    });
}

#[test]
fn glom_gives_partitions_in_order() {
    Matrix::default().answers(&(0..N).collect::<Vec<i64>>(), |context, partitions| {
        let parts = context.range(0..N, partitions).glom().collect()?;
        assert_eq!(parts.len(), partitions as usize);
        Ok(parts.concat())
    });
}

#[test]
fn sources_split_evenly_and_may_be_empty() {
    Matrix::default().answers(&0, |context, _| context.empty::<i64>().count());
    Matrix::default().answers(&0, |context, partitions| context.range(5..5, partitions).count());
    Matrix::default().answers(&vec![1, 2], |context: &Context, partitions| {
        context.parallelize([1, 2], partitions).collect()
    });
    Matrix::default().answers(&true, |context, partitions| {
        let sizes = context.range(0..N, partitions).glom().map(|rows| rows.len()).collect()?;
        Ok(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1)
    });
}

#[test]
fn pipe_sends_rows_through_a_program() {
    let known: Vec<String> = (0..3_000).map(|n| format!("<{n}>")).collect();
    Matrix::default().answers(&known, |context, partitions| {
        context.range(0..3_000, partitions).pipe(["sed", "s/.*/<&>/"]).collect()
    });
}

#[test]
fn a_program_that_fails_fails_the_job() {
    let context = Context::builder().task_attempts(1).quiet(true).build().unwrap();
    let error = context.range(0..10, 2).pipe(["false"]).collect().unwrap_err().to_string();
    assert!(error.contains("false"), "{error}");
    let error = context.range(0..10, 2).pipe(["no-such-program"]).collect().unwrap_err();
    assert!(error.to_string().contains("no-such-program"), "{error}");
}
