//! Why an expression has no value for a row. Messages hold the row's values and say what to do.

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
pub(crate) use millstream_planner::expr::type_name;
use thiserror::Error;

use crate::executor::TaskError;

/// Why an expression cannot be evaluated.
#[derive(Debug, Error)]
pub(crate) enum EvalError {
    /// A result that its type cannot hold.
    #[error("{operation} does not fit into {}{}", type_name(.data_type), advice(.instead))]
    Overflow {
        /// With the values: `9223372036854775807 + 1`.
        operation: String,
        /// The type of the result.
        data_type: DataType,
        /// What gives NULL instead, such as `try_add`.
        instead: Option<&'static str>,
    },
    /// A division, or remainder, by zero.
    #[error("division by zero: {operation}{}", advice(.instead))]
    DivisionByZero {
        /// With the values: `7 / 0`.
        operation: String,
        /// What gives NULL instead, such as `try_divide`.
        instead: Option<&'static str>,
    },
    /// A value that another type cannot hold, or a string that does not say one.
    #[error("cannot cast {value} of type {} to {}: try_cast gives NULL for it", type_name(.from), type_name(.to))]
    Cast {
        /// The value, strings in quotes.
        value: String,
        /// Its type.
        from: DataType,
        /// The type that was wanted.
        to: DataType,
    },
    /// An argument that a function cannot take.
    #[error("{function}: {why}")]
    Argument {
        /// The name of the function.
        function: &'static str,
        /// Which argument, its value, and what would be right.
        why: String,
    },
    /// A function of the user's failed.
    #[error("the function {name} failed: {why}")]
    Udf {
        /// Its name.
        name: String,
        /// What it said.
        why: String,
    },
    /// An operation that does not exist for its types, which the planner should have refused.
    #[error("there is no {what}")]
    Unsupported {
        /// Operation and types.
        what: String,
    },
    /// A kernel of Arrow's refused.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl EvalError {
    pub(crate) fn argument(function: &'static str, why: impl Into<String>) -> Self {
        Self::Argument { function, why: why.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }
}

impl From<EvalError> for TaskError {
    fn from(error: EvalError) -> Self {
        Self::Data(error.to_string())
    }
}

fn advice(instead: &Option<&'static str>) -> String {
    instead.map_or_else(String::new, |instead| format!(" ({instead} gives NULL for it)"))
}
