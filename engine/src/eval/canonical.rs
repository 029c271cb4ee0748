//! The one form of floating-point numbers that are equal: one NaN, and 0.0 for -0.0. What is hashed, encoded or
//! compared by its bits must be brought into it before.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, make_array};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};
use arrow::error::ArrowError;

/// A type of floating-point numbers.
pub(crate) trait Canonical: ArrowPrimitiveType {
    /// The number that stands for all that are equal to it.
    fn canonical(value: Self::Native) -> Self::Native;
}

macro_rules! canonical {
    ($($arrow:ty),*) => {$(
        impl Canonical for $arrow {
            #[inline]
            fn canonical(value: Self::Native) -> Self::Native {
                // Adding zero makes -0.0 into 0.0 and changes no other number.
                if value.is_nan() { <Self::Native>::NAN } else { value + Self::default_value() }
            }
        }
    )*};
}

canonical!(Float16Type, Float32Type, Float64Type);

/// The column with all floating-point numbers in that form, at any depth. Others are given back.
pub(crate) fn canonical_floats(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Float16 => Arc::new(of_floats::<Float16Type>(array)),
        DataType::Float32 => Arc::new(of_floats::<Float32Type>(array)),
        DataType::Float64 => Arc::new(of_floats::<Float64Type>(array)),
        other if holds_floats(other) => {
            let data = array.to_data();
            let children = data
                .child_data()
                .iter()
                .map(|child| Ok(canonical_floats(&make_array(child.clone()))?.to_data()));
            let children = children.collect::<Result<_, ArrowError>>()?;
            make_array(data.into_builder().child_data(children).build()?)
        }
        _ => Arc::clone(array),
    })
}

fn of_floats<T: Canonical>(array: &ArrayRef) -> PrimitiveArray<T> {
    array.as_primitive::<T>().unary(T::canonical)
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
