//! What each operator of a task takes, where somebody has asked for it. Whoever has not pays for a look at an empty
//! cell.
//!
//! At any moment one operator is at work, or none: time, state and spills are those of the operator at work. What
//! figures mean for a plan is no business of this module.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use millstream_shuffle::budget::SpillCause;
use serde::{Deserialize, Serialize};

use crate::shared::Accumulator;

/// Asks for figures, and says where they go. Travels with the stage.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Metering {
    /// The number that the figures of this stage go by.
    pub(crate) stage: u32,
    pub(crate) figures: Accumulator<Vec<TaskFigures>>,
}

/// What one operator took in one task.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Rows it gave.
    pub(crate) rows: u64,
    /// Batches it gave.
    pub(crate) batches: u64,
    /// Bytes of what it gave.
    pub(crate) bytes: u64,
    /// The time it was at work, not what it reads from.
    pub(crate) nanos: u64,
    /// The most bytes of state that it held.
    pub(crate) state_peak: u64,
    pub(crate) spilled: u64,
    /// Of the first spill.
    pub(crate) spill_cause: Option<SpillCause>,
}

/// What one task took.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TaskFigures {
    /// See [`Metering::stage`].
    pub(crate) stage: u32,
    /// Whether it wrote the output of its stage, and did not only look at its rows.
    pub(crate) wrote: bool,
    /// From the opening of its operators to its end.
    pub(crate) nanos: u64,
    /// The most memory it held.
    pub(crate) memory_peak: u64,
    /// By the place of the operator in the plan of the stage.
    pub(crate) operators: Vec<Figures>,
    /// What becomes of the rows: an exchange, or the action.
    pub(crate) output: Figures,
}

/// Counts for the operators of one task.
pub(crate) struct Meter {
    metering: Metering,
    /// By operator; the last is for when none is at work.
    figures: RefCell<Vec<Figures>>,
    at_work: Cell<usize>,
    /// Since it has been.
    since: Cell<Instant>,
    started: Instant,
}

impl Meter {
    pub(super) fn new(metering: Metering, operators: usize) -> Self {
        let started = Instant::now();
        Self {
            metering,
            figures: RefCell::new(vec![Figures::default(); operators + 1]),
            at_work: Cell::new(operators),
            since: Cell::new(started),
            started,
        }
    }

    /// Runs what is work of an operator.
    pub(crate) fn during<T>(&self, operator: usize, run: impl FnOnce() -> T) -> T {
        let before = self.switch(operator);
        let done = run();
        self.switch(before);
        done
    }

    /// Another operator is at work from now on; returns which was.
    fn switch(&self, to: usize) -> usize {
        let now = Instant::now();
        let worked = now - self.since.replace(now);
        self.count(|figures| figures.nanos += worked.as_nanos() as u64);
        self.at_work.replace(to)
    }

    /// Counts for the operator at work.
    pub(crate) fn count(&self, count: impl FnOnce(&mut Figures)) {
        if let Some(figures) = self.figures.borrow_mut().get_mut(self.at_work.get()) {
            count(figures);
        }
    }

    /// Counts what an operator gives.
    pub(crate) fn gave(&self, operator: usize, rows: usize, bytes: usize) {
        if let Some(figures) = self.figures.borrow_mut().get_mut(operator) {
            figures.rows += rows as u64;
            figures.batches += 1;
            figures.bytes += bytes as u64;
        }
    }

    /// Hands over the figures of a task at its end.
    pub(super) fn finish(&self, output: Figures, wrote: bool, memory_peak: u64) {
        self.switch(self.at_work.get());
        let mut operators = self.figures.take();
        let rest = operators.pop().unwrap_or_default();
        let output = Figures { rows: output.rows, bytes: output.bytes, ..rest };
        self.metering.figures.add(vec![TaskFigures {
            stage: self.metering.stage,
            wrote,
            nanos: self.started.elapsed().as_nanos() as u64,
            memory_peak,
            operators,
            output,
        }]);
    }
}
