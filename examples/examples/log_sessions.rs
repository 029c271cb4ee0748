//! How long do visitors stay? Cuts the requests of each user into sessions, at every gap of more than
//! half an hour.
//!
//! A user may have more requests than fit into memory. So requests are not grouped: one shuffle brings
//! those of a user together *and* into the order of time, and sessions are cut while they stream by.
//!
//! `cargo run --release --example log_sessions -- --gap-minutes 30 access.log`

use std::cmp::Reverse;
use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Parser;
use millstream::mapreduce::HashPartitioner;
use millstream::{PartitionRows, Partitioner, Text};
use millstream_examples::end::{ExampleError, finish};
use millstream_examples::generate::Logs;
use millstream_examples::input::{SEED, paths_or};
use millstream_examples::options::CommonOptions;
use millstream_examples::weblog::Request;
use serde::{Deserialize, Serialize};

#[derive(Parser)]
#[command(about = "Cuts a web log, lines `time_ms<TAB>user<TAB>method<TAB>path…`, into sessions")]
struct Options {
    #[command(flatten)]
    common: CommonOptions,

    /// How long without a request ends a session
    #[arg(long, value_name = "N", default_value_t = 30)]
    gap_minutes: u32,

    /// How many of the longest sessions to print
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,
}

/// Requests are ordered by user, and those of one user by time.
type UserTime = (Text, u64);

/// All times of a user in one partition.
#[derive(Clone, Serialize, Deserialize)]
struct ByUser;

impl Partitioner<UserTime> for ByUser {
    fn partition(&self, (user, _): &UserTime, partitions: u32) -> u32 {
        HashPartitioner.partition(user, partitions)
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Session {
    user: Text,
    start_ms: u64,
    end_ms: u64,
    requests: u64,
}

impl Session {
    fn seconds(&self) -> f64 {
        (self.end_ms - self.start_ms) as f64 / 1e3
    }
}

fn main() -> ExitCode {
    finish(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), ExampleError> {
    let paths = paths_or(&options.common, "log", 64, || Logs::new(SEED, 20_000))?;
    let context = options.common.context("log_sessions")?;
    let lines = context.text_files(&paths, &Default::default())?;

    let bad_lines = context.accumulator::<u64>();
    let requests = lines.flat_map_with(bad_lines.clone(), |bad_lines, line| {
        let request = Request::parse(&line);
        bad_lines.add(u64::from(request.is_none()));
        request.map(|request| ((request.user, request.time_ms), ()))
    });
    let partitions = options.common.partitions.unwrap_or(requests.partitions());
    let gap_ms = u64::from(options.gap_minutes) * 60_000;
    let sessions = requests
        .repartition_and_sort_within_partitions_with(ByUser, partitions)
        .map_partitions_with(gap_ms, |gap_ms, _, requests| cut(requests, *gap_ms))
        .cache();

    let (count, seconds, total) = sessions.aggregate(
        (0_u64, 0.0, 0_u64),
        |(n, seconds, requests), session| {
            (n + 1, seconds + session.seconds(), requests + session.requests)
        },
        |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2),
    )?;
    let mut out = stdout().lock();
    let mean = |sum: f64| sum / count.max(1) as f64;
    writeln!(
        out,
        "{count} sessions of {total} requests: {:.1} s and {:.1} requests each",
        mean(seconds),
        mean(total as f64)
    )?;
    if bad_lines.value() > 0 {
        writeln!(out, "{} lines that are no requests were left out", bad_lines.value())?;
    }
    let by_length =
        sessions.map(|s| (Reverse(s.end_ms - s.start_ms), s.user, s.start_ms, s.requests));
    for (Reverse(ms), user, start_ms, requests) in by_length.take_ordered(options.top)? {
        writeln!(out, "{user}\tfrom {start_ms}\t{:.1} s\t{requests} requests", ms as f64 / 1e3)?;
    }
    if let Some(dir) = &options.common.output {
        let line = |s: Session| format!("{}\t{}\t{}\t{}", s.user, s.start_ms, s.end_ms, s.requests);
        sessions.map(line).save_as_text(dir)?;
    }
    Ok(())
}

/// The sessions of requests in the order of user and time.
fn cut(
    mut requests: PartitionRows<(UserTime, ())>,
    gap_ms: u64,
) -> impl Iterator<Item = Session> + use<> {
    let mut open: Option<Session> = None;
    std::iter::from_fn(move || {
        for ((user, time_ms), ()) in requests.by_ref() {
            match &mut open {
                Some(s) if s.user == user && time_ms - s.end_ms <= gap_ms => {
                    s.end_ms = time_ms;
                    s.requests += 1;
                }
                _ => {
                    let next = Session { user, start_ms: time_ms, end_ms: time_ms, requests: 1 };
                    if let Some(done) = open.replace(next) {
                        return Some(done);
                    }
                }
            }
        }
        open.take()
    })
}
