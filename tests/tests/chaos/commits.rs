//! An executor that stops while it holds the permission to publish a partition.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream::events::Event;
use millstream_tests::executors::{Pid, Signal, signal, wait_for_end};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::signals::{is_single_and_complete, save};
use super::{TIMEOUT, builder, skip, succeeds};

/// Stops a process at the moment at which it links the file that says which attempt counts: it has
/// asked, was granted, and has not said that it is done.
struct StopAtCommit(Child);

impl StopAtCommit {
    fn attach(pid: Pid) -> Option<Self> {
        let number = pid.as_raw_nonzero().to_string();
        let inject = "inject=link,linkat:signal=SIGSTOP:when=1";
        let args = ["-f", "-q", "-e", "trace=link,linkat", "-e", inject, "-o", "/dev/null", "-p"];
        let mut command = Command::new("strace");
        let child =
            command.args(args).arg(&number).stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut tracer = Self(child.ok()?);
        let traced = || {
            let status = std::fs::read_to_string(format!("/proc/{number}/status"));
            status.is_ok_and(|status| !status.contains("TracerPid:\t0\n"))
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while !traced() {
            if Instant::now() > deadline || tracer.0.try_wait().is_ok_and(|end| end.is_some()) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Some(tracer)
    }
}

impl Drop for StopAtCommit {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_stopped(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.contains(") T ") || stat.contains(") t "))
}

#[test]
fn an_executor_that_stops_with_a_permission_to_commit_blocks_nobody() {
    const NAME: &str = "stopping while holding a commit grant";
    if !succeeds(Command::new("strace").arg("-V")) {
        return skip(NAME, "strace is not installed");
    }
    let dir = tempfile::tempdir().unwrap();
    let (gate, out) = (Gate::new(dir.path()), dir.path().join("out"));
    let watch = Watch::new();
    let context = builder("local-cluster[3,1,512m]", dir.path(), &watch);
    let context = context.executor_timeout(TIMEOUT).speculation(false).build().unwrap();
    let played = std::thread::scope(|scope| {
        let job = scope.spawn(|| save(&context, &gate, &out));
        let holder = gate.arrived("task");
        let tracer = StopAtCommit::attach(holder);
        gate.open("go");
        if tracer.is_some() {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !is_stopped(holder) {
                assert!(Instant::now() < deadline, "it does not come to its commit");
                std::thread::sleep(Duration::from_millis(1));
            }
            watch.wait_for("loss", |event| matches!(event, Event::ExecutorLost { .. }));
            let second = |event: &Event| matches!(event, Event::TaskFinished { task, .. } if task.partition == 3);
            watch.wait_for("second attempt that commits", second);
            assert!(signal(holder, Signal::CONT));
        }
        let traced = tracer.is_some();
        drop(tracer);
        if traced {
            assert!(signal(holder, Signal::CONT));
            wait_for_end(holder);
        }
        gate.open("finish");
        job.join().unwrap().unwrap();
        traced
    });
    is_single_and_complete(&out);
    if !played {
        skip(NAME, "processes may not be traced here");
    }
}
