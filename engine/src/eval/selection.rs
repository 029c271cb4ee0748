//! Which rows of a batch an expression is evaluated for, and what has been evaluated for them.
//!
//! Selections are a stack: each narrows the one below it. A value that is known for more rows is filtered, not
//! computed again.

use std::collections::HashMap;

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::compute::{FilterBuilder, FilterPredicate};
use millstream_planner::physical::ExprId;

use super::error::EvalError;
use super::value::Value;

/// Rows, and the values known for them.
struct Level {
    rows: usize,
    /// Of the rows of the level below.
    filter: FilterPredicate,
    values: HashMap<ExprId, Value, ahash::RandomState>,
}

/// The stack of selections: the last is the one that is evaluated for.
pub(super) struct Selections {
    /// What is known for all rows, by node: the bottom of the stack.
    all: Vec<Option<Value>>,
    levels: Vec<Level>,
    batch_rows: usize,
}

impl Selections {
    pub(super) fn new(nodes: usize, batch_rows: usize) -> Self {
        Self { all: vec![None; nodes], levels: Vec::new(), batch_rows }
    }

    /// How often the rows have been narrowed.
    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Selected rows.
    pub(super) fn rows(&self) -> usize {
        self.levels.last().map_or(self.batch_rows, |level| level.rows)
    }

    /// Narrows the rows to those for which the mask is set.
    pub(super) fn narrow(&mut self, mask: &BooleanBuffer) {
        let rows = mask.count_set_bits();
        let filter = FilterBuilder::new(&BooleanArray::new(mask.clone(), None)).optimize().build();
        self.levels.push(Level { rows, filter, values: HashMap::default() });
    }

    /// Goes back to an earlier depth.
    pub(super) fn widen(&mut self, depth: usize) {
        self.levels.truncate(depth);
    }

    /// What is known of a node for the selected rows.
    pub(super) fn get(&mut self, id: ExprId) -> Result<Option<Value>, EvalError> {
        let known = self.levels.iter().rposition(|level| level.values.contains_key(&id));
        let (value, above) = match known {
            Some(level) => (self.levels[level].values.get(&id), level + 1),
            None => (self.all[id.0 as usize].as_ref(), 0),
        };
        let Some(mut value) = value.cloned() else { return Ok(None) };
        if value.is_constant() || above == self.levels.len() {
            return Ok(Some(value));
        }
        for level in &self.levels[above..] {
            value = Value::Array(level.filter.filter(value.array())?);
        }
        self.put(id, value.clone());
        Ok(Some(value))
    }

    /// Makes a value known for the selected rows.
    pub(super) fn put(&mut self, id: ExprId, value: Value) {
        match self.levels.last_mut() {
            Some(level) => {
                level.values.insert(id, value);
            }
            None => self.all[id.0 as usize] = Some(value),
        }
    }

    /// Makes a value known for all rows of the batch.
    pub(super) fn put_for_all(&mut self, id: ExprId, value: Value) {
        self.all[id.0 as usize] = Some(value);
    }
}
