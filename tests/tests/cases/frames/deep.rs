use std::thread;
use std::time::{Duration, Instant};

use millstream::functions::{Expr, col, lit, sum, when};

use super::super::context;

/// Runs in a thread with a small stack.
fn with_small_stack(run: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn c151_long_and_deep_expressions_work() {
    with_small_stack(|| {
        let rows = context().frame_range(0, 100, 2);
        for terms in [5_000i64, 20_000] {
            let any = (0..terms).fold(lit(false), |any, n| any.or(col("id").eq(n * 50)));
            assert_eq!(rows.filter(any).count().unwrap(), 2);
        }
        let total = (0..2_000).fold(lit(0i64), |total, _| total + lit(1i64));
        let one: Vec<(i64,)> = rows.limit(1).select([total.alias("x")]).collect_rows().unwrap();
        assert_eq!(one, [(2_000,)]);
        let total = (0..2_000).fold(col("id"), |total, _| total + 1);
        let sums: Vec<(i64,)> = rows.agg([sum(total).alias("x")]).collect_rows().unwrap();
        assert_eq!(sums, [(4950 + 200_000,)]);
        let nested =
            (0..1_000i64).fold(lit(-1i64), |rest, n| when(col("id").eq(n), n * 2).otherwise(rest));
        let sums: Vec<(i64,)> = rows.agg([sum(nested).alias("x")]).collect_rows().unwrap();
        assert_eq!(sums, [(9900,)]);
    });
}

#[test]
fn c153_long_chains_of_frames_work() {
    with_small_stack(|| {
        let context = context();
        let mut rows = context.frame_range(0, 1, 1);
        for _ in 0..2_000 {
            rows = rows.with_column("id", col("id") + 1);
        }
        assert_eq!(rows.collect_rows::<(i64,)>().unwrap(), [(2_000,)]);
        let one = context.frame_range(0, 1, 1);
        let mut rows = one.clone();
        for _ in 0..1_000 {
            rows = rows.union(&one);
        }
        assert_eq!(rows.count().unwrap(), 1_001);
    });
}

#[test]
fn wide_and_long_plans_are_made_quickly() {
    let context = context();
    let started = Instant::now();
    let wide = context
        .frame_range(0, 1, 1)
        .select((0..2_000).map(|n| (col("id") + n).alias(format!("c{n}"))));
    wide.explain().unwrap();
    let one = context.frame_range(0, 1, 1);
    let many: Vec<_> = (0..5_000).map(|_| one.clone()).collect();
    one.union_all(&many).explain().unwrap();
    let any = (0..50_000i64).map(|n| col("id").eq(n)).reduce(Expr::or).unwrap();
    one.filter(any).explain().unwrap();
    one.filter(col("id").in_list(0..10_000i64)).explain().unwrap();
    // Milliseconds each; the bound is for a debug build on a busy machine.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
