//! Cases of executors in other processes: busy ones, lost ones, and plans that travel.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream::events::Event;
use millstream::{Context, ContextBuilder};
use millstream_tests::executors::{ARGS, Pid, Signal, signal, wait_for_executors};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::scatter;

/// An application on two executors of one slot each.
fn builder(dir: &Path, watch: &Arc<Watch>) -> ContextBuilder {
    let builder = Context::builder().app_name("case").master("local-cluster[2,1,256m]");
    builder.local_dir(dir, None).executor_args(ARGS).listener(Arc::clone(watch) as _).quiet(true)
}

/// Both executors, as soon as they take part.
fn both(dir: &Path, watch: &Watch) -> Vec<Pid> {
    watch.wait("two executors", |records| {
        let joined = records.iter().filter(|r| matches!(r.event, Event::ExecutorJoined { .. }));
        (joined.count() >= 2).then_some(())
    });
    wait_for_executors(dir, 2).unwrap()
}

fn lost(event: &Event) -> bool {
    matches!(event, Event::ExecutorLost { .. })
}

fn started(event: &Event) -> bool {
    matches!(event, Event::TaskStarted { .. })
}

#[test]
fn c009_sets_with_a_null_are_the_same_on_executors() {
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let context = builder(dir.path(), &watch).build().unwrap();
    let with_null = |numbers: std::ops::RangeInclusive<i64>| {
        let rows: Vec<Option<i64>> = numbers.map(Some).chain([None]).collect();
        context.parallelize(rows, 16)
    };
    let (a, b) = (with_null(1..=1_000), with_null(501..=1_500));
    assert_eq!(a.intersection(&b).count().unwrap(), 501);
    assert_eq!(a.subtract(&b).count().unwrap(), 500);
    assert_eq!(a.union(&b).distinct().count().unwrap(), 1_501);
}

#[test]
fn c035_order_and_limit_on_executors() {
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let context = builder(dir.path(), &watch).build().unwrap();
    let rows = context.range(0..8_000, 8);
    assert_eq!(rows.top(5).unwrap(), [7_999, 7_998, 7_997, 7_996, 7_995]);
    let sorted = rows.sort_by_descending(|n| *n).collect().unwrap();
    assert!(sorted == (0..8_000).rev().collect::<Vec<_>>());
}

#[test]
fn c093_files_of_a_killed_executor_go_when_it_starts_again() {
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let context = builder(dir.path(), &watch).memory_limit(1 << 20).build().unwrap();
    let executors = both(dir.path(), &watch);
    let rows = context.range(0..50_000, 8).map(|n| (scatter(n as u64), format!("{n:0>80}")));
    let spread = rows.partition_by(4);
    assert_eq!(spread.count().unwrap(), 50_000);
    let of = |pid: Pid| format!("-{}-", pid.as_raw_nonzero());
    let has_files = |pid: Pid| {
        let mut names = std::fs::read_dir(dir.path()).unwrap().flatten();
        names.any(|entry| entry.file_name().to_string_lossy().contains(&of(pid)))
    };
    assert!(executors.iter().all(|pid| has_files(*pid)));
    assert!(signal(executors[0], Signal::KILL));
    let again = |event: &Event| matches!(event, Event::ExecutorJoined { incarnation: 2, .. });
    watch.wait_for("new life", again);
    assert_eq!(spread.count().unwrap(), 50_000, "the job after it finds a whole shuffle");
    let deadline = Instant::now() + Duration::from_secs(10);
    while has_files(executors[0]) {
        assert!(Instant::now() < deadline, "its files are left behind");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(has_files(executors[1]), "those of the living are not touched");
}

#[test]
fn c101_no_row_is_lost_between_executors_in_many_runs() {
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let context = builder(dir.path(), &watch).build().unwrap();
    for run in 0..10 {
        let ids = context.range(0..50_000, 8).map_with(run, |run, id| (id, *run)).partition_by(32);
        let sum = ids.keys().aggregate(
            (0, 0),
            |(n, sum), id| (n + 1, sum + id),
            |a, b| (a.0 + b.0, a.1 + b.1),
        );
        assert_eq!(sum.unwrap(), (50_000, 49_999 * 25_000), "run {run}");
    }
}

#[test]
fn c115_dealing_again_what_was_cached_repeats_when_an_executor_is_killed() {
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let gate = Gate::new(dir.path());
    let context = builder(dir.path(), &watch).build().unwrap();
    both(dir.path(), &watch);
    let rows = context.range(0..100_000, 8).map(|n| (n % 1_000, n));
    let dealt = rows.repartition(23).cache().repartition(47);
    let slow = dealt.map_partitions_with(gate.clone(), |gate, at, rows| {
        if at == 11 && gate.arrive("reading") {
            gate.wait("never");
        }
        rows
    });
    let distinct = std::thread::scope(|scope| {
        let job = scope.spawn(|| slow.distinct().count());
        assert!(signal(gate.arrived("reading"), Signal::KILL));
        job.join().unwrap().unwrap()
    });
    assert_eq!(distinct, 100_000);
    assert_eq!(watch.count(lost), 1);
}

#[test]
fn c121_an_executor_that_dies_between_stages_is_recomputed() {
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let context = builder(dir.path(), &watch).build().unwrap();
    let executors = both(dir.path(), &watch);
    let rows = context.range(0..20_000, 8).map(|n| (scatter(n as u64), n)).partition_by(4);
    assert_eq!(rows.count().unwrap(), 20_000);
    let before = watch.count(started);
    assert!(signal(executors[1], Signal::KILL));
    let mut values = rows.values().collect().unwrap();
    values.sort_unstable();
    assert!(values == (0..20_000).collect::<Vec<_>>());
    watch.wait_for("loss", lost);
    let run = watch.count(started) - before;
    assert!((5..=4 + 8 + 4).contains(&run), "what was lost runs again, and no more: {run}");
}

#[test]
fn c125_a_busy_executor_is_not_taken_for_dead() {
    const TIMEOUT: Duration = Duration::from_millis(800);
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let context = builder(dir.path(), &watch).executor_timeout(TIMEOUT).build().unwrap();
    let busy = context.range(0..2, 2).map(|n| {
        let start = Instant::now();
        let mut sum = n as u64;
        while start.elapsed() < 5 * TIMEOUT {
            sum = (0..10_000).fold(sum, |sum, _| scatter(sum));
        }
        u64::from(sum == 0)
    });
    assert_eq!(busy.count().unwrap(), 2);
    let counts = (watch.count(lost), watch.count(started));
    assert_eq!(counts, (0, 2), "no loss, and one attempt each");
}
