//! `slow-slot [--slow 8] [--task-ms 200] [--json]`: how long a job takes, and what it costs, when one of four slots is
//! slowed. Tasks sleep, so that nothing else is measured; those of the first executor sleep longer.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use millstream::Context;
use millstream_benches::error::{BenchError, finish};
use millstream_benches::report::Report;
use millstream_benches::trace::{End, Trace, is_executor};

/// Runs one stage of tasks that sleep.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many times longer the tasks of one executor take.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    slow: u32,
    /// What each task takes elsewhere, in milliseconds.
    #[arg(long, default_value_t = 200)]
    task_ms: u64,
    /// Tasks.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,
    /// Without second copies of slow tasks.
    #[arg(long)]
    no_speculation: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

const EXECUTORS: u32 = 4;

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let builder = Context::builder().app_name("slow-slot").speculation(!arguments.no_speculation);
    let (context, trace) = Trace::cluster(builder, EXECUTORS, "512m")?;
    let (tasks, slow) = (arguments.tasks, arguments.slow);
    let takes = (arguments.task_ms, slow);
    let rows = context.range(0..i64::from(tasks), tasks);
    let rows = rows.map_partitions_with(takes, |(task_ms, slow), _, rows| {
        let times = if is_executor(1) { *slow } else { 1 };
        // In pieces, as work is that hears that it is to stop.
        (0..times).for_each(|_| std::thread::sleep(Duration::from_millis(*task_ms)));
        rows
    });
    let start = Instant::now();
    let count = rows.count()?;
    let wall = start.elapsed().as_secs_f64();
    BenchError::check("the number of rows", &u64::from(tasks), &count)?;

    let attempts = trace.attempts();
    let all: f64 = attempts.iter().map(|attempt| attempt.seconds).sum();
    let in_vain = attempts.iter().filter(|attempt| attempt.end != End::Finished);
    let in_vain: f64 = in_vain.map(|attempt| attempt.seconds).sum();
    let capacity = f64::from(EXECUTORS - 1) + 1.0 / f64::from(slow);
    let optimum = f64::from(tasks) * arguments.task_ms as f64 / 1e3 / capacity;
    let mut report = Report::new("slow-slot");
    report.add("tasks", "tasks", tasks);
    report.add("slowed", "one slot of four slowed by", slow);
    report.add("wall_s", "wall, s", wall);
    report.add("optimum_s", "optimum on the capacity left, s", optimum);
    report.add("wall_by_optimum", "wall / optimum", wall / optimum);
    report.add("copies", "second copies", attempts.iter().filter(|a| a.task.attempt > 0).count());
    report.add("task_s", "task-seconds", all);
    report.add("in_vain_s", "of attempts that did not count, s", in_vain);
    report.add("extra", "extra task-seconds, %", 100.0 * in_vain / (all - in_vain));
    Ok(report.render(arguments.json))
}
