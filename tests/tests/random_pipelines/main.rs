//! Random pipelines against a naive interpreter.
//!
//! A seed makes a small program: sources, then operations on a stack of row sets. The engine runs it
//! under several partition counts, memory limits and masters, a `Vec` interpreter runs it once; both
//! must have the same rows, and the engine the same order for the same partition count. A failure names
//! its seed; `MILLSTREAM_PIPELINE_SEEDS=FROM..TO` runs others than those of every day.
//!
//! It does not look at single operations with care: that is what `operations` is for.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

millstream_tests::executor_role!();

mod engine;
mod model;
mod program;
mod value;

use std::fmt::Write as _;
use std::ops::Range;

use millstream::scheduler::{JobError, TaskFailure};
use millstream::{Context, Error};
use millstream_tests::executors;

use crate::program::Program;
use crate::value::Value;

/// Rows in order.
type Rows<V> = Vec<(i64, V)>;

fn seeds() -> Range<u64> {
    let wanted = std::env::var("MILLSTREAM_PIPELINE_SEEDS").ok();
    let range = wanted.as_deref().and_then(|range| range.split_once(".."));
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(0..120)
}

const MIB: u64 = 1 << 20;

#[test]
fn pipelines_of_numbers_agree_with_a_naive_interpreter() {
    all_agree::<i64>();
}

#[test]
fn pipelines_of_strings_agree_with_a_naive_interpreter() {
    all_agree::<String>();
}

fn all_agree<V: Value>() {
    let contexts = contexts().unwrap();
    let mut failures = String::new();
    for seed in seeds() {
        let program = Program::<V>::random(seed);
        if let Err(why) = agrees(&program, &contexts) {
            let _ = writeln!(failures, "seed {seed}: {why}\n  of {:?}", program.steps);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// One application for each kind of cell; programs share them as the jobs of a user's would.
fn contexts() -> Result<Vec<(String, Context)>, Error> {
    let mut contexts = Vec::new();
    for memory in [256 * MIB, MIB] {
        for master in ["local[1]", "local[2]", "local-cluster[2,1,256m]"] {
            let name = format!("{master} with {} MiB", memory / MIB);
            let builder = Context::builder().app_name("random pipelines").quiet(true);
            let builder = builder.executor_args(executors::ARGS);
            contexts.push((name, builder.master(master).memory_limit(memory).build()?));
        }
    }
    Ok(contexts)
}

fn agrees<V: Value>(program: &Program<V>, contexts: &[(String, Context)]) -> Result<(), String> {
    let mut known = program.rows.clone();
    known.sort();
    for partitions in [1, 3, 8] {
        let mut first: Option<Rows<V>> = None;
        for (name, context) in contexts {
            let cell = format!("{name}, {partitions} partitions");
            let rows = match engine::run(program, context, partitions) {
                Ok(rows) => rows,
                // One key may have more than a MiB of values.
                Err(Error::Job(JobError::Task {
                    cause: TaskFailure::OutOfMemory { .. }, ..
                })) if name.ends_with("with 1 MiB") => {
                    continue;
                }
                Err(error) => return Err(format!("{cell} fails: {error}")),
            };
            match &first {
                Some(order) if *order != rows => {
                    let mut sorted = rows;
                    sorted.sort();
                    let what = if sorted == known { "another order" } else { "other rows" };
                    return Err(format!("{cell} gives {what} than {}", contexts[0].0));
                }
                Some(_) => {}
                None => {
                    let mut sorted = rows.clone();
                    sorted.sort();
                    if sorted != known {
                        return Err(format!(
                            "{cell} gives {} rows instead of {}, or other ones",
                            sorted.len(),
                            known.len()
                        ));
                    }
                    first = Some(rows);
                }
            }
        }
    }
    Ok(())
}
