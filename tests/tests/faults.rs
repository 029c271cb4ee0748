//! Faults of disks, closures and callers: what fails is said with its place, and nothing stays behind.
//!
//! The files of a killed process are a case of its own: `cases`, C093.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use millstream::scheduler::{JobError, PolicyKind, TaskFailure};
use millstream::{Context, ContextBuilder, Error, PersistLevel, Rdd};
use millstream_tests::child;
use millstream_tests::matrix::files_below;

const MIB: u64 = 1 << 20;

fn builder() -> ContextBuilder {
    Context::builder().app_name("faults").master("local[2]").quiet(true)
}

/// Rows of 200 bytes, which hardly compress.
fn rows(context: &Context, count: i64) -> Rdd<(u64, String)> {
    context.range(0..count, 8).map(|n| {
        let mut seed = n as u64 + 1;
        let text = (0..200).map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (seed >> 33) as u8 % 90)
        });
        ((n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15), text.collect())
    })
}

fn sort_on_a_small_disk(dir: &Path) -> Result<u64, Error> {
    let context = builder().memory_limit(2 * MIB).local_dir(dir, Some(3 * MIB)).build()?;
    rows(&context, 100_000).sort_by_key().count()
}

#[test]
fn a_spill_beyond_the_quota_names_directory_and_sizes() {
    const NAME: &str = "a_spill_beyond_the_quota_names_directory_and_sizes";
    if let Some(dir) = child::role() {
        if let Err(error) = sort_on_a_small_disk(Path::new(&dir)) {
            eprintln!("{error}");
            std::process::exit(1);
        }
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let error = sort_on_a_small_disk(dir.path()).unwrap_err();
    let Error::Job(JobError::Task { cause: TaskFailure::Disk { retryable, message }, .. }) = &error
    else {
        panic!("{error}");
    };
    assert!(!retryable, "there is no other directory");
    for part in [&dir.path().display().to_string(), "asked", "used", "free", "quota 3.0 MiB"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    assert!(files_below(dir.path()).is_empty(), "nothing is left behind");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);

    let mut program = child::command(NAME, &dir.path().display().to_string()).unwrap();
    let output = program.stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains(&dir.path().display().to_string()) && told.contains("asked"), "{told}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_application_goes_on_after_a_job_that_found_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let context =
        builder().memory_limit(2 * MIB).local_dir(dir.path(), Some(3 * MIB)).build().unwrap();
    rows(&context, 100_000).sort_by_key().count().unwrap_err();
    let sorted = rows(&context, 1_000).sort_by_key().keys().collect().unwrap();
    assert!(sorted.len() == 1_000 && sorted.is_sorted());
}

static RUNNING: AtomicBool = AtomicBool::new(false);

#[test]
fn cancelling_a_group_frees_its_slots_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let context = builder().memory_limit(8 * MIB).local_dir(dir.path(), None).build().unwrap();
    let long = context.in_group("long").range(0..8, 8).flat_map(|n| {
        RUNNING.store(true, Ordering::SeqCst);
        (0..i64::MAX).map(move |m| (m % 100_000, n))
    });
    std::thread::scope(|scope| {
        let job = scope.spawn(|| long.reduce_by_key(|a, b| a + b).count());
        wait_for(|| RUNNING.load(Ordering::SeqCst));
        assert!(!job.is_finished());
        context.cancel_group("another");
        assert!(!job.is_finished(), "other groups are left alone");
        context.cancel_group("long");
        let error = job.join().unwrap().unwrap_err();
        assert!(matches!(error, Error::Job(JobError::Cancelled { .. })), "{error}");
    });
    // All slots are there again: two tasks that wait for each other.
    assert_eq!(meet(&context), 2);
    assert_eq!(files_below(dir.path()).len(), 1, "the owner's mark alone is left");
}

static PIPED: AtomicBool = AtomicBool::new(false);

#[test]
fn cancelling_frees_the_slots_of_programs_that_neither_read_nor_print() {
    let context = builder().build().unwrap();
    let piped = context.in_group("pipe").range(0..2, 2).map(|n| {
        PIPED.store(true, Ordering::SeqCst);
        n
    });
    let piped = piped.pipe(["sleep", "1000"]);
    std::thread::scope(|scope| {
        let job = scope.spawn(|| piped.count());
        wait_for(|| PIPED.load(Ordering::SeqCst));
        context.cancel_group("pipe");
        let error = job.join().unwrap().unwrap_err();
        assert!(matches!(error, Error::Job(JobError::Cancelled { .. })), "{error}");
    });
    assert_eq!(meet(&context), 2);
}

/// Tests that let tasks meet take turns.
static MEETING: Mutex<()> = Mutex::new(());
static MET: AtomicU32 = AtomicU32::new(0);

/// Runs two tasks that end only when both run at the same time.
fn meet(context: &Context) -> u64 {
    let _turn = MEETING.lock().unwrap_or_else(PoisonError::into_inner);
    MET.store(0, Ordering::SeqCst);
    let tasks = context.range(0..2, 2).map(|n| {
        MET.fetch_add(1, Ordering::SeqCst);
        wait_for(|| MET.load(Ordering::SeqCst) == 2);
        n
    });
    tasks.count().unwrap()
}

fn wait_for(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited in vain");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn jobs_of_many_threads_run_side_by_side() {
    for policy in [PolicyKind::Fifo, PolicyKind::Fair { weights: vec![("odd".to_owned(), 2)] }] {
        let context = builder().policy(policy.clone()).build().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let context = context.in_pool(if thread % 2 == 0 { "even" } else { "odd" });
                scope.spawn(move || {
                    for job in 0..20 {
                        let from = thread * 1_000 + job;
                        let rows = context.range(from..from + 500, 4).map(|n| (n % 7, n));
                        let sums = rows.reduce_by_key(|a, b| a + b).values();
                        let known = (from..from + 500).sum::<i64>();
                        assert_eq!(sums.reduce(|a, b| a + b).unwrap(), Some(known));
                    }
                });
            }
        });
    }
}

#[test]
fn a_panic_is_told_with_its_place() {
    let context = builder().task_attempts(3).build().unwrap();
    let bad = context.range(0..1_000, 4).map(|n| n + 1).filter(|n| {
        assert!(*n != 778, "778 is unlucky");
        true
    });
    let error = bad.count().unwrap_err();
    let Error::Job(JobError::Task { name, partition, attempts, cause, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!((*partition, *attempts), (3, 3));
    assert!(name.contains("filter") && name.contains("count"), "{name}");
    // Row 777 of 0..1000 is row 27 of the last of four partitions.
    let TaskFailure::User { message, record: Some(27) } = cause else { panic!("{cause:?}") };
    assert!(message.contains("`filter`") && message.contains("778 is unlucky"), "{message}");
    let text = error.to_string();
    for part in ["stage", "partition 3", "3 attempt(s)", "record 27", "filter", "778 is unlucky"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    assert_eq!(context.range(0..10, 2).count().unwrap(), 10, "the application goes on");
}

static TRIES: AtomicU32 = AtomicU32::new(0);

#[test]
fn a_task_that_fails_once_is_tried_again() {
    let context = builder().build().unwrap();
    let sum = context.range(0..100, 4).map_partitions_with_index(|at, rows| {
        let first = at == 2 && TRIES.fetch_add(1, Ordering::SeqCst) == 0;
        assert!(!first, "the first attempt fails");
        [rows.sum::<i64>()]
    });
    assert_eq!(sum.reduce(|a, b| a + b).unwrap(), Some(4_950));
    assert_eq!(TRIES.load(Ordering::SeqCst), 2);
}

#[test]
fn the_event_log_tells_spills_and_persisted_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("events.json");
    let context = builder().memory_limit(2 * MIB).event_log(&log).build().unwrap();
    let kept = rows(&context, 20_000).persist(PersistLevel::Disk);
    kept.sort_by_key().count().unwrap();
    drop((kept, context));

    let text = std::fs::read_to_string(&log).unwrap();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named =
        |name: &str| events.iter().filter(|event| event["event"] == name).collect::<Vec<_>>();
    let blocks = named("block_persisted");
    assert_eq!(blocks.len(), 8, "one a partition");
    assert!(blocks.iter().all(|block| block["level"] == "disk"), "{blocks:?}");
    let evicted = named("block_evicted");
    assert_eq!(evicted.len(), 8, "the last handle is gone");
    let bytes = |blocks: &[&serde_json::Value]| -> u64 {
        blocks.iter().map(|block| block["bytes"].as_u64().unwrap()).sum()
    };
    assert!(bytes(&blocks) > 0 && bytes(&blocks) == bytes(&evicted), "{evicted:?}");
    let spills = named("spill");
    let bytes: u64 = spills.iter().map(|spill| spill["disk_bytes"].as_u64().unwrap()).sum();
    assert!(spills.iter().any(|spill| spill["cause"] == "refused"), "{spills:?}");
    let tasks = named("task_finished");
    let told: u64 = tasks.iter().map(|t| t["metrics"]["spilled_bytes"].as_u64().unwrap()).sum();
    assert_eq!(bytes, told);
    assert!(tasks.iter().any(|task| !task["metrics"]["spill_cause"].is_null()));
}

/// Takes a millisecond of this thread's CPU time.
fn busy_for_a_millisecond<T>(value: T) -> T {
    let taken = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let start = taken();
    while taken() - start < Duration::from_millis(1) {
        std::hint::spin_loop();
    }
    value
}

#[test]
fn the_event_log_tells_the_story_of_a_job() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("events.json");
    let context = builder().event_log(&log).build().unwrap();
    let rows =
        context.range(0..100, 4).map(|n| (n % 10, busy_for_a_millisecond(n))).with_partitions(3);
    assert_eq!(rows.reduce_by_key(|a, b| a + b).count().unwrap(), 10);
    let failing = context.range(0..2, 1).map(|n| 1 / n);
    failing.count().unwrap_err();
    drop((rows, failing, context));

    let text = std::fs::read_to_string(&log).unwrap();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let count = |name: &str| names.iter().filter(|known| **known == name).count();
    assert_eq!(names.first(), Some(&"application_started"));
    assert_eq!(names.last(), Some(&"application_ended"));
    for (name, times) in [
        ("job_submitted", 2),
        ("stage_started", 3),
        ("stage_finished", 2),
        ("stage_aborted", 1),
        ("task_started", 4 + 3 + 4),
        ("task_finished", 4 + 3),
        ("task_failed", 4),
        ("job_finished", 1),
        ("job_failed", 1),
    ] {
        assert_eq!(count(name), times, "{name} in {names:?}");
    }
    let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let order =
        ["job_submitted", "stage_started", "task_started", "task_finished", "stage_finished"];
    assert!(order.map(at).is_sorted(), "{names:?}");
    assert!(at("stage_finished") < at("job_finished"), "{names:?}");
    assert!(at("stage_aborted") < at("job_failed"), "{names:?}");
    let failed = &events[at("job_failed")];
    assert!(failed["message"].as_str().unwrap().contains("divide by zero"), "{failed}");
    let finished = events.iter().filter(|event| event["event"] == "task_finished");
    let metric = |name: &str| -> u64 {
        finished.clone().map(|event| event["metrics"][name].as_u64().unwrap()).sum()
    };
    let read = metric("rows_in");
    // One hundred rows, in tasks that each lose less than a millisecond to rounding.
    assert!(metric("cpu_ms") >= 90 && metric("cpu_ms") <= metric("wall_ms") + 7);
    assert!(read >= 40, "the reducers read the four partial sums of each key: {read}");
}
