//! The 22 queries of TPC-H, with the parameters of its validation runs, as frames.
//!
//! Correlated sub-queries are written as what they mean: a join with an aggregate of the inner side, or a semi or anti
//! join. A scalar sub-query is a cross join with its one row.

mod first;
mod second;
mod third;

use millstream::DataFrame;
use millstream::functions::{Expr, col, lit};

use super::Tables;

/// A query.
pub type Query = fn(&Tables) -> DataFrame;

/// All queries, from Q1 on.
pub const QUERIES: [Query; 22] = [
    first::q1,
    first::q2,
    first::q3,
    first::q4,
    first::q5,
    first::q6,
    first::q7,
    first::q8,
    second::q9,
    second::q10,
    second::q11,
    second::q12,
    second::q13,
    second::q14,
    second::q15,
    second::q16,
    third::q17,
    third::q18,
    third::q19,
    third::q20,
    third::q21,
    third::q22,
];

/// What a line item brings in.
fn revenue() -> Expr {
    col("l_extendedprice") * (lit(1) - col("l_discount"))
}

/// `column` is in the range of dates `[from, to)`.
fn dated(column: &str, from: &str, to: &str) -> Expr {
    col(column).gt_eq(lit(from)).and(col(column).lt(lit(to)))
}
