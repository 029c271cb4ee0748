//! Broadcasts, accumulators and persisted rows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use millstream::events::Event;
use millstream::{Context, PersistLevel};
use millstream_tests::matrix::{Matrix, files_below};
use millstream_tests::watch::Watch;

use super::bulky;

#[test]
fn a_broadcast_is_seen_by_all_tasks() {
    let known: Vec<i64> = (0..5_000).filter(|n| n % 7 == 3).map(|n| n * 100).collect();
    Matrix::default().answers(&known, |context, n| {
        let table = context.broadcast(HashMap::from([(3i64, 100i64)]));
        context
            .range(0..5_000, n)
            .flat_map_with(table, |t, n| t.get(&(n % 7)).map(|f| n * f))
            .collect()
    });
}

/// How often each of the partitions 0..8 of the test below was tried, one set for each cell.
static TRIES: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];

#[test]
fn an_accumulator_counts_a_partition_once_however_often_it_is_tried() {
    Matrix::default().answers(&(1_000, 499_500), |context, n| {
        TRIES.iter().for_each(|tries| tries.store(0, Ordering::SeqCst));
        let rows_seen = context.accumulator::<u64>();
        let counted = context.range(0..1_000, n).map_with(rows_seen.clone(), |seen, n| {
            seen.add(1);
            n
        });
        let sum = counted
            .map_partitions_with_index(|at, rows| {
                let sum: i64 = rows.sum();
                let tries = TRIES[at as usize].fetch_add(1, Ordering::SeqCst);
                assert!(tries > 0, "the first attempt fails, after it has counted its rows");
                [sum]
            })
            .reduce(|a, b| a + b)?;
        Ok((rows_seen.value(), sum.unwrap()))
    });
}

#[test]
fn accumulators_hold_lists_and_maps() {
    let known = HashMap::from([(0, 334u64), (1, 333), (2, 333)]);
    Matrix::default().answers(&known, |context, n| {
        let counts = context.accumulator::<HashMap<i64, u64>>();
        let rows = context.range(0..1_000, n);
        rows.for_each_with(counts.clone(), |counts, n| counts.add(HashMap::from([(n % 3, 1)])))?;
        Ok(counts.value())
    });
}

#[test]
fn persisted_rows_are_the_rows() {
    for level in [PersistLevel::Memory, PersistLevel::MemoryAndDisk, PersistLevel::Disk] {
        // Rows persisted on disk are spills by their nature, so that only the answer is looked at.
        let context = |memory, slots: u32, dir: &std::path::Path| {
            let builder = Context::builder().master(format!("local[{slots}]")).memory_limit(memory);
            builder.local_dir(dir, None).quiet(true).build().unwrap()
        };
        for (memory, slots) in [(512 << 20, 1), (512 << 20, 2), (2 << 20, 1), (2 << 20, 2)] {
            let dir = tempfile::tempdir().unwrap();
            let context = context(memory, slots, dir.path());
            let runs = context.accumulator::<u64>();
            let rows = context.parallelize(bulky(), 8).map_with(runs.clone(), |runs, row| {
                runs.add(1);
                row
            });
            let rows = rows.persist(level);
            for _ in 0..3 {
                assert!(rows.collect().unwrap() == bulky(), "{level:?}, {memory} bytes");
            }
            let computed_once = runs.value() == bulky().len() as u64;
            let room = memory > 100 << 20 || level != PersistLevel::Memory;
            assert!(computed_once || !room, "{level:?}, {memory} bytes: {}", runs.value());
            rows.unpersist();
            assert_eq!(files_below(dir.path()).len(), 1, "only the owner's mark is left");
            let before = runs.value();
            assert_eq!(rows.count().unwrap(), bulky().len() as u64);
            assert_eq!(runs.value(), before + bulky().len() as u64, "nothing is kept any more");
        }
    }
}

/// Runs of the partition below, and who sees its tasks start.
static RUNS: AtomicU32 = AtomicU32::new(0);
static TASKS: OnceLock<Arc<Watch>> = OnceLock::new();

#[test]
fn two_tasks_that_want_a_persisted_partition_at_once_compute_it_once() {
    let watch = TASKS.get_or_init(Watch::new);
    let builder =
        Context::builder().master("local[2]").quiet(true).listener(Arc::clone(watch) as _);
    let context = builder.build().unwrap();
    let once = context.range(0..10, 1).map_partitions(|rows| {
        RUNS.fetch_add(1, Ordering::SeqCst);
        // The other task is on its way; if it does not wait for this one, it is here soon.
        TASKS.get().unwrap().wait("both tasks", |records| {
            let started = records.iter().filter(|r| matches!(r.event, Event::TaskStarted { .. }));
            (started.count() >= 2).then_some(())
        });
        let start = Instant::now();
        while RUNS.load(Ordering::SeqCst) < 2 && start.elapsed() < Duration::from_millis(300) {
            std::thread::yield_now();
        }
        rows
    });
    let once = once.cache();
    assert_eq!(once.union(&once).count().unwrap(), 20);
    assert_eq!(RUNS.load(Ordering::SeqCst), 1);
}
