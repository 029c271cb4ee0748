//! CASE and `coalesce`: each row takes one branch.

use arrow::buffer::BooleanBuffer;
use arrow::compute::is_not_null;
use arrow::datatypes::DataType;
use millstream_planner::physical::ExprId;

use super::cast;
use super::cost::Cost;
use super::error::EvalError;
use super::evaluator::Run;
use super::logic::is_true;
use super::merge::{Piece, merge};
use super::rows::Rows;
use super::value::Value;

/// Rows on their way through branches, and what they have taken.
struct Branches {
    depth: usize,
    rows: Rows,
    /// Rows of all that have taken no branch.
    open: BooleanBuffer,
    pieces: Vec<Piece>,
}

impl Run<'_> {
    pub(super) fn case(
        &mut self,
        branches: &[(ExprId, ExprId)],
        otherwise: Option<ExprId>,
        result: &DataType,
    ) -> Result<Value, EvalError> {
        let mut state = self.branches();
        for (when, then) in branches {
            self.narrow_for(&mut state, *when);
            let holds = is_true(&self.boolean(*when)?);
            let taken = &state.rows.mask(holds) & &state.open;
            self.take(&mut state, *then, taken, result)?;
            if state.open.count_set_bits() == 0 {
                break;
            }
        }
        if let Some(otherwise) = otherwise {
            let rest = state.open.clone();
            self.take(&mut state, otherwise, rest, result)?;
        }
        self.finish(state, result)
    }

    /// The first value that is not NULL.
    pub(super) fn coalesce(
        &mut self,
        args: &[ExprId],
        result: &DataType,
    ) -> Result<Value, EvalError> {
        let mut state = self.branches();
        for arg in args {
            if state.open.count_set_bits() == 0 {
                break;
            }
            self.narrow_for(&mut state, *arg);
            let value = self.value(*arg)?;
            if value.is_null_constant() {
                continue;
            }
            let found = match &value {
                Value::Constant(_) => state.open.clone(),
                Value::Array(array) => {
                    &state.rows.mask(is_not_null(array)?.values().clone()) & &state.open
                }
            };
            self.take(&mut state, *arg, found, result)?;
        }
        self.finish(state, result)
    }

    fn branches(&self) -> Branches {
        let rows = self.selections.rows();
        Branches {
            depth: self.selections.depth(),
            rows: Rows::all(rows),
            open: BooleanBuffer::new_set(rows),
            pieces: Vec::new(),
        }
    }

    /// Selects the open rows alone before something is evaluated that can fail.
    fn narrow_for(&mut self, state: &mut Branches, id: ExprId) {
        let open = state.open.count_set_bits();
        if self.cost(id) == Cost::Fails && open < state.rows.len() {
            let mask = state.rows.narrow(&state.open);
            self.selections.narrow(&mask);
        }
    }

    /// Gives the value of a branch to the rows that take it.
    fn take(
        &mut self,
        state: &mut Branches,
        id: ExprId,
        taken: BooleanBuffer,
        result: &DataType,
    ) -> Result<(), EvalError> {
        let count = taken.count_set_bits();
        if count == 0 {
            return Ok(());
        }
        let (selected, all) = (state.rows.len(), state.open.len());
        let everywhere = selected == all && self.cost(id) != Cost::Fails;
        let value = if everywhere || count == selected {
            self.value(id)?
        } else {
            let depth = self.selections.depth();
            self.selections.narrow(&state.rows.among(&taken));
            let value = self.value(id)?;
            self.selections.widen(depth);
            value
        };
        let value = value.map(|array| cast::cast(array, result, false))?;
        state.open = &state.open & &!&taken;
        state.pieces.push(Piece { value, rows: taken, by_rank: !everywhere });
        Ok(())
    }

    fn finish(&mut self, state: Branches, result: &DataType) -> Result<Value, EvalError> {
        self.selections.widen(state.depth);
        merge(state.pieces, self.selections.rows(), result)
    }
}
