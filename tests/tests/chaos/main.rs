//! Chaos: real executor processes that are killed, stopped, slowed, cut off and robbed of their disks.
//!
//! Each scenario proves that its fault has fired, and demands the known answer. Faults come at points
//! of a job that its tasks announce ([`millstream_tests::gate`]) or that the driver's events show
//! ([`millstream_tests::watch`]), not after a time.
//!
//! What needs the rights of root, or a tool that is not there, is skipped with a line that says why;
//! with `MILLSTREAM_CHAOS=all` it fails instead.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

millstream_tests::executor_role!();

mod clocks;
mod cluster;
mod commits;
mod disks;
mod drains;
mod kills;
mod network;
mod programs;
mod recovery;
mod segments;
mod service;
mod signals;
mod strangers;
mod tool;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use millstream::{Context, ContextBuilder};
use millstream_tests::executors;
use millstream_tests::watch::Watch;

/// An application in processes that keep their files in `dir`.
fn builder(master: &str, dir: &Path, watch: &Arc<Watch>) -> ContextBuilder {
    Context::builder()
        .app_name("chaos")
        .master(master)
        .local_dir(dir, None)
        .executor_args(executors::ARGS)
        .listener(Arc::clone(watch) as _)
        .quiet(true)
}

/// Soon enough that a test can wait for it, and long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_millis(1_500);

/// Says that a scenario cannot be played here.
fn skip(scenario: &str, why: &str) {
    let all = std::env::var("MILLSTREAM_CHAOS").is_ok_and(|wanted| wanted == "all");
    assert!(!all, "{scenario} cannot be played: {why}");
    say(&format!("skipped: {scenario}: {why}"));
}

/// Prints a line that is seen of tests that pass, too.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "chaos: {line}");
}

/// Whether a command is there and succeeds.
fn succeeds(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A one-to-one scrambling of numbers.
fn scatter(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
