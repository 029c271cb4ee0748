//! Code and sizes that misbehave: what cannot work is a typed error, and the application goes on.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, and user code that is meant to fail"
)]

use std::cmp::Ordering as Order;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use millstream::scheduler::{JobError, TaskFailure};
use millstream::{Accumulator, Context, ContextBuilder, Error, Rdd};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const MIB: u64 = 1 << 20;

fn builder() -> ContextBuilder {
    Context::builder().app_name("hostile").master("local[2]").quiet(true)
}

/// The result of `work`, which must come within a minute.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, end) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    end.recv_timeout(Duration::from_secs(60)).expect("it hangs")
}

fn user_message(error: &Error) -> &str {
    match error {
        Error::Job(JobError::Task {
            cause: TaskFailure::User { message, .. } | TaskFailure::Data { message },
            ..
        }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn more_partitions_than_can_be_counted_are_refused() {
    in_time(|| {
        let context = builder().build().unwrap();
        // More than 32 bits count.
        let many = context.range(0..1, 1 << 24);
        let error = context.union(vec![many; 257]).count().unwrap_err();
        assert!(error.to_string().contains("union"), "{error}");
        let side = context.range(0..10, 100_000);
        let error = side.cartesian(&side).count().unwrap_err();
        assert!(error.to_string().contains("cartesian"), "{error}");
        let error = context.range(0..10, u32::MAX).count().unwrap_err();
        assert!(error.to_string().contains("partitions"), "{error}");
        assert_eq!(context.range(0..10, 3).count().unwrap(), 10);
    });
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Explosive(u64);

impl millstream::Accumulate for Explosive {
    fn merge(&mut self, other: Self) {
        assert!(self.0 + other.0 < 30, "too much");
        self.0 += other.0;
    }
}

#[test]
fn an_accumulator_that_panics_fails_its_job() {
    in_time(|| {
        let context = builder().build().unwrap();
        let sum: Accumulator<Explosive> = context.accumulator();
        let rows = context.range(0..100, 10);
        let error = rows.for_each_with(sum, |sum, _| sum.add(Explosive(1))).unwrap_err();
        assert!(error.to_string().contains("too much"), "{error}");
        assert_eq!(rows.count().unwrap(), 100);
    });
}

/// Panics when the first of its values with a true flag is dropped outside an unwinding thread.
#[derive(Clone, Serialize, Deserialize)]
struct Mine(bool);

static ARMED: AtomicBool = AtomicBool::new(false);

impl Drop for Mine {
    fn drop(&mut self) {
        if self.0 && !std::thread::panicking() && ARMED.swap(false, Ordering::Relaxed) {
            panic!("a value went off");
        }
    }
}

#[test]
fn a_value_that_panics_when_it_is_dropped_fails_its_task_at_most() {
    in_time(|| {
        let context = builder().build().unwrap();
        let rows = context.range(0..1000, 4).map(|n| (n, Mine(true)));
        let kinds: [fn(&Rdd<(i64, Mine)>) -> Result<u64, Error>; 4] = [
            |rows| rows.count(),
            |rows| rows.reduce_by_key(|a, _| a).count(),
            |rows| rows.repartition(3).count(),
            |rows| rows.cache().count(),
        ];
        for (at, kind) in kinds.iter().enumerate() {
            ARMED.store(true, Ordering::Relaxed);
            // The attempt in which it goes off is made again, or its job is told.
            match kind(&rows) {
                Ok(count) => assert_eq!(count, 1000, "{at}"),
                Err(error) => assert!(error.to_string().contains("went off"), "{at}: {error}"),
            }
            ARMED.store(false, Ordering::Relaxed);
            assert_eq!(rows.count().unwrap(), 1000, "{at}");
        }
    });
}

/// A key whose methods panic for the value 500 under one of the flags.
#[derive(Clone, Debug)]
struct Moody(u32);

static IN_HASH: AtomicBool = AtomicBool::new(false);
static IN_EQ: AtomicBool = AtomicBool::new(false);
static IN_CMP: AtomicBool = AtomicBool::new(false);
static IN_SERIALIZE: AtomicBool = AtomicBool::new(false);
static IN_DESERIALIZE: AtomicBool = AtomicBool::new(false);

fn bad(value: u32, flag: &AtomicBool) -> bool {
    value == 500 && flag.load(Ordering::Relaxed)
}

impl Hash for Moody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(!bad(self.0, &IN_HASH), "in hash");
        self.0.hash(state);
    }
}

impl PartialEq for Moody {
    fn eq(&self, other: &Self) -> bool {
        assert!(!bad(self.0, &IN_EQ), "in eq");
        self.0 == other.0
    }
}

impl Eq for Moody {}

impl PartialOrd for Moody {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Moody {
    fn cmp(&self, other: &Self) -> Order {
        assert!(!bad(self.0, &IN_CMP), "in cmp");
        self.0.cmp(&other.0)
    }
}

impl Serialize for Moody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if bad(self.0, &IN_SERIALIZE) {
            return Err(serde::ser::Error::custom("in serialize"));
        }
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Moody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = u32::deserialize(deserializer)?;
        match bad(value, &IN_DESERIALIZE) {
            true => Err(serde::de::Error::custom("in deserialize")),
            false => Ok(Self(value)),
        }
    }
}

#[test]
fn keys_whose_methods_fail_fail_their_job_only() {
    in_time(|| {
        let context = builder().memory_limit(MIB).build().unwrap();
        let pairs = context.range(0..40_000, 4).map(|n| (Moody(n as u32 % 1000), [n as u64; 16]));
        let sum = |a: [u64; 16], b: [u64; 16]| [a[0] + b[0]; 16];
        let right = |_: &()| assert_eq!(pairs.reduce_by_key(sum).count().unwrap(), 1000);
        for (flag, what) in [
            (&IN_HASH, "in hash"),
            (&IN_EQ, "in eq"),
            (&IN_CMP, "in cmp"),
            (&IN_SERIALIZE, "encoded"),
            (&IN_DESERIALIZE, "decode"),
        ] {
            right(&());
            flag.store(true, Ordering::Relaxed);
            let results = [
                pairs.group_by_key().count(),
                pairs.reduce_by_key(sum).count(),
                pairs.sort_by_key().count(),
                pairs.join(&pairs.reduce_by_key(sum)).count(),
                pairs.persist(millstream::PersistLevel::Disk).count(),
            ];
            pairs.unpersist();
            flag.store(false, Ordering::Relaxed);
            let mut failed = 0;
            for (at, result) in results.into_iter().enumerate() {
                if let Err(error) = result {
                    failed += 1;
                    assert!(user_message(&error).contains(what), "{what} {at}: {error}");
                    assert!(!error.to_string().contains("report it"), "{what} {at}: {error}");
                }
            }
            assert!(failed > 0, "{what} was never met");
        }
        right(&());
    });
}

/// Ends a job that would never end by itself.
fn is_cancelled(endless: impl FnOnce(&Context) -> Result<u64, Error> + Send + 'static) {
    in_time(|| {
        let context = builder().build().unwrap();
        let group = context.in_group("endless");
        let job = std::thread::spawn(move || endless(&group));
        while !job.is_finished() {
            context.cancel_group("endless");
            std::thread::sleep(Duration::from_millis(20));
        }
        let error = job.join().unwrap().unwrap_err();
        assert!(matches!(error, Error::Job(JobError::Cancelled { .. })), "{error}");
        assert_eq!(context.range(0..10, 2).count().unwrap(), 10);
        // The slots must end for this to return.
        drop(context);
    });
}

#[test]
fn a_search_that_finds_nothing_can_be_cancelled() {
    is_cancelled(|context| {
        context.range(0..i64::MAX, 2).filter(|n| *n < 0).take(1).map(|rows| rows.len() as u64)
    });
}

#[test]
fn collecting_nothing_for_ever_can_be_cancelled() {
    is_cancelled(|context| {
        context.range(0..i64::MAX, 2).filter(|n| *n < 0).collect().map(|rows| rows.len() as u64)
    });
}

#[test]
fn an_endless_iterator_of_one_row_can_be_cancelled() {
    is_cancelled(|context| {
        let rows = context.range(0..2, 2).flat_map(|_| 0..u64::MAX).filter(|n| *n == u64::MAX);
        rows.collect().map(|rows| rows.len() as u64)
    });
}

#[test]
fn an_endless_iterator_of_a_partition_can_be_cancelled() {
    is_cancelled(|context| {
        let rows =
            context.range(0..2, 2).map_partitions(|_| 0..u64::MAX).filter(|n| *n == u64::MAX);
        rows.top(3).map(|rows| rows.len() as u64)
    });
}

#[test]
fn preparing_a_sort_can_be_cancelled() {
    is_cancelled(|context| {
        let rows = context.range(0..i64::MAX, 2).map(|n| (n, n));
        rows.sort_by_key().count()
    });
}

#[test]
fn lineages_of_any_shape_run() {
    in_time(|| {
        let context = builder().build().unwrap();
        let mut deep = context.range(0..3, 1);
        for _ in 0..50_000 {
            deep = deep.map(|n| n + 1);
        }
        assert_eq!(deep.collect().unwrap(), [50_000, 50_001, 50_002]);
        drop(deep);
        let wide = context.union((0..5_000).map(|n| context.range(n..n + 1, 1)));
        assert_eq!(wide.collect().unwrap(), (0..5_000).collect::<Vec<_>>());
        let sum = wide.map(|n| (n % 7, n)).with_partitions(3).reduce_by_key(|a, b| a + b);
        assert_eq!(sum.values().reduce(|a, b| a + b).unwrap(), Some(4_999 * 2_500));
    });
}

#[test]
fn a_chain_of_many_shuffles_runs() {
    in_time(|| {
        let context = builder().build().unwrap();
        let mut rows = context.range(0..10, 2).map(|n| (n, 1i64));
        for _ in 0..1_000 {
            rows = rows.map(|(key, n)| ((key + 1) % 10, n)).reduce_by_key(|a, b| a + b);
        }
        assert_eq!(rows.count().unwrap(), 10);
        let started = Instant::now();
        drop(rows);
        assert!(started.elapsed() < Duration::from_secs(5));
        let mut rows = context.range(0..10, 2).map(|n| (n, 1i64));
        for _ in 0..50 {
            rows = rows.sort_by_key().map(|(key, n)| ((key + 1) % 10, n));
        }
        assert_eq!(rows.count().unwrap(), 10);
    });
}

#[test]
fn many_partitions_of_a_shuffle_are_few_rows() {
    in_time(|| {
        let context = builder().memory_limit(64 * MIB).build().unwrap();
        let rows = context.range(0..1_000, 4).map(|n| (n, n));
        let counts = rows.with_partitions(100_000).reduce_by_key(|a, b| a + b);
        assert_eq!(counts.count().unwrap(), 1_000);
        assert_eq!(context.range(0..1_000, 100_000).repartition(3).count().unwrap(), 1_000);
    });
}

#[test]
fn a_task_that_hangs_once_is_overtaken() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    static FREE: AtomicBool = AtomicBool::new(false);
    in_time(|| {
        let context = builder().build().unwrap();
        let seen = context.accumulator::<u64>();
        let rows = context.range(0..40, 40);
        rows.for_each_with(seen.clone(), |seen, n| {
            seen.add(1);
            if n == 30 && RUNS.fetch_add(1, Ordering::Relaxed) == 0 {
                while !FREE.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            } else {
                std::thread::sleep(Duration::from_millis(5));
            }
        })
        .unwrap();
        assert_eq!(RUNS.load(Ordering::Relaxed), 2);
        FREE.store(true, Ordering::Relaxed);
        drop(context);
        assert_eq!(seen.value(), 40, "the overtaken copy does not count");
    });
}

#[test]
fn one_attempt_is_one_attempt() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    in_time(|| {
        let context = builder().task_attempts(1).build().unwrap();
        let rows = context.range(0..1, 1).map(|n| {
            RUNS.fetch_add(1, Ordering::Relaxed);
            assert!(n < 0, "always");
            n
        });
        assert!(user_message(&rows.count().unwrap_err()).contains("always"));
        assert_eq!(RUNS.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_job_outlives_the_handle_it_was_started_from() {
    in_time(|| {
        let context = builder().build().unwrap();
        let rows =
            context.range(0..1_000_000, 20).map(|n| (n % 100, n)).reduce_by_key(|a, b| a + b);
        drop(context);
        let other = rows.clone();
        let job = std::thread::spawn(move || other.count());
        drop(rows);
        assert_eq!(job.join().unwrap().unwrap(), 100);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_applications_leave_nothing_behind() {
    fn entries(dir: &str) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }
    let dir = tempfile::tempdir().unwrap();
    let run = || {
        let context = builder().local_dir(dir.path(), None).build().unwrap();
        let rows =
            context.range(0..100, 3).map(|n| (n % 10, n)).reduce_by_key(|a, b| a + b).cache();
        assert_eq!(rows.count().unwrap(), 10);
    };
    (0..10).for_each(|_| run());
    // Other tests of this process come and go: what stays would be a thousand.
    let (files, threads) = (entries("/proc/self/fd"), entries("/proc/self/task"));
    (0..1_000).for_each(|_| run());
    assert!(entries("/proc/self/fd") < files + 100);
    assert!(entries("/proc/self/task") < threads + 100);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
