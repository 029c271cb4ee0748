//! What an expression gives for a batch: a column, or one value for all of its rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Datum, UInt32Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::DataType;

use super::error::EvalError;

/// A column, or one value for all rows. Arrow's kernels take it as it is.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// One value a row.
    Array(ArrayRef),
    /// One value for every row: an array of length 1.
    Constant(ArrayRef),
}

impl Value {
    /// A column.
    pub(crate) fn of(array: impl Array + 'static) -> Self {
        Self::Array(Arc::new(array))
    }

    /// NULL for every row.
    pub(crate) fn null(data_type: &DataType) -> Self {
        Self::Constant(new_null_array(data_type, 1))
    }

    pub(crate) fn data_type(&self) -> &DataType {
        self.array().data_type()
    }

    pub(crate) fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    /// Whether it is NULL for every row since it is the constant NULL.
    pub(crate) fn is_null_constant(&self) -> bool {
        matches!(self, Self::Constant(array) if array.is_null(0))
    }

    /// The column, or the array of length 1 that holds the constant.
    pub(crate) fn array(&self) -> &ArrayRef {
        match self {
            Self::Array(array) | Self::Constant(array) => array,
        }
    }

    /// Where in [`Self::array`] the value of a row is.
    pub(crate) fn index(&self, row: usize) -> usize {
        match self {
            Self::Array(_) => row,
            Self::Constant(_) => 0,
        }
    }

    /// A column of so many rows.
    pub(crate) fn into_array(self, rows: usize) -> Result<ArrayRef, EvalError> {
        match self {
            Self::Array(array) => Ok(array),
            Self::Constant(array) if rows == 1 => Ok(array),
            Self::Constant(array) if array.is_null(0) => {
                Ok(new_null_array(array.data_type(), rows))
            }
            Self::Constant(array) => Ok(take(&array, &UInt32Array::from_value(0, rows), None)?),
        }
    }

    /// The same kind of value with another array: a constant stays one.
    pub(crate) fn map<E>(
        &self,
        with: impl FnOnce(&ArrayRef) -> Result<ArrayRef, E>,
    ) -> Result<Self, E> {
        Ok(match self {
            Self::Array(array) => Self::Array(with(array)?),
            Self::Constant(array) => Self::Constant(with(array)?),
        })
    }
}

impl Datum for Value {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array().as_ref(), self.is_constant())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array, StringViewArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn a_constant_becomes_a_column_of_any_length() {
        for rows in [0, 1, 5] {
            let five = Value::Constant(Arc::new(Int64Array::from(vec![5])));
            let column = five.into_array(rows).unwrap();
            assert_eq!(column.as_primitive::<Int64Type>(), &Int64Array::from(vec![5; rows]));
            let null = Value::null(&DataType::Utf8View).into_array(rows).unwrap();
            assert_eq!(null.as_string_view(), &StringViewArray::new_null(rows));
        }
    }
}
