//! Columns, values and functions, from which expressions are built.
//!
//! ```
//! use millstream::functions::{col, lit, sum, when};
//!
//! let revenue = col("price") * (lit(1) - col("discount"));
//! let large = sum(when(col("pieces").gt(10), revenue).otherwise(0)).alias("large");
//! ```

pub use millstream_planner::expr::functions_api::*;
pub use millstream_planner::expr::{
    ColumnName, Expr, Frame, FrameBound, FrameUnit, IntoColumn, Scalar, ScalarType, SortKey, When,
    WindowSpec, col, date, decimal, following, interval_days, interval_hours, interval_minutes,
    interval_months, interval_seconds, interval_years, lit, preceding, timestamp, when, window,
};
