//! What an aggregate keeps of its groups.

use arrow::array::ArrayRef;

use crate::eval::EvalError;

/// The states of one aggregate for all groups, by their numbers. NULLs are passed over, unless an aggregate says
/// otherwise.
pub(in crate::operators::batches) trait Accumulator {
    /// Makes room for groups up to this number. A new group has seen nothing.
    fn resize(&mut self, groups: usize);

    /// Adds rows, each to the group beside it.
    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError>;

    /// Adds states of other tables, each to the group beside it. States of one group come in the order of their rows.
    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError>;

    /// The states of some groups: columns of the types that the planner gives for them. What has seen the same rows
    /// has the same state, in whatever parts they came.
    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError>;

    /// The results of some groups.
    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError>;

    /// How many values are kept of each group, where these are without bound: groups are given and spilled in parts
    /// whose size they decide.
    fn weights(&self) -> Option<&[u32]> {
        None
    }

    /// Bytes held.
    fn bytes(&self) -> usize;
}
