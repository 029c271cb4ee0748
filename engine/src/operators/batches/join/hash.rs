//! Hash joins: the right side becomes a table, which the left side probes as it streams by. If the table does
//! not fit, [`super::hybrid`] takes over; the rows and their order are the same.
//!
//! Rows come in the order of the left side, those of one left row in the order of the right side; then, where the kind
//! asks for them, right rows with or without a match in theirs.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::Build;
use super::build::{Built, Loader, Seen};
use super::hybrid::{self, HybridBuild};
use super::partition::pieces;
use super::plan::Plan;
use super::probe::Prober;
use super::side::{Layout, Stored};
use crate::executor::{TableKey, Task, TaskError};
use crate::operators::batches::{BatchStream, BoxBatches, batch_of};

/// Joins when it is first asked for rows.
pub(super) fn open(task: &Task, plan: Plan, left: BoxBatches, right: Build) -> BoxBatches {
    let (task, plan) = (Task::clone(task), Rc::new(plan));
    let mut inputs = Some((left, right));
    let mut output: Option<BoxBatches> = None;
    Box::new(move || {
        if let Some((left, right)) = inputs.take() {
            output = Some(start(&task, &plan, left, right)?);
        }
        output.as_mut().map_or(Ok(None), |output| output.next())
    })
}

/// A build side, wherever it went.
enum Made {
    Table(Arc<Built>),
    Hybrid(HybridBuild),
}

/// Joins: reads the right side, then the left side as it is asked for rows.
pub(super) fn start(
    task: &Task,
    plan: &Rc<Plan>,
    left: BoxBatches,
    right: Build,
) -> Result<BoxBatches, TaskError> {
    let made = match right {
        Build::Stream(input) => make(task, plan, input)?,
        Build::Shared { key, load } => share(task, plan, key, load)?,
    };
    let seen = match &made {
        Made::Table(built) => built.seen,
        Made::Hybrid(build) => build.seen,
    };
    match shortcut(plan, seen) {
        Some(Shortcut::Nothing) => return Ok(Box::new(|| Ok(None))),
        Some(Shortcut::AllLeft) => return Ok(all_left(plan, left)),
        None => {}
    }
    match made {
        Made::Table(built) => {
            let side = plan.left_side(false)?;
            let layout = side.layout.clone();
            Ok(Box::new(Probe::new(plan, Box::new(Stored::new(left, side)), &layout, built)))
        }
        Made::Hybrid(build) => hybrid::join(task, plan, left, build),
    }
}

fn make(task: &Task, plan: &Rc<Plan>, input: BoxBatches) -> Result<Made, TaskError> {
    let side = plan.right_side()?;
    let layout = side.layout.clone();
    let mut input = Stored::new(input, side);
    let mut loader = Loader::new(plan, &layout);
    match loader.load(task, &mut input)? {
        true => Ok(Made::Table(Arc::new(loader.finish()?))),
        false => Ok(Made::Hybrid(hybrid::build(task, plan, loader, &layout, &mut input)?)),
    }
}

/// The table that all tasks of this executor share, if there is room to keep it between tasks. If there is not,
/// each makes its own.
fn share(
    task: &Task,
    plan: &Rc<Plan>,
    key: TableKey,
    load: Box<dyn FnOnce() -> Result<BoxBatches, TaskError>>,
) -> Result<Made, TaskError> {
    let (mut load, mut own) = (Some(load), None);
    let mut make_own = || match load.take() {
        Some(load) => make(task, plan, load()?),
        None => Err(TaskError::internal("a build side that is loaded twice")),
    };
    let shared = task.runtime.tables.get_or_make(key, || {
        let before = task.live_bytes();
        let made = make_own()?;
        if let Made::Table(table) = &made {
            let bytes = task.live_bytes().saturating_sub(before).max(table.bytes() as u64);
            if let Ok(reservation) = task.store(bytes) {
                return Ok(Some((Arc::clone(table), reservation)));
            }
        }
        own = Some(made);
        Ok(None)
    })?;
    match (shared, own) {
        (Some(table), _) => Ok(Made::Table(table)),
        (None, Some(made)) => Ok(made),
        (None, None) => make_own(),
    }
}

/// What needs no probe.
enum Shortcut {
    Nothing,
    /// The left rows as they are.
    AllLeft,
}

fn shortcut(plan: &Plan, seen: Seen) -> Option<Shortcut> {
    match (plan.null_aware, seen) {
        (true, Seen { null: true, .. }) => Some(Shortcut::Nothing),
        (true, Seen { rows: false, .. }) => Some(Shortcut::AllLeft),
        (false, Seen { rows: false, .. }) if !plan.gives.left_alone => Some(Shortcut::Nothing),
        _ => None,
    }
}

fn all_left(plan: &Rc<Plan>, mut left: BoxBatches) -> BoxBatches {
    let plan = Rc::clone(plan);
    Box::new(move || {
        let Some(batch) = left.next()? else { return Ok(None) };
        let (columns, rows) = (batch.columns().to_vec(), batch.num_rows());
        Ok(Some(batch_of(&plan.output, columns, rows)?))
    })
}

/// The left side as it probes a table in memory.
pub(super) struct Probe {
    /// Stored batches.
    left: BoxBatches,
    prober: Prober,
    /// The rest of a large batch.
    rest: Vec<RecordBatch>,
    rows_max: usize,
    /// The left side is at its end.
    ended: bool,
}

impl Probe {
    pub(super) fn new(
        plan: &Rc<Plan>,
        left: BoxBatches,
        layout: &Layout,
        built: Arc<Built>,
    ) -> Self {
        let prober = Prober::new(plan, plan.gives, layout, built);
        Self { left, prober, rest: Vec::new(), rows_max: plan.rows_max, ended: false }
    }

    fn next_left(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        if self.rest.is_empty() {
            let Some(batch) = self.left.next()? else { return Ok(None) };
            if batch.num_rows() <= self.rows_max {
                return Ok(Some(batch));
            }
            self.rest.extend(pieces(&batch, self.rows_max));
            self.rest.reverse();
        }
        Ok(self.rest.pop())
    }
}

impl BatchStream for Probe {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if self.ended {
                return self.prober.alone();
            }
            if let Some(batch) = self.prober.next()? {
                return Ok(Some(batch));
            }
            match self.next_left()? {
                Some(batch) => self.prober.start(batch)?,
                None => self.ended = true,
            }
        }
    }
}
