//! State that outgrows the memory limit.

use millstream::{Context, Rdd};
use millstream_tests::child;

use super::{MIB, builder, limited, scatter};

/// Rows of a key and a text, both computed: `rows` of `bytes` bytes.
fn wide(context: &Context, rows: i64, bytes: usize) -> Rdd<(u64, String)> {
    context.range(0..rows, 8).map_with(bytes, |bytes, n| {
        let key = scatter(n as u64);
        (key, format!("{key:0>width$}", width = bytes - 8))
    })
}

#[test]
fn c085_repeated_texts_are_not_inflated_by_spilling() {
    const ROWS: u64 = 150_000;
    let dir = tempfile::tempdir().unwrap();
    let context = limited(4 * MIB, dir.path());
    let rows = context.range(0..ROWS as i64, 8).map(|n| {
        let label = scatter(n as u64) % 1_000;
        (format!("{label:0>64}"), n)
    });
    let sorted = rows.sort_by_key().map(|(label, _)| label).collect().unwrap();
    assert!(sorted.is_sorted() && sorted.len() as u64 == ROWS);
    let spilled = context.metrics().spilled_bytes();
    assert!(spilled > 0 && spilled <= ROWS * 72 * 3 / 2, "{spilled} bytes spilled");
}

#[test]
fn c087_top_spills_nothing_and_a_sort_little() {
    const ROWS: u64 = 200_000;
    let dir = tempfile::tempdir().unwrap();
    let context = limited(4 * MIB, dir.path());
    let rows = wide(&context, ROWS as i64, 100);
    let mut known: Vec<u64> = (0..ROWS).map(scatter).collect();
    known.sort_unstable();
    let top: Vec<u64> = rows.top(10).unwrap().into_iter().map(|row| row.0).collect();
    assert!(top.iter().eq(known.iter().rev().take(10)));
    assert_eq!(context.metrics().spilled_bytes(), 0);
    let sorted = rows.sort_by_key().map(|row| row.0);
    assert_eq!(sorted.collect().unwrap(), known);
    let metrics = context.metrics();
    assert!(metrics.spilled_bytes() > 0 && metrics.spilled_bytes() <= 3 * ROWS * 100, "{metrics}");
    assert!(metrics.files_created < 1_000, "{metrics}");
}

#[test]
fn c107_a_hot_key_is_counted_or_named() {
    let dir = tempfile::tempdir().unwrap();
    let context = builder().memory_limit(4 * MIB).local_dir(dir.path(), None).task_attempts(1);
    let context = context.build().unwrap();
    let hot = context.range(0..20_000, 4).map(|n| ("hot".to_owned(), format!("{n:0>1000}")));
    let names_key = |error: String| {
        assert!(error.contains("\"hot\"") && error.contains("more than"), "{error}");
    };
    match hot.group_by_key().map_values(|values| values.len()).collect() {
        Ok(counts) => assert_eq!(counts, [("hot".to_owned(), 20_000)]),
        Err(error) => names_key(error.to_string()),
    }
    let few = context.parallelize([("hot".to_owned(), 1), ("cold".to_owned(), 2)], 2);
    assert_eq!(hot.join(&few).count().unwrap(), 20_000, "the many rows stream past the few");
    match few.join(&hot).count() {
        Ok(count) => assert_eq!(count, 20_000),
        Err(error) => names_key(error.to_string()),
    }
    let counts = hot.map_values(|_| 1u64).reduce_by_key(|a, b| a + b).collect().unwrap();
    assert_eq!(counts, [("hot".to_owned(), 20_000)]);
}

#[test]
fn c109_a_slow_reader_makes_nothing_grow() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(4 * MIB, dir.path());
    let parts =
        wide(&context, 100_000, 200).partition_by(4).map_partitions_with_index(|at, rows| {
            let pause = std::time::Duration::from_millis(10);
            let slow = move |n: &usize| {
                if at == 0 && n.is_multiple_of(1_000) {
                    std::thread::sleep(pause);
                }
            };
            [rows.enumerate().map(|(n, _)| n).inspect(slow).count() as u64]
        });
    assert_eq!(parts.reduce(|a, b| a + b).unwrap(), Some(100_000));
    let metrics = context.metrics();
    assert!(
        metrics.spilled_bytes() > 0 && metrics.memory_peak <= metrics.memory_limit,
        "{metrics}"
    );
}

#[test]
fn c111_a_shuffle_larger_than_memory_falls_to_disk() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(2 * MIB, dir.path());
    let mut keys = wide(&context, 100_000, 200).partition_by(8).keys().collect().unwrap();
    keys.sort_unstable();
    let mut known: Vec<u64> = (0..100_000).map(scatter).collect();
    known.sort_unstable();
    assert!(keys == known && context.metrics().spilled_bytes() > 0);
}

#[test]
fn c123_a_task_out_of_memory_is_tried_again() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static TRIES: AtomicU32 = AtomicU32::new(0);
    let dir = tempfile::tempdir().unwrap();
    let context = limited(4 * MIB, dir.path());
    // Too many values for one group on the first attempt alone; the group is made in the same task.
    let values = context.parallelize([(7, ())], 1).partition_by(1).flat_map_values(|()| {
        let count = if TRIES.fetch_add(1, Ordering::SeqCst) == 0 { 20_000 } else { 10 };
        (0..count).map(|n| format!("{n:0>1000}"))
    });
    let groups = values.group_by_key().map_values(|values| values.len()).collect().unwrap();
    assert_eq!(groups, [(7, 10)]);
    assert_eq!(TRIES.load(Ordering::SeqCst), 2);
}

#[test]
fn c139_a_sort_leaves_memory_for_what_feeds_it() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(4 * MIB, dir.path());
    let parts = (0..20).map(|_| wide(&context, 10_000, 100).filter(|row| row.0 % 2 == 0));
    let rows = context.union(parts).repartition(8).sort_by_key();
    let keys = rows.keys().collect().unwrap();
    let known = (0..10_000).map(scatter).filter(|key| key % 2 == 0).count() * 20;
    assert!(keys.is_sorted() && keys.len() == known);
    assert!(context.metrics().spilled_bytes() > 0);
}

#[test]
fn c141_memory_stays_within_the_limit_while_spilling() {
    const NAME: &str = "memory::c141_memory_stays_within_the_limit_while_spilling";
    const GROUPS: i64 = 400_000;
    let Some(limit) = child::role() else {
        for mib in ["8", "16", "32"] {
            let output = child::command(NAME, mib).unwrap().output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        return;
    };
    let limit: u64 = limit.parse::<u64>().unwrap() * MIB;
    let dir = tempfile::tempdir().unwrap();
    let context = limited(limit, dir.path());
    let before = peak_rss();
    let rows = context.range(0..GROUPS * 2, 8).map(|n| (format!("{:0>32}", n % GROUPS), 1u64));
    let counts = rows.reduce_by_key(|a, b| a + b).map_values(|n| (1u64, n)).values();
    let total = counts.reduce(|a, b| (a.0 + b.0, a.1.max(b.1))).unwrap();
    assert_eq!(total, Some((GROUPS as u64, 2)));
    assert!(context.metrics().spilled_bytes() > 0, "{}", context.metrics());
    let grown = peak_rss() - before;
    assert!(grown <= limit + limit / 20 + 64 * MIB, "{} of {} MiB", grown / MIB, limit / MIB);
}

/// The most memory this process has had at once, in bytes.
pub(super) fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn c143_a_limit_holds_for_partly_sorted_input() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(4 * MIB, dir.path());
    let rows = context.range(0..300_000, 4).map(|n| ((1u8, n % 150_000), 1u64));
    let counts = rows.reduce_by_key(|a, b| a + b).collect().unwrap();
    assert!(counts.len() == 150_000 && counts.iter().all(|row| row.1 == 2));
    assert!(context.metrics().spilled_bytes() > 0);
}

#[test]
fn c145_joins_larger_than_memory() {
    let dir = tempfile::tempdir().unwrap();
    let context = limited(3 * MIB, dir.path());
    let side = |from: i64| context.range(from..from + 60_000, 4).map(|n| (n, format!("{n:0>80}")));
    let (left, right) = (side(0), side(20_000));
    let counts = [
        ("inner", left.join(&right).count().unwrap(), 40_000),
        ("left", left.left_outer_join(&right).count().unwrap(), 60_000),
        ("right", left.right_outer_join(&right).count().unwrap(), 60_000),
        ("full", left.full_outer_join(&right).count().unwrap(), 80_000),
        ("semi", left.semi_join(&right).count().unwrap(), 40_000),
        ("anti", left.subtract_by_key(&right).count().unwrap(), 20_000),
        ("cogroup", left.cogroup(&right).count().unwrap(), 80_000),
    ];
    for (kind, count, known) in counts {
        assert_eq!(count, known, "{kind}");
    }
    let matched = left.join(&right).filter(|(n, (a, b))| a == b && a.ends_with(&n.to_string()));
    assert_eq!(matched.count().unwrap(), 40_000);
    assert!(context.metrics().spilled_bytes() > 0);
}

#[test]
fn c149_a_limit_alone_spills_to_the_default_directory() {
    let context = builder().memory_limit(2 * MIB).build().unwrap();
    let sorted = wide(&context, 100_000, 200).sort_by_key().keys().collect().unwrap();
    assert!(sorted.is_sorted() && sorted.len() == 100_000);
    let metrics = context.metrics();
    assert!(metrics.spilled_bytes() > 0 && metrics.files_created > 0, "{metrics}");
}
