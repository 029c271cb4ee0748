//! `lost-executors [--executors 26] [--killed 3] [--json]`: what it costs when executors are killed in the middle of
//! a job, against the work that is lost with them. Tasks sleep, so that they take as long on a busy machine.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use millstream::{Context, PartitionRows};
use millstream_benches::error::{BenchError, finish};
use millstream_benches::report::Report;
use millstream_benches::trace::{Attempt, End, Trace, kill_executor};

/// Runs a job with a shuffle twice, and kills executors in the second run.
#[derive(Debug, Parser)]
struct Arguments {
    /// Executors of one slot each.
    #[arg(long, default_value_t = 26, value_parser = clap::value_parser!(u32).range(1..))]
    executors: u32,
    /// How many of them are killed at the same time.
    #[arg(long, default_value_t = 3)]
    killed: u32,
    /// Which part of all tasks has ended by then, in percent.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(0..100))]
    at: u32,
    /// What each task takes, in milliseconds. Tasks that are not long beside their fetches measure these: the executors
    /// share the processors of one machine.
    #[arg(long, default_value_t = 4000)]
    task_ms: u64,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Tasks of a stage for each executor.
const ROUNDS: u32 = 6;

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let calm = job(arguments, 0)?;
    let struck = job(arguments, arguments.killed)?;
    let lost = struck.lost();
    let mut report = Report::new("lost-executors");
    report.add("executors", "executors", arguments.executors);
    report.add("killed", "killed", arguments.killed);
    report.add("tasks", "tasks", calm.attempts.len());
    report.add("calm_task_s", "task-seconds without a fault", calm.task_seconds());
    report.add("struck_task_s", "task-seconds with it", struck.task_seconds());
    report.add("lost_s", "lost work, s", lost);
    report.add("recomputed_s", "recomputed work, s", struck.recomputed());
    report.add("stopped", "attempts that were stopped", struck.stopped().count());
    report.add("stopped_s", "their task-seconds", struck.stopped().map(|a| a.seconds).sum::<f64>());
    let extra = struck.task_seconds() - calm.task_seconds();
    report.add("extra_by_lost", "extra task-seconds / lost work", extra / lost);
    report.add("recomputed_by_lost", "recomputed / lost work", struck.recomputed() / lost);
    report.add("calm_wall_s", "wall without a fault, s", calm.wall);
    report.add("struck_wall_s", "wall with it, s", struck.wall);
    Ok(report.render(arguments.json))
}

/// What a run has come to.
struct Run {
    attempts: Vec<Attempt>,
    /// The first stage: its outputs go with their executor.
    maps: u64,
    /// The lives of executors that were killed.
    dead: Vec<(u64, u64)>,
    wall: f64,
}

impl Run {
    fn task_seconds(&self) -> f64 {
        self.attempts.iter().map(|attempt| attempt.seconds).sum()
    }

    /// What was under way on the dead, and the map outputs that they had.
    fn lost(&self) -> f64 {
        let is_lost = |attempt: &&Attempt| match attempt.end {
            End::Lost => true,
            End::Finished => {
                attempt.task.stage.0 == self.maps && self.dead.contains(&attempt.executor)
            }
            End::Stopped => false,
        };
        self.attempts.iter().filter(is_lost).map(|attempt| attempt.seconds).sum()
    }

    /// Attempts that failed or were stopped, on executors that live.
    fn stopped(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| attempt.end == End::Stopped)
    }

    /// What was done again: of each later attempt at a partition as much as the one before it had done. A task that
    /// found its input gone had done nothing yet.
    fn recomputed(&self) -> f64 {
        let mut before: HashMap<_, f64> = HashMap::new();
        let worked = self.attempts.iter().filter(|attempt| attempt.end != End::Stopped);
        let again = |attempt: &Attempt| {
            let place = (attempt.task.stage, attempt.task.partition);
            before.insert(place, attempt.seconds).map(|done| done.min(attempt.seconds))
        };
        worked.filter_map(again).sum()
    }
}

fn slowly<T>(pause_ms: &u64, _: u32, rows: PartitionRows<T>) -> PartitionRows<T> {
    std::thread::sleep(Duration::from_millis(*pause_ms));
    rows
}

fn job(arguments: &Arguments, killed: u32) -> Result<Run, BenchError> {
    let builder = Context::builder().app_name("lost-executors");
    let (context, trace) = Trace::cluster(builder, arguments.executors, "64m")?;
    let tasks = arguments.executors * ROUNDS;
    let pause = arguments.task_ms;
    let numbers = context.range(0..i64::from(tasks) * 100, tasks);
    let slow = numbers.map_partitions_with(pause, slowly);
    let sums = slow.map(|n| (n % 1_000, n)).reduce_by_key(|a, b| a + b);
    let sums = sums.map_partitions_with(pause, slowly);
    let start = Instant::now();
    let strike = 2 * tasks as usize * arguments.at as usize / 100;
    let total = std::thread::scope(|scope| {
        let job = scope.spawn(|| sums.values().reduce(|a, b| a + b));
        if killed > 0 {
            while trace.ended() < strike && !job.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            (1..=u64::from(killed)).for_each(kill_executor);
        }
        job.join()
    });
    let wall = start.elapsed().as_secs_f64();
    let total = total.map_err(|_| BenchError::Panicked)?;
    let rows = i64::from(tasks) * 100;
    BenchError::check("the sum", &Some(rows * (rows - 1) / 2), &total?)?;
    let attempts = trace.attempts();
    let maps = attempts.iter().map(|attempt| attempt.task.stage.0).min().unwrap_or(0);
    let dead = trace.dead();
    BenchError::check("executors lost", &u64::from(killed), &(dead.len() as u64))?;
    Ok(Run { attempts, maps, dead, wall })
}
