//! AND and OR in three-valued logic, over the rows that earlier terms leave open.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::boolean::{and_kleene, or_kleene};
use millstream_planner::physical::ExprId;

use super::cost::Cost;
use super::error::{EvalError, type_name};
use super::evaluator::Run;
use super::rows::Rows;
use super::value::Value;

/// A costly term is evaluated for open rows alone where at most one in so many is open.
const NARROW_BELOW: usize = 4;

/// Values as conditions: NULLs without a type are some too.
pub(crate) fn truth(array: &ArrayRef) -> Result<BooleanArray, EvalError> {
    match array.as_boolean_opt() {
        Some(condition) => Ok(condition.clone()),
        None if array.data_type().is_null() => Ok(BooleanArray::new_null(array.len())),
        None => {
            Err(EvalError::unsupported(format!("condition of {}", type_name(array.data_type()))))
        }
    }
}

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Junction {
    And,
    Or,
}

impl Junction {
    /// Rows whose answer later terms may still change.
    fn open(self, so_far: &BooleanArray) -> BooleanBuffer {
        let settled = match self {
            Self::And => is_false(so_far),
            Self::Or => is_true(so_far),
        };
        !&settled
    }

    fn join(self, left: &BooleanArray, right: &BooleanArray) -> Result<BooleanArray, EvalError> {
        Ok(match self {
            Self::And => and_kleene(left, right)?,
            Self::Or => or_kleene(left, right)?,
        })
    }
}

/// The rows for which a condition holds.
pub(super) fn is_true(condition: &BooleanArray) -> BooleanBuffer {
    match condition.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => condition.values() & nulls.inner(),
        None => condition.values().clone(),
    }
}

fn is_false(condition: &BooleanArray) -> BooleanBuffer {
    let unset = !condition.values();
    match condition.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => &unset & nulls.inner(),
        None => unset,
    }
}

impl Run<'_> {
    /// All of the terms, or one of them.
    pub(super) fn junction(
        &mut self,
        terms: &[ExprId],
        junction: Junction,
    ) -> Result<Value, EvalError> {
        let depth = self.selections.depth();
        let mut rows = Rows::all(self.selections.rows());
        let mut so_far: Option<BooleanArray> = None;
        for term in terms {
            if let Some(so_far) = &so_far {
                let open = junction.open(so_far);
                let (left, cost) = (open.count_set_bits(), self.cost(*term));
                if left == 0 {
                    break;
                }
                let worth = cost == Cost::Costly && left * NARROW_BELOW <= rows.len();
                if (cost == Cost::Fails || worth) && left < rows.len() {
                    let mask = rows.narrow(&open);
                    self.selections.narrow(&mask);
                }
            }
            let value = self.boolean(*term)?;
            so_far = Some(match so_far {
                None => value,
                Some(before) => {
                    let neutral = junction == Junction::And;
                    junction.join(&before, &rows.spread(value, neutral))?
                }
            });
        }
        self.selections.widen(depth);
        let empty = || BooleanArray::from(vec![junction == Junction::And; self.selections.rows()]);
        Ok(Value::of(so_far.unwrap_or_else(empty)))
    }

    /// A condition for the selected rows.
    pub(super) fn boolean(&mut self, id: ExprId) -> Result<BooleanArray, EvalError> {
        let column: ArrayRef = self.value(id)?.into_array(self.selections.rows())?;
        match column.as_boolean_opt() {
            Some(condition) => Ok(condition.clone()),
            // An untyped NULL.
            None if column.null_count() == column.len() || column.data_type().is_null() => {
                Ok(BooleanArray::new_null(column.len()))
            }
            None => Err(EvalError::unsupported(format!("condition of {}", column.data_type()))),
        }
    }
}
