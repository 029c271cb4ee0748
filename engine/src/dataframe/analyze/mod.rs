//! What running a plan takes: by operator, summed over tasks and executors. How it is shown is in `text`.
//!
//! The figures travel with the results of tasks as an accumulator does, so that each partition counts once, however
//! often it was tried. A stage whose rows are spread by ranges runs twice: first to draw a sample of the keys, which
//! [`StageFigures::sampling`] tells and no other figure holds.

mod text;

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_planner::physical::{OpId, explain_stage};
use millstream_shuffle::budget::SpillCause;

use super::DataFrame;
use super::run::{Adapted, adapt_measured};
use crate::error::Error;
use crate::executor::{Figures, Metrics, Task, TaskError, TaskFigures};
use crate::operators::batches::Batch;
use crate::rdd::{Action, BoxStream};

/// What running a plan took. Shown, it is the plan by stages, each operator with its figures.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Analysis {
    /// From the call to the end.
    pub wall: Duration,
    /// The stages: the one that gives the result first, each before those it reads.
    pub stages: Vec<StageFigures>,
}

/// What the tasks of a stage took.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct StageFigures {
    /// By which other stages name it.
    pub number: usize,
    /// How many tasks it has, and what they write.
    pub title: String,
    /// Tasks that ran.
    pub tasks: usize,
    /// The time that half of the tasks took at most.
    pub task_median: Duration,
    /// The time that the slowest task took.
    pub task_max: Duration,
    /// The most memory that one task held, in bytes.
    pub memory_peak: u64,
    /// What looking for the bounds of ranges took, over all tasks, where rows are spread by ranges.
    pub sampling: Duration,
    /// What becomes of the rows: an exchange is written, or the result counted.
    pub output: OperatorFigures,
    /// The operators, in the order of the lines of the plan.
    pub operators: Vec<OperatorFigures>,
}

/// What one operator took, over all tasks of its stage.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct OperatorFigures {
    /// Its line of the plan, indented by its depth.
    pub text: String,
    /// Its kind, such as `filter`; empty for a line that stands for several operators, or for one that has a line before.
    pub name: &'static str,
    /// Rows it gave.
    pub rows: u64,
    /// Batches it gave.
    pub batches: u64,
    /// Bytes of what it gave: of columns in memory; of an exchange, as stored.
    pub bytes: u64,
    /// The time it worked, without the operators it reads from.
    pub time: Duration,
    /// The most bytes of state that it held in one task; 0 where it holds none.
    pub memory_peak: u64,
    /// Bytes it wrote to disk to free memory.
    pub spilled_bytes: u64,
    /// Why the first of them were.
    pub spill_cause: Option<SpillCause>,
}

impl DataFrame {
    /// Runs the plan, counts its rows and throws them away. Returns the plan as it ran, by stages, with what each operator
    /// took: rows, bytes, time, memory, and what it spilled and why. `println!` shows it.
    ///
    /// Measuring costs some time for each batch and operator; plans that are run in other ways do not pay for it.
    ///
    /// # Errors
    /// A mistake in the plan, or if the job fails.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// use millstream::functions::{col, count_star};
    /// let context = millstream::Context::local("analyze")?;
    /// let numbers = context.frame_range(0, 10_000, 4);
    /// let sizes = numbers.group_by([(col("id") % 10).alias("digit")]).agg([count_star().alias("count")]);
    /// let analysis = sizes.explain_analyze()?;
    /// println!("{analysis}");
    /// let scan = analysis.stages.last().and_then(|stage| stage.operators.last()).map(|scan| (scan.name, scan.rows));
    /// assert_eq!(scan, Some(("scan", 10_000)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn explain_analyze(&self) -> Result<Analysis, Error> {
        let started = Instant::now();
        let context = self.context();
        let plan = self.plan()?;
        let figures = context.accumulator::<Vec<TaskFigures>>();
        let ran = adapt_measured(context, plan, Some(&figures)).and_then(|adapted| {
            adapted.rows.run::<Discard>("explain_analyze", ())?;
            Ok(adapted)
        });
        let figures = figures.close(context.inner().driver().totals());
        Ok(Analysis { wall: started.elapsed(), stages: stages(&ran?, &figures) })
    }
}

fn stages(adapted: &Adapted, figures: &[TaskFigures]) -> Vec<StageFigures> {
    let numbers = (0..adapted.stages.len()).rev();
    numbers.map(|number| StageFigures::of(adapted, number, figures)).collect()
}

impl StageFigures {
    /// Of the stage with this number.
    fn of(adapted: &Adapted, number: usize, figures: &[TaskFigures]) -> Self {
        let piece = &adapted.stages[number];
        let of_stage = figures.iter().filter(|task| task.stage as usize == number);
        // Others only looked at the rows.
        let (ran, sampled) =
            of_stage.partition::<Vec<_>, _>(|task| task.wrote == piece.output.is_some());
        let text = explain_stage(piece, &adapted.tables);
        let operators = text.lines.into_iter().map(|line| {
            let op = line.operator.and_then(|id| piece.plan.get(id)).map(|found| found.op.name());
            let place = line.operator.map(|OpId(place)| place as usize);
            let of_task = |task: &&TaskFigures| task.operators.get(place?).cloned();
            OperatorFigures::sum(line.text, op.unwrap_or(""), ran.iter().filter_map(of_task))
        });
        let operators = operators.collect();
        let output = match piece.output {
            Some(_) => ("Write", "write"),
            None => ("Result", "result"),
        };
        let written = ran.iter().map(|task| task.output.clone());
        let mut times: Vec<u64> = ran.iter().map(|task| task.nanos).collect();
        times.sort_unstable();
        let time = |at: usize| Duration::from_nanos(times.get(at).copied().unwrap_or(0));
        Self {
            number,
            title: text.title,
            tasks: times.len(),
            task_median: time(times.len() / 2),
            task_max: time(times.len().saturating_sub(1)),
            memory_peak: ran.iter().map(|task| task.memory_peak).max().unwrap_or(0),
            sampling: sampled.iter().map(|task| Duration::from_nanos(task.nanos)).sum(),
            output: OperatorFigures::sum(output.0.to_owned(), output.1, written),
            operators,
        }
    }

    /// The work of all its tasks.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.operators.iter().chain([&self.output]).map(|operator| operator.time).sum()
    }
}

impl OperatorFigures {
    fn sum(text: String, name: &'static str, tasks: impl Iterator<Item = Figures>) -> Self {
        let mut all = Figures::default();
        for task in tasks {
            all.rows += task.rows;
            all.batches += task.batches;
            all.bytes += task.bytes;
            all.nanos += task.nanos;
            all.state_peak = all.state_peak.max(task.state_peak);
            all.spilled += task.spilled;
            all.spill_cause = all.spill_cause.or(task.spill_cause);
        }
        Self {
            text,
            name,
            rows: all.rows,
            batches: all.batches,
            bytes: all.bytes,
            time: Duration::from_nanos(all.nanos),
            memory_peak: all.state_peak,
            spilled_bytes: all.spilled,
            spill_cause: all.spill_cause,
        }
    }
}

/// Counts rows.
pub(super) struct Discard;

impl Action for Discard {
    type Params = ();
    type In = Batch;
    type Out = ();

    fn run(_: Arc<()>, mut rows: BoxStream<Batch>, task: &Task) -> Result<(), TaskError> {
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            let rows: usize = chunk.iter().map(|batch| batch.0.num_rows()).sum();
            Metrics::add(&task.metrics.rows_out, rows as u64);
        }
        Ok(())
    }
}
