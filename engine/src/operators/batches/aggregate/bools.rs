//! Whether all, or any, values are true; and the least and the largest of truth values, which is the same.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};

use super::accumulator::Accumulator;
use crate::eval::{EvalError, truth};

/// All or any by group.
pub(super) struct Bools {
    values: Vec<Option<bool>>,
    /// One of this value decides.
    decisive: bool,
}

impl Bools {
    pub(super) fn all() -> Self {
        Self { values: Vec::new(), decisive: false }
    }

    pub(super) fn any() -> Self {
        Self { values: Vec::new(), decisive: true }
    }
}

impl Accumulator for Bools {
    fn resize(&mut self, groups: usize) {
        self.values.resize(groups, None);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        for (group, value) in groups.iter().zip(&truth(&args[0])?) {
            let known = &mut self.values[*group as usize];
            if value.is_some() && *known != Some(self.decisive) {
                *known = value;
            }
        }
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.update(groups, states)
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(vec![self.finish(groups)?])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let values = groups.iter().map(|group| self.values[*group as usize]);
        Ok(Arc::new(BooleanArray::from_iter(values)))
    }

    fn bytes(&self) -> usize {
        self.values.capacity()
    }
}
