//! `noop-tasks [--tasks 1000000] [--master M] [--json]`: what a task costs that does nothing, and how long a program
//! takes from its start to its first result.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use clap::Parser;
use millstream::Context;
use millstream_benches::error::{BenchError, finish};
use millstream_benches::report::{Report, mib};
use millstream_benches::rss::{peak_rss_bytes, rss_bytes};

/// What the job of the start-up run answers.
const FIRST_RESULT: &str = "RESULT 4 keys, sum 499500";

/// Runs a job of empty tasks, and starts itself to time a first result.
#[derive(Debug, Parser)]
struct Arguments {
    /// Empty tasks in one job.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,
    /// Where tasks run, such as `local[2]` or `local-cluster[2,1,1g]`.
    #[arg(long, default_value = "local[*]")]
    master: String,
    /// How often to start a program for its first result.
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    starts: u32,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Only run a tiny job and print its result.
    #[arg(long)]
    startup: bool,
}

fn main() -> ExitCode {
    finish(|| {
        let arguments = Arguments::parse();
        if arguments.startup { first_result() } else { run(&arguments) }
    })
}

/// A tiny job with a shuffle.
fn first_result() -> Result<String, BenchError> {
    let context = Context::local("startup")?;
    let pairs = context.range(0..1000, 2).map(|n| (n % 4, n));
    let sums = pairs.reduce_by_key(|a, b| a + b).collect()?;
    let sum: i64 = sums.iter().map(|(_, sum)| sum).sum();
    Ok(format!("RESULT {} keys, sum {sum}\n", sums.len()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let first_result_ms = (0..arguments.starts).map(|_| time_start()).collect::<Result<_, _>>()?;
    let first_result_ms = median(first_result_ms);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let context =
        Context::builder().app_name("noop-tasks").master(&arguments.master).quiet(true).build()?;
    let tasks = arguments.tasks;
    let memory = |bytes: std::io::Result<u64>| bytes.map_err(BenchError::read(Path::new("/proc")));
    // Executors in other processes take their time to come.
    context.range(0..1, 1).count()?;
    let before = memory(rss_bytes())?;
    let start = Instant::now();
    let rows = context.range(0..i64::from(tasks), tasks).count()?;
    let wall = start.elapsed().as_secs_f64();
    let (after, peak) = (memory(rss_bytes())?, memory(peak_rss_bytes())?);
    BenchError::check("the number of rows", &u64::from(tasks), &rows)?;

    let mut report = Report::new("noop-tasks");
    report.add("tasks", "tasks", tasks);
    report.add("master", "master", arguments.master.as_str());
    report.add("wall_s", "wall, s", wall);
    let rate = f64::from(tasks) / wall;
    report.add("tasks_s", "tasks/s", rate);
    report.add("tasks_s_a_core", "tasks/s a core", rate / f64::from(cores));
    report.add("rss_before_mib", "RSS before, MiB", mib(before));
    report.add("rss_after_mib", "RSS after, MiB", mib(after));
    report.add("rss_peak_mib", "peak RSS, MiB", mib(peak));
    let growth = peak.saturating_sub(before) as f64 / f64::from(tasks);
    report.add("peak_bytes_a_task", "peak growth a task, bytes", growth);
    report.add("starts", "starts", arguments.starts);
    report.add("first_result_ms", "start to first result, ms (median)", first_result_ms);
    Ok(report.render(arguments.json))
}

/// Milliseconds from starting this program anew to the first line it prints.
fn time_start() -> Result<f64, BenchError> {
    let program = std::env::current_exe().map_err(BenchError::read(Path::new("/proc/self/exe")))?;
    let mut line = String::new();
    let start = Instant::now();
    let mut child = Command::new(&program)
        .arg("--startup")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(BenchError::read(&program))?;
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(BenchError::read(&program))?;
    }
    let elapsed = start.elapsed();
    child.wait().map_err(BenchError::read(&program))?;
    BenchError::check("the first result", &FIRST_RESULT, &line.trim_end())?;
    Ok(elapsed.as_secs_f64() * 1e3)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
