//! Executor processes of a test: finding those of one application, and doing them harm.
//!
//! A test binary becomes an executor by running its one test [`executor_role!`](crate::executor_role)
//! makes; [`ARGS`] are the arguments that lead there.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

pub use rustix::process::{Pid, Signal};

/// The arguments of a test binary that is to be an executor.
pub const ARGS: [&str; 4] = ["executor_role", "--exact", "--nocapture", "--test-threads=1"];

/// The variable that makes a process an executor.
const ROLE: &[u8] = b"MILLSTREAM_EXECUTOR=";

/// Defines the test in which a test binary becomes an executor. Each binary that uses
/// `local-cluster` has it, at its root.
#[macro_export]
macro_rules! executor_role {
    () => {
        #[test]
        fn executor_role() -> Result<(), millstream::Error> {
            millstream::become_executor_if_asked()
        }
    };
}

/// The executors that keep their files in `dir`, by their process numbers, in order.
#[must_use]
pub fn executors_in(dir: &Path) -> Vec<Pid> {
    let mut found: Vec<i32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| is_executor_in(*pid, dir))
        .collect();
    found.sort_unstable();
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// Waits until there are `count` executors in `dir`.
///
/// # Errors
/// If there are not, in ten seconds.
pub fn wait_for_executors(dir: &Path, count: usize) -> Result<Vec<Pid>, io::Error> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let found = executors_in(dir);
        if found.len() >= count {
            return Ok(found);
        }
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("{} executors of {count}", found.len())));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a signal; true if the process was there.
#[must_use]
pub fn signal(pid: Pid, signal: Signal) -> bool {
    rustix::process::kill_process(pid, signal).is_ok()
}

/// The process of an executor that a driver has started, by its number, if it is alive.
#[must_use]
pub fn executor_in(dir: &Path, number: u64) -> Option<Pid> {
    let role = |pid: &Pid| role_of(pid.as_raw_nonzero().get(), dir);
    let said = format!("\"executor\":{number},");
    executors_in(dir).into_iter().find(|pid| role(pid).is_some_and(|role| role.contains(&said)))
}

/// Waits until a process is no more.
///
/// # Panics
/// If it still is, after ten seconds.
pub fn wait_for_end(pid: Pid) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let status = format!("/proc/{}/stat", pid.as_raw_nonzero());
    // One that its parent has yet to wait for is a zombie.
    while fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < deadline, "{pid:?} does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_executor_in(pid: i32, dir: &Path) -> bool {
    role_of(pid, dir).is_some()
}

/// What an executor that keeps its files in `dir` was told when it was started.
fn role_of(pid: i32, dir: &Path) -> Option<String> {
    // A zombie has an empty environment.
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let dir = dir.to_string_lossy();
    environment
        .split(|byte| *byte == 0)
        .filter(|variable| variable.starts_with(ROLE))
        .map(|role| String::from_utf8_lossy(role).into_owned())
        .find(|role| role.contains(dir.as_ref()))
}
