//! Expressions over columns by name, as a program writes them. Types and columns are resolved later
//! (`logical`), and what is run is another form (`physical`): flat, typed, with columns by position.
//!
//! Semantics follow Spark 4 in ANSI mode where SQL leaves a choice.

mod build;
mod display;
mod functions;
pub mod functions_api;
mod node;
mod operators;
mod over;
mod scalar;
mod walk;

use std::sync::Arc;

use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

pub use build::{
    IntoColumn, When, col, date, decimal, following, interval_days, interval_hours,
    interval_minutes, interval_months, interval_seconds, interval_years, lit, preceding, timestamp,
    when, window,
};
pub use display::type_name;
pub use functions::{AggregateFn, ScalarFn, WindowFn};
pub use node::{ExprRef, deeper};
pub use scalar::{Scalar, ScalarType};
pub(crate) use walk::rewrite_up;
pub use walk::{any, fields, map_fields, rewrite, try_rewrite};

/// An expression: a value for each row.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A column by name.
    Column(ColumnName),
    /// A column by position: what names become when a plan is built.
    Field(u32),
    /// All columns, or all of one side (`l.*`), in a selection.
    Wildcard {
        /// The side.
        qualifier: Option<Arc<str>>,
    },
    /// A value.
    Literal(Scalar),
    /// Another name for the same value.
    Alias {
        /// The value.
        expr: ExprRef,
        /// Its name.
        name: Arc<str>,
    },
    /// An operation on one value.
    Unary {
        /// Which.
        op: UnaryOp,
        /// On what.
        expr: ExprRef,
    },
    /// An operation on two values.
    Binary {
        /// Which.
        op: BinaryOp,
        /// On what.
        left: ExprRef,
        /// And what.
        right: ExprRef,
    },
    /// All of these hold (three-valued AND). Flat, so that long ones stay shallow.
    And(Vec<ExprRef>),
    /// One of these holds (three-valued OR).
    Or(Vec<ExprRef>),
    /// The value of the first branch whose condition holds.
    Case {
        /// Conditions and values, by turns.
        branches: Vec<(ExprRef, ExprRef)>,
        /// If none holds; NULL where absent.
        otherwise: Option<ExprRef>,
    },
    /// The value as another type.
    Cast {
        /// The value.
        expr: ExprRef,
        /// The type.
        to: DataType,
        /// Values that do not fit are NULL and not an error.
        lenient: bool,
    },
    /// Whether the value is one of these.
    InList {
        /// The value.
        expr: ExprRef,
        /// These.
        list: Vec<ExprRef>,
        /// NOT IN.
        negated: bool,
    },
    /// Whether a string matches an SQL pattern (`%` any characters, `_` one).
    Like {
        /// The string.
        expr: ExprRef,
        /// The pattern.
        pattern: ExprRef,
        /// Makes the next character of the pattern stand for itself; `\` by default.
        escape: Option<char>,
        /// Without regard to case (ILIKE).
        ignore_case: bool,
        /// NOT LIKE.
        negated: bool,
    },
    /// A built-in function.
    Call {
        /// Which.
        function: ScalarFn,
        /// Of what.
        args: Vec<ExprRef>,
    },
    /// A function of the user's.
    Udf {
        /// Which.
        udf: Udf,
        /// Of what.
        args: Vec<ExprRef>,
    },
    /// An aggregate: one value for many rows.
    Aggregate {
        /// Which.
        function: AggregateFn,
        /// Of what; none for `count(*)`.
        args: Vec<ExprRef>,
        /// Each different value once.
        distinct: bool,
        /// Of the rows for which this holds.
        filter: Option<ExprRef>,
    },
    /// A function of the rows around a row.
    Window {
        /// Which.
        function: WindowFn,
        /// Of what.
        args: Vec<ExprRef>,
        /// Over which rows.
        window: WindowSpec,
        /// Passes over NULL arguments (`lag`, `lead`, first, last and nth value).
        ignore_nulls: bool,
    },
}

/// The name of a column, with the alias of the side it is of where that was said.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ColumnName {
    /// The side, from `DataFrame::alias`.
    pub qualifier: Option<Arc<str>>,
    /// The name.
    pub name: Arc<str>,
}

/// Operations on one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum UnaryOp {
    /// NOT; NULL stays NULL.
    Not,
    /// `-x`.
    Negate,
    /// IS NULL.
    IsNull,
    /// IS NOT NULL.
    IsNotNull,
    /// Whether it is a NaN; NULL for NULL.
    IsNan,
}

/// Operations on two values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`; of integers, a double.
    Divide,
    /// Whole-number division, towards zero.
    IntegerDivide,
    /// The remainder, with the sign of the dividend.
    Remainder,
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
    /// `<=>`: equal, or both NULL. Never NULL.
    NullSafeEq,
    /// `&` of the bits.
    BitAnd,
    /// `|` of the bits.
    BitOr,
    /// `^` of the bits.
    BitXor,
    /// The bits moved up.
    ShiftLeft,
    /// The bits moved down, with the sign.
    ShiftRight,
}

impl BinaryOp {
    /// Whether it gives a truth value.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Eq
                | Self::NotEq
                | Self::Lt
                | Self::LtEq
                | Self::Gt
                | Self::GtEq
                | Self::NullSafeEq
        )
    }
}

/// A function of the user's: its code and its types. The code's identity is the engine's business.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Udf {
    /// Its name in plans.
    pub name: Arc<str>,
    /// The identity of its code and its state, as the engine has encoded them.
    pub code: Arc<[u8]>,
    /// What it takes; arguments are cast to these.
    pub args: Vec<DataType>,
    /// What it gives.
    pub result: DataType,
    /// The same arguments give the same result.
    pub deterministic: bool,
}

/// One key of an order.
#[derive(Clone, PartialEq, Debug)]
pub struct SortKey {
    /// The value.
    pub expr: ExprRef,
    /// The largest first.
    pub descending: bool,
    /// Where NULLs go. Unless said otherwise, NULL is the smallest value.
    pub nulls_first: bool,
}

/// The rows that a window function sees.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WindowSpec {
    /// Rows with equal values of these are seen together; all rows where there are none.
    pub partition_by: Vec<ExprRef>,
    /// The order within.
    pub order_by: Vec<SortKey>,
    /// Which rows around the current one. By default all up to the peers of the current one where there is an
    /// order, and all where there is none.
    pub frame: Option<Frame>,
}

/// A frame: rows around the current one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// What bounds count.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: FrameBound,
    /// Where it ends, included.
    pub end: FrameBound,
}

/// What the bounds of a frame count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// The value of the one order key.
    Range,
    /// Groups of peers: rows with equal order keys.
    Groups,
}

/// One end of a frame.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum FrameBound {
    /// The first row of the partition.
    UnboundedPreceding,
    /// So much before; a number, or an interval for dates and timestamps.
    Preceding(Scalar),
    /// The current row; with [`FrameUnit::Range`] and [`FrameUnit::Groups`], its peers too.
    CurrentRow,
    /// So much after.
    Following(Scalar),
    /// The last row of the partition.
    UnboundedFollowing,
}

impl Expr {
    /// Whether it has no children.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        matches!(self, Self::Column(_) | Self::Field(_) | Self::Wildcard { .. } | Self::Literal(_))
    }

    /// Its children, in order.
    #[must_use]
    pub fn children(&self) -> Vec<&ExprRef> {
        match self {
            Self::Column(_) | Self::Field(_) | Self::Wildcard { .. } | Self::Literal(_) => {
                Vec::new()
            }
            Self::Alias { expr, .. } | Self::Unary { expr, .. } | Self::Cast { expr, .. } => {
                vec![expr]
            }
            Self::Binary { left, right, .. } => vec![left, right],
            Self::And(all) | Self::Or(all) => all.iter().collect(),
            Self::Case { branches, otherwise } => {
                branches.iter().flat_map(|(when, then)| [when, then]).chain(otherwise).collect()
            }
            Self::InList { expr, list, .. } => std::iter::once(expr).chain(list).collect(),
            Self::Like { expr, pattern, .. } => vec![expr, pattern],
            Self::Call { args, .. } | Self::Udf { args, .. } => args.iter().collect(),
            Self::Aggregate { args, filter, .. } => args.iter().chain(filter).collect(),
            Self::Window { args, window, .. } => {
                let order = window.order_by.iter().map(|key| &key.expr);
                args.iter().chain(&window.partition_by).chain(order).collect()
            }
        }
    }

    /// Its children, to be changed, in the same order.
    pub fn children_mut(&mut self) -> Vec<&mut ExprRef> {
        match self {
            Self::Column(_) | Self::Field(_) | Self::Wildcard { .. } | Self::Literal(_) => {
                Vec::new()
            }
            Self::Alias { expr, .. } | Self::Unary { expr, .. } | Self::Cast { expr, .. } => {
                vec![expr]
            }
            Self::Binary { left, right, .. } => vec![left, right],
            Self::And(all) | Self::Or(all) => all.iter_mut().collect(),
            Self::Case { branches, otherwise } => {
                branches.iter_mut().flat_map(|(when, then)| [when, then]).chain(otherwise).collect()
            }
            Self::InList { expr, list, .. } => std::iter::once(expr).chain(list).collect(),
            Self::Like { expr, pattern, .. } => vec![expr, pattern],
            Self::Call { args, .. } | Self::Udf { args, .. } => args.iter_mut().collect(),
            Self::Aggregate { args, filter, .. } => args.iter_mut().chain(filter).collect(),
            Self::Window { args, window, .. } => {
                let order = window.order_by.iter_mut().map(|key| &mut key.expr);
                args.iter_mut().chain(&mut window.partition_by).chain(order).collect()
            }
        }
    }
}
