//! What columns may be given as: names or expressions.

use millstream_planner::expr::{Expr, col};

/// A column: a name, or an expression.
pub trait IntoColumn {
    /// The expression.
    fn into_column(self) -> Expr;
}

impl IntoColumn for Expr {
    fn into_column(self) -> Expr {
        self
    }
}

impl IntoColumn for &Expr {
    fn into_column(self) -> Expr {
        self.clone()
    }
}

impl IntoColumn for &str {
    fn into_column(self) -> Expr {
        col(self)
    }
}

impl IntoColumn for String {
    fn into_column(self) -> Expr {
        col(&self)
    }
}

impl IntoColumn for &String {
    fn into_column(self) -> Expr {
        col(self)
    }
}

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
