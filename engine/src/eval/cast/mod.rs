//! Values as values of another type.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::error::EvalError;

/// A column as another type. Values that do not fit are an error, or NULL where `lenient`.
pub(crate) fn cast(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef, EvalError> {
    let options = arrow::compute::CastOptions { safe: lenient, ..Default::default() };
    Ok(arrow::compute::cast_with_options(array, to, &options)?)
}
