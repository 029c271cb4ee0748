//! Lists of columns, as methods take them.

use millstream_planner::expr::{Expr, IntoColumn};

/// Several columns: a list of names or expressions.
pub trait IntoColumns {
    /// The expressions.
    fn into_columns(self) -> Vec<Expr>;
}

impl<I: IntoIterator<Item: IntoColumn>> IntoColumns for I {
    fn into_columns(self) -> Vec<Expr> {
        self.into_iter().map(IntoColumn::into_column).collect()
    }
}
