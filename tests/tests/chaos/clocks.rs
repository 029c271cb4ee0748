//! Executors that are slow, and clocks that jump.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use millstream::events::Event;
use millstream_tests::executors::Pid;
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::cluster::{driver, executor, free_port, joined, start};
use super::{say, scatter, skip};

/// A share of a processor that a process may use, lifted when dropped.
struct Quota(PathBuf);

impl Quota {
    /// One twentieth of a processor.
    fn impose(pid: Pid) -> Option<Self> {
        let dir = PathBuf::from(format!("/sys/fs/cgroup/cpu/millstream-{}", std::process::id()));
        fs::create_dir(&dir).ok()?;
        let quota = Self(dir);
        quota.write("cpu.cfs_period_us", "20000")?;
        quota.write("cpu.cfs_quota_us", "1000")?;
        quota.write("cgroup.procs", &pid.as_raw_nonzero().to_string())?;
        Some(quota)
    }

    fn write(&self, file: &str, text: &str) -> Option<()> {
        fs::write(self.0.join(file), text).ok()
    }

    fn times_throttled(&self) -> u64 {
        let stat = fs::read_to_string(self.0.join("cpu.stat")).unwrap_or_default();
        let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        line.and_then(|count| count.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // The processes in it go to its parent; it can be removed when it is empty.
        for pid in fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default().lines() {
            let _ = fs::write("/sys/fs/cgroup/cpu/cgroup.procs", pid);
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// Some milliseconds of work for a processor.
fn work(n: i64) -> u64 {
    (0..400_000).fold(n as u64, |sum, _| scatter(sum))
}

#[test]
fn a_slow_executor_holds_nobody_up() {
    let (dirs, watch) = ([(); 2].map(|()| tempfile::tempdir().unwrap()), Watch::new());
    let addr = format!("127.0.0.1:{}", free_port());
    let context = driver(&addr, &watch).executor_timeout(Duration::from_secs(12)).build().unwrap();
    let executors = dirs.each_ref().map(|dir| start(&addr, dir.path()));
    joined(&watch, 2);
    let Some(quota) = Quota::impose(executors[1].pid()) else {
        return skip("a slow executor", "cgroups of processor time cannot be made here");
    };
    let sums = context.range(0..240, 24).map(work).map(|n| n >> 8);
    let start = Instant::now();
    let sum = sums.reduce(|a, b| a + b).unwrap();
    let took = start.elapsed();
    assert_eq!(sum, Some((0..240).map(|n| work(n) >> 8).sum()));
    let throttled = quota.times_throttled();
    let copies =
        watch.count(|event| matches!(event, Event::TaskStarted { task, .. } if task.attempt > 0));
    say(&format!(
        "with an executor on a twentieth of a processor: {took:?}, {copies} copies, throttled {throttled} times"
    ));
    assert!(throttled > 0, "it was slowed");
}

/// The library that moves the clock of a process.
fn faketime() -> Option<PathBuf> {
    let dirs = [
        "/usr/lib/x86_64-linux-gnu/faketime",
        "/usr/lib/aarch64-linux-gnu/faketime",
        "/usr/lib64/faketime",
    ];
    dirs.iter().map(|dir| PathBuf::from(dir).join("libfaketimeMT.so.1")).find(|path| path.exists())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[test]
fn a_clock_that_jumps_a_day_is_not_noticed() {
    const DAY: u64 = 24 * 3_600;
    let Some(library) = faketime() else {
        return skip("a clock that jumps", "libfaketime is not installed");
    };
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let gate = Gate::new(dir.path());
    let offset = dir.path().join("offset");
    fs::write(&offset, "+0").unwrap();
    let addr = format!("127.0.0.1:{}", free_port());
    let context = driver(&addr, &watch).build().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut command = executor([""; 0], &program, &addr, dir.path());
    command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &offset);
    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let _executor = super::cluster::Executor(command.spawn().unwrap());
    joined(&watch, 1);
    let times = context.range(0..4, 4).map_with(gate.clone(), |gate, n| {
        if n == 2 && gate.arrive("before the jump") {
            gate.wait("jumped");
        }
        now()
    });
    let times = std::thread::scope(|scope| {
        let job = scope.spawn(|| times.collect());
        let _ = gate.arrived("before the jump");
        fs::write(&offset, "+1d").unwrap();
        // Long enough for leases and heartbeats to be counted by the new time, if they were.
        std::thread::sleep(super::TIMEOUT);
        gate.open("jumped");
        job.join().unwrap().unwrap()
    });
    assert!(times[2] > times[0] + DAY / 2, "the clock has jumped: {times:?}");
    fs::write(&offset, "-1d").unwrap();
    assert_eq!(context.range(0..100, 4).count().unwrap(), 100);
    assert_eq!(watch.count(|event| matches!(event, Event::ExecutorLost { .. })), 0);
}
