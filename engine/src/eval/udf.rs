//! Functions of the user's: how they are called, and what holds of their results.

use arrow::array::{Array, ArrayRef};
use millstream_planner::expr::Udf;

use super::cast;
use super::error::EvalError;
use super::value::Value;

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
    Err(EvalError::Udf { name: function.name.to_string(), why: "no code".to_owned() })
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
