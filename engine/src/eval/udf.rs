//! Functions of the user's: how they are called, and what holds of their results.

use arrow::array::{Array, ArrayRef};
use millstream_planner::expr::Udf;

use super::cast;
use super::error::EvalError;
use super::value::Value;
use crate::closure::{CodeError, Params};
use crate::dataframe::{UdfEntry, resolve_udf};

/// The code of a function.
pub(crate) trait UdfCode: Send + Sync {
    /// A value for each of `rows` rows; `args` have as many.
    ///
    /// # Errors
    /// What the function says.
    fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, String>;
}

/// The code of a function, from what has travelled of it.
pub(super) fn resolve(function: &Udf) -> Result<Box<dyn UdfCode>, EvalError> {
    let failed = |error: CodeError| EvalError::Udf {
        name: function.name.to_string(),
        why: error.to_string(),
    };
    let (call, state) = resolve_udf(&function.code).map_err(failed)?;
    Ok(Box::new(Closure { call, state }))
}

/// A closure of the user's with its state.
struct Closure {
    call: UdfEntry,
    state: Params,
}

impl UdfCode for Closure {
    fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, String> {
        (self.call)(&self.state, args, rows)
    }
}

/// Calls a function and checks what it gives.
pub(super) fn call(
    function: &Udf,
    code: &dyn UdfCode,
    args: &[Value],
    rows: usize,
) -> Result<Value, EvalError> {
    let failed = |why| EvalError::Udf { name: function.name.to_string(), why };
    let args = args.iter().map(|arg| arg.clone().into_array(rows));
    let args = args.collect::<Result<Vec<_>, _>>()?;
    let column = code.call(&args, rows).map_err(failed)?;
    if column.len() != rows {
        let why = format!("it gave {} values for {rows} rows: give one for each", column.len());
        return Err(failed(why));
    }
    if column.data_type() == &function.result {
        return Ok(Value::Array(column));
    }
    Ok(Value::Array(cast::cast(&column, &function.result, false)?))
}
