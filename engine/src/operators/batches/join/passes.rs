//! Joining a part of the build side that does not fit and will not come apart, because one key has most of its rows: as much
//! of it as fits at a time, each time with all of the left side.

use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;

use super::bits::Bits;
use super::build::Loader;
use super::hybrid::{Group, Work, give, give_alone};
use super::partition::pieces;
use super::probe::Prober;
use crate::executor::TaskError;
use crate::operators::batches::BoxBatches;

/// Joins a group whose right rows are these. Each pass gives a run.
pub(super) fn join(
    work: &mut Work<'_>,
    group: &Group,
    right: &mut BoxBatches,
) -> Result<(), TaskError> {
    let mut matched = Bits::new(0);
    let (mut rows, mut ended) = (0, false);
    while !ended {
        let mut loader = Loader::new(work.plan, &work.right);
        ended = loader.load(work.task, right.as_mut())?;
        let (built, gives) = (Arc::new(loader.finish()?), work.plan.gives.without_left());
        let mut prober = Prober::new(work.plan, gives, &work.left, built);
        let mut run = work.runs.begin()?;
        let mut left = group.left(work.task)?;
        let mut first = 0;
        while let Some(batch) = left.next()? {
            for batch in pieces(&batch, work.plan.rows_max) {
                matched.grow((first + batch.num_rows()).saturating_sub(rows));
                rows = rows.max(first + batch.num_rows());
                prober.start(batch)?;
                give(&mut prober, &mut run)?;
                let found = prober.matched();
                (0..found.len()).filter(|row| found[*row]).for_each(|row| matched.set(first + row));
                first += found.len();
            }
        }
        give_alone(&mut prober, &mut run)?;
        drop(prober);
        work.runs.add(run)?;
    }
    match work.plan.gives.follows_left() {
        true => give_left(work, group, &matched),
        false => Ok(()),
    }
}

/// Gives the left rows by what all passes have found. None of their keys is NULL.
fn give_left(work: &mut Work<'_>, group: &Group, matched: &Bits) -> Result<(), TaskError> {
    let mut run = work.runs.begin()?;
    let mut left = group.left(work.task)?;
    let mut first = 0;
    while let Some(batch) = left.next()? {
        let wanted = |row: usize| matched.get(first + row) == work.plan.gives.left_matched;
        let wanted: Vec<bool> = (0..batch.num_rows()).map(wanted).collect();
        first += batch.num_rows();
        let batch = filter_record_batch(&batch, &BooleanArray::from(wanted));
        for batch in pieces(&batch?, work.plan.rows_max) {
            let all: Vec<u32> = (0..batch.num_rows() as u32).collect();
            run.write(&work.plan.give(&batch, &work.left, &all, None)?)?;
        }
    }
    work.runs.add(run)
}
