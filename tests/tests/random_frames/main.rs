//! Random plans of frames, on random rows with many NULLs and few different values, against a naive interpreter.
//!
//! A seed makes tables and a plan. The engine runs it in cells of the matrix that differ in partitions, memory and
//! masters; an interpreter that goes row by row says what is right. Rows must be those of the interpreter, in its order
//! where the plan promises one; and the same bits in the same order in all cells of as many partitions. A plan that
//! disagrees is made smaller before it is shown, with its seed. `MILLSTREAM_FRAME_SEEDS=FROM..TO` runs other seeds than
//! those of every day.
//!
//! Where the interpreter gives no answer, for an operation fails, the engine need not: it may never look at that row.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

millstream_tests::executor_role!();

mod aggregate;
mod choices;
mod engine;
mod expr;
mod generate;
mod model;
mod numbers;
mod plan;
mod value;
mod window;

use std::fmt::Write as _;
use std::ops::Range;

use millstream::scheduler::{JobError, TaskFailure};
use millstream::{Context, Error};
use millstream_tests::executors;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::choices::Choices;
use crate::plan::{COLUMNS, Cells, Plan};
use crate::value::{Row, order_rows, same_row};

fn seeds() -> Range<u64> {
    let wanted = std::env::var("MILLSTREAM_FRAME_SEEDS").ok();
    let range = wanted.as_deref().and_then(|range| range.split_once(".."));
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(0..100)
}

const MIB: u64 = 1 << 20;
/// One in so many seeds runs in other processes too.
const IN_PROCESSES: u64 = 16;
/// How often a failing plan is tried to be made smaller.
const SHRINKS_MAX: u32 = 3_000;

/// What a seed makes: two tables, and the decisions of a plan.
fn cases() -> impl Strategy<Value = (Cells, Cells, Vec<u16>)> {
    let cells = || vec(proptest::array::uniform9(0u8..24), 0..25);
    const { assert!(COLUMNS.len() == 9, "a cell for each column") };
    (cells(), cells(), vec(any::<u16>(), 0..160))
}

#[test]
fn random_plans_agree_with_a_naive_interpreter() {
    let contexts = contexts().unwrap();
    let mut failures = String::new();
    let answered = std::cell::Cell::new(0);
    for seed in seeds() {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config { cases: 1, max_shrink_iters: SHRINKS_MAX, ..Config::default() };
        let config = Config { failure_persistence: None, ..config };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let outcome = TestRunner::new_with_rng(config, rng).run(&cases(), |(a, b, numbers)| {
            let tables = [a, b];
            let plan = generate::plan(&mut Choices::new(&numbers));
            let Ok(known) = model::run(&plan, &tables) else { return Ok(()) };
            answered.set(answered.get() + 1);
            agrees(seed, &plan, &tables, known, &contexts).map_err(TestCaseError::fail)
        });
        if let Err(TestError::Fail(why, (a, b, numbers))) = outcome {
            let plan = generate::plan(&mut Choices::new(&numbers));
            let shown = shown(&plan, &[a, b], &contexts[0].context);
            let _ = writeln!(failures, "seed {seed}: {why}\n{shown}");
        }
    }
    assert!(failures.is_empty(), "{failures}");
    let (answered, seeds) = (answered.get(), seeds().count());
    assert!(answered * 2 > seeds, "the interpreter answers {answered} of {seeds} seeds");
}

fn shown(plan: &Plan, tables: &[Cells; 2], context: &Context) -> String {
    let explained = engine::frame(plan, tables, context).and_then(|frame| frame.explain());
    let explained = explained.unwrap_or_else(|error| error.to_string());
    let rows = tables.each_ref().map(|cells| plan::rows_of(cells, 1));
    format!("{explained}\n{plan:?}\nfirst table: {:?}\nsecond table: {:?}\n", rows[0], rows[1])
}

/// An application that plans share as the jobs of a user's would.
struct Cell {
    name: String,
    tiny: bool,
    processes: bool,
    context: Context,
}

fn contexts() -> Result<Vec<Cell>, Error> {
    let cell = |master: &str, memory: u64, processes| -> Result<Cell, Error> {
        let name = format!("{master} with {} MiB", memory / MIB);
        let builder = Context::builder().app_name("random frames").quiet(true);
        let builder = builder.executor_args(executors::ARGS);
        let context = builder.master(master).memory_limit(memory).build()?;
        Ok(Cell { name, tiny: memory == MIB, processes, context })
    };
    Ok(vec![
        cell("local[1]", 256 * MIB, false)?,
        cell("local[2]", MIB, false)?,
        cell("local-cluster[2,1,256m]", 256 * MIB, true)?,
    ])
}

fn agrees(
    seed: u64,
    plan: &Plan,
    tables: &[Cells; 2],
    mut known: Vec<Row>,
    cells: &[Cell],
) -> Result<(), String> {
    let ordered = plan.is_ordered();
    if !ordered {
        known.sort_by(|a, b| order_rows(a, b));
    }
    for partitions in [1, 3, 8] {
        let mut first: Option<String> = None;
        for cell in cells.iter().filter(|cell| !cell.processes || seed.is_multiple_of(IN_PROCESSES))
        {
            let name = format!("{}, {partitions} partitions", cell.name);
            let context = cell.context.with_partitions(partitions);
            let frame = engine::frame(plan, tables, &context);
            let batch = match frame.and_then(|frame| frame.collect_batch()) {
                Ok(batch) => batch,
                Err(Error::Job(JobError::Task {
                    cause: TaskFailure::OutOfMemory { .. }, ..
                })) if cell.tiny => continue,
                Err(error) => return Err(format!("{name} fails: {error}")),
            };
            let types = plan.types();
            let mut rows = engine::rows(&batch, &types).map_err(|why| format!("{name} {why}"))?;
            // Written, for NaN is not itself, and the zeros are equal.
            let written = format!("{rows:?}");
            if first.as_ref().is_some_and(|first| *first != written) {
                let first = &cells[0].name;
                return Err(format!("{name} gives other rows or another order than {first}"));
            }
            first = Some(written);
            if !ordered {
                rows.sort_by(|a, b| order_rows(a, b));
            }
            if rows.len() != known.len() || !rows.iter().zip(&known).all(|(a, b)| same_row(a, b)) {
                return Err(differ(&name, &rows, &known));
            }
        }
    }
    Ok(())
}

fn differ(name: &str, rows: &[Row], known: &[Row]) -> String {
    let at = rows.iter().zip(known).position(|(a, b)| !same_row(a, b));
    let at = at.unwrap_or(rows.len().min(known.len()));
    let (rows_at, known_at) = (rows.get(at), known.get(at));
    format!(
        "{name} gives {} rows instead of {}; row {at} is {rows_at:?} instead of {known_at:?}",
        rows.len(),
        known.len()
    )
}
