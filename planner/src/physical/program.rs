//! Expressions as they are run: flat, typed, with columns by position.
//!
//! A [`Program`] is a DAG in evaluation order: each expression refers to earlier ones by their place, so that
//! equal parts are there once, and nothing that walks it recurses. All implicit casts have been made explicit: both
//! sides of a binary operation have one type. Excepted are shifts, arithmetic of decimals, which keep their own
//! precision and scale (the result's are those of the expression), and that of dates and intervals, where a date or
//! timestamp is the left side unless both are.

use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::expr::{BinaryOp, Scalar, ScalarFn, Udf, UnaryOp};

/// The place of an expression in its program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ExprId(pub u32);

/// Expressions over the columns of one input, and which of them are wanted.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// Each after those it refers to.
    pub nodes: Vec<PhysicalExpr>,
    /// What is wanted, in order.
    pub roots: Vec<ExprId>,
}

/// One expression.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PhysicalExpr {
    /// What it does.
    pub op: ExprOp,
    /// Its type.
    pub data_type: DataType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// What an expression does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ExprOp {
    /// A column of the input.
    Column(u32),
    /// A value.
    Literal(Scalar),
    /// On one value.
    Unary(UnaryOp, ExprId),
    /// On two values of one type.
    Binary(BinaryOp, ExprId, ExprId),
    /// Three-valued AND. Later terms are evaluated for the rows that earlier ones leave open only, if they can fail.
    And(Vec<ExprId>),
    /// Three-valued OR, likewise.
    Or(Vec<ExprId>),
    /// A branch is evaluated for the rows that take it only.
    Case {
        /// Conditions and values.
        branches: Vec<(ExprId, ExprId)>,
        /// If none holds.
        otherwise: Option<ExprId>,
    },
    /// As the type of this expression.
    Cast {
        /// The value.
        expr: ExprId,
        /// Values that do not fit are NULL and not an error.
        lenient: bool,
    },
    /// Whether a value is one of constants, which have its type.
    InSet {
        /// The value.
        expr: ExprId,
        /// None of them NULL.
        set: Vec<Scalar>,
        /// Whether there was a NULL among them: what is not found is NULL then.
        has_null: bool,
        /// NOT IN.
        negated: bool,
    },
    /// SQL's LIKE.
    Like {
        /// The string.
        expr: ExprId,
        /// The pattern.
        pattern: ExprId,
        /// Makes the next character of the pattern stand for itself.
        escape: char,
        /// ILIKE.
        ignore_case: bool,
        /// NOT LIKE.
        negated: bool,
    },
    /// A built-in function. `Coalesce` evaluates as [`ExprOp::Case`] does.
    Call(ScalarFn, Vec<ExprId>),
    /// A function of the user's.
    Udf(Udf, Vec<ExprId>),
}

impl ExprOp {
    /// The expressions it refers to, in order.
    #[must_use]
    pub fn children(&self) -> Vec<ExprId> {
        match self {
            Self::Column(_) | Self::Literal(_) => Vec::new(),
            Self::Unary(_, expr) | Self::Cast { expr, .. } | Self::InSet { expr, .. } => {
                vec![*expr]
            }
            Self::Binary(_, left, right) => vec![*left, *right],
            Self::And(all) | Self::Or(all) | Self::Call(_, all) | Self::Udf(_, all) => all.clone(),
            Self::Case { branches, otherwise } => {
                branches.iter().flat_map(|(when, then)| [*when, *then]).chain(*otherwise).collect()
            }
            Self::Like { expr, pattern, .. } => vec![*expr, *pattern],
        }
    }
}

impl Program {
    /// The expression at a place of this program.
    #[must_use]
    pub fn get(&self, id: ExprId) -> Option<&PhysicalExpr> {
        self.nodes.get(id.0 as usize)
    }

    /// The input columns that are used, in increasing order.
    #[must_use]
    pub fn columns(&self) -> Vec<u32> {
        let column = |node: &PhysicalExpr| match node.op {
            ExprOp::Column(index) => Some(index),
            _ => None,
        };
        let mut columns: Vec<u32> = self.nodes.iter().filter_map(column).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// If it wants nothing but input columns: which.
    #[must_use]
    pub fn as_columns(&self) -> Option<Vec<u32>> {
        let column = |root: &ExprId| match self.get(*root)?.op {
            ExprOp::Column(index) => Some(index),
            _ => None,
        };
        self.roots.iter().map(column).collect()
    }
}
