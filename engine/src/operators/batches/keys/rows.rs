//! Values of any type as bytes that are ordered and equal as they are.

use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};

/// The encoding of the values of a type. NULL is smallest; floats are as `total_cmp` has them.
pub(crate) struct RowCoder {
    converter: RowConverter,
    /// The bytes of NULL.
    null: Vec<u8>,
}

impl RowCoder {
    /// For values of a type.
    pub(crate) fn new(data_type: &DataType) -> Result<Self, ArrowError> {
        let converter = RowConverter::new(vec![SortField::new(data_type.clone())])?;
        let null = converter.convert_columns(&[new_null_array(data_type, 1)])?;
        let null = null.row(0).data().to_vec();
        Ok(Self { converter, null })
    }

    /// The bytes of each value.
    pub(crate) fn encode(&self, values: &ArrayRef) -> Result<Rows, ArrowError> {
        self.converter.convert_columns(std::slice::from_ref(values))
    }

    /// Values from their bytes; `None` is NULL.
    pub(crate) fn decode<'a>(
        &'a self,
        rows: impl Iterator<Item = Option<&'a [u8]>>,
    ) -> Result<ArrayRef, ArrowError> {
        let parser = self.converter.parser();
        let rows = rows.map(|row| parser.parse(row.unwrap_or(&self.null)));
        let column = self.converter.convert_rows(rows)?.pop();
        column.ok_or_else(|| ArrowError::ComputeError("no column was encoded".to_owned()))
    }
}
