//! Counting.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::Int64Type;

use super::accumulator::Accumulator;
use crate::eval::EvalError;

/// Rows without a NULL among the arguments.
#[derive(Default)]
pub(super) struct Count {
    counts: Counts,
}

impl Accumulator for Count {
    fn resize(&mut self, groups: usize) {
        self.counts.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        let nulls = args.iter().fold(None, |nulls: Option<NullBuffer>, arg| {
            NullBuffer::union(nulls.as_ref(), arg.logical_nulls().as_ref())
        });
        self.counts.update(groups, nulls.as_ref());
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.counts.merge(groups, &states[0]);
        Ok(())
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(vec![self.counts.states(groups)])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        Ok(self.counts.states(groups))
    }

    fn bytes(&self) -> usize {
        self.counts.bytes()
    }
}

/// Numbers of rows by group.
#[derive(Default)]
pub(super) struct Counts(Vec<i64>);

impl Counts {
    pub(super) fn resize(&mut self, groups: usize) {
        self.0.resize(groups, 0);
    }

    /// Counts the rows that are not NULL.
    pub(super) fn update(&mut self, groups: &[u32], nulls: Option<&NullBuffer>) {
        match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => groups.iter().for_each(|group| self.0[*group as usize] += 1),
            Some(nulls) => {
                for (group, valid) in groups.iter().zip(nulls) {
                    self.0[*group as usize] += i64::from(valid);
                }
            }
        }
    }

    pub(super) fn merge(&mut self, groups: &[u32], counts: &ArrayRef) {
        for (group, count) in groups.iter().zip(counts.as_primitive::<Int64Type>().values()) {
            self.0[*group as usize] += count;
        }
    }

    pub(super) fn states(&self, groups: &[u32]) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(groups.iter().map(|group| self.get(*group))))
    }

    #[inline]
    pub(super) fn get(&self, group: u32) -> i64 {
        self.0[group as usize]
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<i64>()
    }
}
