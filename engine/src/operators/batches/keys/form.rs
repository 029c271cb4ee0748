//! The form in which equal keys have equal bits: one NaN, no -0.0, strings and bytes as views, anything
//! nested as the bytes of its encoded rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::rows::RowCoder;
use crate::eval::canonical_floats;

/// How the key columns of some types are brought into that form, and back.
pub(crate) struct KeyForm {
    columns: Vec<Column>,
}

struct Column {
    given: DataType,
    form: Form,
}

enum Form {
    /// As it is, but for the floats.
    Same,
    /// As another type.
    Cast(DataType),
    /// The encoded row of each value.
    Rows(RowCoder),
    /// NULLs without a type.
    Null,
}

impl KeyForm {
    /// For keys of these types.
    pub(crate) fn new<'a>(
        types: impl IntoIterator<Item = &'a DataType>,
    ) -> Result<Self, ArrowError> {
        let column = |given: &DataType| Ok(Column { form: Form::of(given)?, given: given.clone() });
        Ok(Self { columns: types.into_iter().map(column).collect::<Result<_, ArrowError>>()? })
    }

    /// The types of the columns in that form.
    pub(crate) fn types(&self) -> impl Iterator<Item = DataType> {
        self.columns.iter().map(|column| match &column.form {
            Form::Same => column.given.clone(),
            Form::Cast(to) => to.clone(),
            Form::Rows(_) => DataType::BinaryView,
            Form::Null => DataType::Boolean,
        })
    }

    /// The columns in that form.
    pub(crate) fn normal(&self, columns: &[ArrayRef]) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns.iter().zip(columns).map(|(column, array)| column.normal(array)).collect()
    }

    /// The columns as they were given, from that form.
    pub(crate) fn restore(&self, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns.iter().zip(columns).map(|(column, array)| column.restore(array)).collect()
    }
}

impl Form {
    fn of(given: &DataType) -> Result<Self, ArrowError> {
        Ok(match given {
            DataType::Null => Self::Null,
            DataType::Utf8 | DataType::LargeUtf8 => Self::Cast(DataType::Utf8View),
            DataType::Binary | DataType::LargeBinary => Self::Cast(DataType::BinaryView),
            DataType::Dictionary(_, values) => match Self::of(values)? {
                Self::Same => Self::Cast(values.as_ref().clone()),
                cast @ Self::Cast(_) => cast,
                _ => Self::Rows(RowCoder::new(given)?),
            },
            DataType::Utf8View | DataType::BinaryView | DataType::Boolean => Self::Same,
            _ if given.primitive_width().is_some() => Self::Same,
            _ => Self::Rows(RowCoder::new(given)?),
        })
    }
}

impl Column {
    fn normal(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match &self.form {
            Form::Same => canonical_floats(array),
            Form::Cast(to) => canonical_floats(&cast(array, to)?),
            Form::Null => Ok(Arc::new(BooleanArray::new_null(array.len()))),
            Form::Rows(coder) => {
                let rows = coder.encode(&canonical_floats(array)?)?;
                let views = BinaryViewArray::from(&rows.try_into_binary()?);
                let (views, buffers, _) = views.into_parts();
                let nulls = array.logical_nulls();
                Ok(Arc::new(BinaryViewArray::try_new(views, buffers, nulls)?))
            }
        }
    }

    fn restore(&self, array: ArrayRef) -> Result<ArrayRef, ArrowError> {
        match &self.form {
            Form::Same => Ok(array),
            Form::Cast(_) => cast(&array, &self.given),
            Form::Null => Ok(new_null_array(&DataType::Null, array.len())),
            Form::Rows(coder) => coder.decode(array.as_binary_view().iter()),
        }
    }
}
