//! How the tests of the functions call them: one row of values, in every form in which it can come.

use arrow::array::Array;
use arrow::datatypes::DataType;
use millstream_planner::expr::{Scalar, ScalarFn};

use super::error::EvalError;
use super::functions::{call, prepare};
use super::scalar::{from_array, to_array, to_column};
use super::value::Value;

/// Values as arguments.
macro_rules! row {
    ($($value:expr),* $(,)?) => { &[$(millstream_planner::expr::Scalar::from($value)),*] };
}
pub(super) use row;

/// Asserts what a function gives.
#[track_caller]
pub(super) fn check(function: ScalarFn, args: &[Scalar], expected: impl Into<Scalar>) {
    let expected = expected.into();
    let given = value(function, args, &expected.data_type());
    assert_eq!(given, Ok(expected), "{}{args:?}", function.name());
}

/// Asserts that a function fails, and a part of what it says.
#[track_caller]
pub(super) fn fails(function: ScalarFn, args: &[Scalar], result: &DataType, message: &str) {
    let error = value(function, args, result).expect_err("it does not fail");
    assert!(error.contains(message), "{}{args:?}: {error}", function.name());
}

/// What a function gives, as a column between other rows, with constant arguments after the first, and with
/// constants only.
#[track_caller]
pub(super) fn value(
    function: ScalarFn,
    args: &[Scalar],
    result: &DataType,
) -> Result<Scalar, String> {
    let columns = evaluate(function, args, result, args.len());
    let first = evaluate(function, args, result, 1);
    let constants = evaluate(function, args, result, 0);
    assert_eq!(columns, first, "with constants: {}{args:?}", function.name());
    assert_eq!(columns, constants, "constants only: {}{args:?}", function.name());
    columns
}

/// The value with so many arguments as columns: a row of NULLs, then `args` twice, cut from a longer column.
fn evaluate(
    function: ScalarFn,
    args: &[Scalar],
    result: &DataType,
    columns: usize,
) -> Result<Scalar, String> {
    let given = |(position, scalar): (usize, &Scalar)| {
        if position >= columns {
            return Ok(Value::Constant(to_array(scalar)?));
        }
        let data_type = scalar.data_type();
        let null = || Scalar::Null(data_type.clone());
        let rows = [null(), null(), scalar.clone(), scalar.clone(), null()];
        Ok(Value::Array(to_column(&rows, &data_type)?.slice(1, 3)))
    };
    let text = |error: EvalError| error.to_string();
    let values: Vec<Value> =
        args.iter().enumerate().map(given).collect::<Result<_, EvalError>>().map_err(text)?;
    let known: Vec<Option<&Scalar>> = args
        .iter()
        .enumerate()
        .map(|(position, scalar)| (position >= columns).then_some(scalar))
        .collect();
    let rows = if columns == 0 { 1 } else { 3 };
    let prepared = prepare(function, &known).map_err(text)?;
    let out = call(function, &values, rows, result, prepared.as_ref()).map_err(text)?;
    assert_eq!(out.data_type(), result);
    let array = out.array();
    if let Value::Array(array) = &out {
        assert_eq!(array.len(), rows);
    }
    let last = array.len() - 1;
    let value = from_array(array.as_ref(), last).map_err(text)?;
    if rows == 3 && !out.is_constant() {
        assert_eq!(from_array(array.as_ref(), 1).map_err(text)?, value);
    }
    Ok(value)
}
