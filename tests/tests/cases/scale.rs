//! Many tasks, deep lineage, many cancelled jobs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use millstream::{Context, Error};
use millstream_tests::child;

use super::{MIB, builder, context};

#[test]
fn c101_no_row_is_lost_in_many_runs() {
    let context = context();
    for run in 0..10 {
        let ids = context.range(0..100_000, 8).map_with(run, |run, id| (id, *run)).partition_by(32);
        let sum = ids.keys().aggregate(
            (0, 0),
            |(n, sum), id| (n + 1, sum + id),
            |a, b| (a.0 + b.0, a.1 + b.1),
        );
        assert_eq!(sum.unwrap(), (100_000, 99_999 * 50_000), "run {run}");
    }
}

#[test]
fn c131_a_hundred_thousand_tasks() {
    const NAME: &str = "scale::c131_a_hundred_thousand_tasks";
    if child::role().is_none() {
        let output = child::command(NAME, "count").unwrap().output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let context = context();
    let before = rss();
    assert_eq!(context.range(0..100_000, 100_000).count().unwrap(), 100_000);
    let grown = rss().saturating_sub(before);
    assert!(grown < 200 * MIB, "the driver has grown by {} MiB", grown / MIB);
}

/// The memory of this process now, in bytes.
fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

/// The context that the closures of the next test find.
static NESTED: Mutex<Option<Context>> = Mutex::new(None);

#[test]
fn c133_a_job_inside_a_task_is_refused_at_once() {
    for slots in [1, 2, 4] {
        let context = builder().master(format!("local[{slots}]")).build().unwrap();
        *NESTED.lock().unwrap() = Some(context.clone());
        let answers = context.range(0..8, 8).map(|_| {
            let context = NESTED.lock().unwrap().clone().unwrap();
            let inner = context.range(0..3, 2).collect();
            matches!(inner, Err(Error::NestedJob { action: "collect" }))
        });
        assert!(answers.collect().unwrap().into_iter().all(|refused| refused), "{slots} slots");
        let panics = context.range(0..1, 1).map(|n| {
            let context = NESTED.lock().unwrap().clone().unwrap();
            context.range(0..n + 1, 1).count().map_err(|error| error.to_string()).unwrap()
        });
        let error = panics.collect().unwrap_err().to_string();
        assert!(error.contains("`count` was called inside a task"), "{error}");
        *NESTED.lock().unwrap() = None;
    }
}

static SCANNING: AtomicBool = AtomicBool::new(false);

#[test]
fn c135_cancelled_scans_leave_no_files_open() {
    const NAME: &str = "scale::c135_cancelled_scans_leave_no_files_open";
    if child::role().is_none() {
        let output = child::command(NAME, "scans").unwrap().output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for part in 0..4 {
        let text = (0..20_000).map(|n| format!("{part} {n}\n")).collect::<String>();
        std::fs::write(dir.path().join(format!("{part}.txt")), text).unwrap();
    }
    let context = context();
    let scanned = context.in_group("scan").text_file(dir.path().display().to_string()).unwrap();
    let scanned = scanned.map(|line| {
        SCANNING.store(true, Ordering::SeqCst);
        line.len()
    });
    let endless = scanned.flat_map(|len| std::iter::repeat(len as u64));
    let scan = || {
        SCANNING.store(false, Ordering::SeqCst);
        std::thread::scope(|scope| {
            let job = scope.spawn(|| endless.count());
            wait_for(|| SCANNING.load(Ordering::SeqCst));
            context.cancel_group("scan");
            assert!(job.join().unwrap().unwrap_err().to_string().contains("cancelled"));
        });
    };
    (0..10).for_each(|_| scan());
    wait_for(|| context.range(0..2, 2).count().unwrap() == 2);
    let before = open_files();
    (0..200).for_each(|_| scan());
    // Tasks that are still on their way out hold a file each, and there are two slots.
    wait_for(|| open_files() <= before);
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn wait_for(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited in vain");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn c153_deep_lineage() {
    fn deep() {
        let context = context();
        let mut rows = context.parallelize([0], 1);
        for _ in 0..10_000 {
            rows = rows.map(|n| n + 1);
        }
        assert_eq!(rows.collect().unwrap(), [10_000]);
        let mut rows = context.parallelize([0], 1);
        for n in 1..=2_000 {
            rows = rows.union(&context.parallelize([n], 1));
        }
        assert_eq!(rows.collect().unwrap(), (0..=2_000).collect::<Vec<_>>());
        let mut rows = context.parallelize([0], 1);
        for _ in 0..1_000 {
            rows = rows.map(|n| n + 1).cache();
        }
        assert_eq!(rows.collect().unwrap(), [1_000]);
    }
    deep();
    let small = std::thread::Builder::new().stack_size(2 << 20).spawn(deep).unwrap();
    small.join().unwrap();
}

static RUNS: AtomicU32 = AtomicU32::new(0);
static NEXT: AtomicI64 = AtomicI64::new(0);

#[test]
fn c159_what_is_persisted_is_computed_once_and_agrees() {
    let context = context();
    let base = context.range(0..1_000, 4).map(|n| {
        RUNS.fetch_add(1, Ordering::SeqCst);
        n
    });
    let base = base.cache();
    assert_eq!(base.count().unwrap(), 1_000);
    let branches = [base.map(|n| n * 2), base.filter(|n| n % 2 == 0), base.map(|n| n + 1)];
    assert_eq!(context.union(branches).count().unwrap(), 2_500);
    assert_eq!(RUNS.load(Ordering::SeqCst), 1_000);

    // Rows that no second run gives again.
    let once = context.range(0..1_000, 4).map(|n| (n, NEXT.fetch_add(1, Ordering::SeqCst)));
    let once = once.indeterminate().cache();
    let first = once.collect_as_map().unwrap();
    let (a, b) = (once.map_values(|n| n), once.map_values(|n| n));
    let agree = a.join(&b).filter(|(_, (a, b))| a == b);
    assert_eq!(agree.count().unwrap(), 1_000);
    assert_eq!(once.collect_as_map().unwrap(), first);
}
