//! The form in which equal keys have equal bits: one NaN, no -0.0, strings and bytes as views, anything
//! nested as the bytes of its encoded rows.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, PrimitiveArray, make_array,
    new_null_array,
};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};
use arrow::error::ArrowError;

use super::rows::RowCoder;

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

/// The array with every NaN the same and 0.0 for -0.0, at any depth. Other arrays are given back.
pub(crate) fn canonical_floats(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Float16 => {
            let nan = <Float16Type as ArrowPrimitiveType>::Native::NAN;
            let zero = <Float16Type as ArrowPrimitiveType>::Native::ZERO;
            let array = array.as_primitive::<Float16Type>();
            let canonical = |x: <Float16Type as ArrowPrimitiveType>::Native| match () {
                () if x.is_nan() => nan,
                () if x == zero => zero,
                () => x,
            };
            Ok(Arc::new(array.unary::<_, Float16Type>(canonical)))
        }
        DataType::Float32 => {
            let canonical = |x: f32| if x.is_nan() { f32::NAN } else { x + 0.0 };
            let array: &PrimitiveArray<Float32Type> = array.as_primitive();
            Ok(Arc::new(array.unary::<_, Float32Type>(canonical)))
        }
        DataType::Float64 => {
            let canonical = |x: f64| if x.is_nan() { f64::NAN } else { x + 0.0 };
            let array: &PrimitiveArray<Float64Type> = array.as_primitive();
            Ok(Arc::new(array.unary::<_, Float64Type>(canonical)))
        }
        nested if nested.is_nested() && holds_floats(nested) => {
            let data = array.to_data();
            let children = data
                .child_data()
                .iter()
                .map(|child| Ok(canonical_floats(&make_array(child.clone()))?.to_data()));
            let children = children.collect::<Result<_, ArrowError>>()?;
            Ok(make_array(data.into_builder().child_data(children).build()?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn holds_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => holds_floats(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| holds_floats(field.data_type())),
        DataType::Union(fields, _) => {
            fields.iter().any(|(_, field)| holds_floats(field.data_type()))
        }
        DataType::Dictionary(_, values) => holds_floats(values),
        other => other.is_floating(),
    }
}
