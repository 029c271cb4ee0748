//! Rust values as the arguments and results of functions over rows.

use std::fmt::Display;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, PrimitiveArray, StringViewArray};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};

/// A Rust type with a column type.
trait ColumnValue: Sized {
    fn data_type() -> DataType;
    fn read(column: &ArrayRef) -> Vec<Option<Self>>;
    fn write(values: Vec<Option<Self>>) -> ArrayRef;
}

macro_rules! primitive {
    ($($rust:ty => $arrow:ident, $data_type:ident;)*) => {
        $(impl ColumnValue for $rust {
            fn data_type() -> DataType {
                DataType::$data_type
            }

            fn read(column: &ArrayRef) -> Vec<Option<Self>> {
                column.as_primitive::<$arrow>().iter().collect()
            }

            fn write(values: Vec<Option<Self>>) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::from(values))
            }
        })*
    };
}

primitive! {
    i8 => Int8Type, Int8;
    i16 => Int16Type, Int16;
    i32 => Int32Type, Int32;
    i64 => Int64Type, Int64;
    u8 => UInt8Type, UInt8;
    u16 => UInt16Type, UInt16;
    u32 => UInt32Type, UInt32;
    u64 => UInt64Type, UInt64;
    f32 => Float32Type, Float32;
    f64 => Float64Type, Float64;
}

impl ColumnValue for bool {
    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn read(column: &ArrayRef) -> Vec<Option<Self>> {
        column.as_boolean().iter().collect()
    }

    fn write(values: Vec<Option<Self>>) -> ArrayRef {
        Arc::new(BooleanArray::from(values))
    }
}

impl ColumnValue for String {
    fn data_type() -> DataType {
        DataType::Utf8View
    }

    fn read(column: &ArrayRef) -> Vec<Option<Self>> {
        column.as_string_view().iter().map(|value| value.map(ToOwned::to_owned)).collect()
    }

    fn write(values: Vec<Option<Self>>) -> ArrayRef {
        Arc::new(StringViewArray::from(values))
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type that a closure can take: `bool`, integers, floats, `String`, and `Option`s of these.
pub trait UdfArg: sealed::Sealed + Sized {
    #[doc(hidden)]
    fn arg_type() -> DataType;
    /// `None` where the closure is not called.
    #[doc(hidden)]
    fn values(column: &ArrayRef) -> Vec<Option<Self>>;
}

/// A type that a closure can give: what it can take, and a `Result` of it.
pub trait UdfResult: sealed::Sealed + Sized {
    #[doc(hidden)]
    fn result_type() -> DataType;
    #[doc(hidden)]
    fn column(values: Vec<Option<Self>>) -> Result<ArrayRef, String>;
}

macro_rules! values {
    ($($rust:ty),*) => {
        $(
            impl sealed::Sealed for $rust {}
            impl sealed::Sealed for Option<$rust> {}

            impl UdfArg for $rust {
                fn arg_type() -> DataType {
                    <$rust as ColumnValue>::data_type()
                }

                fn values(column: &ArrayRef) -> Vec<Option<Self>> {
                    <$rust as ColumnValue>::read(column)
                }
            }

            impl UdfArg for Option<$rust> {
                fn arg_type() -> DataType {
                    <$rust as ColumnValue>::data_type()
                }

                fn values(column: &ArrayRef) -> Vec<Option<Self>> {
                    <$rust as ColumnValue>::read(column).into_iter().map(Some).collect()
                }
            }

            impl UdfResult for $rust {
                fn result_type() -> DataType {
                    <$rust as ColumnValue>::data_type()
                }

                fn column(values: Vec<Option<Self>>) -> Result<ArrayRef, String> {
                    Ok(<$rust as ColumnValue>::write(values))
                }
            }

            impl UdfResult for Option<$rust> {
                fn result_type() -> DataType {
                    <$rust as ColumnValue>::data_type()
                }

                fn column(values: Vec<Option<Self>>) -> Result<ArrayRef, String> {
                    let values = values.into_iter().map(Option::flatten).collect();
                    Ok(<$rust as ColumnValue>::write(values))
                }
            }
        )*
    };
}

values!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, String);

impl<T: UdfResult, E: Display> sealed::Sealed for Result<T, E> {}

impl<T: UdfResult, E: Display> UdfResult for Result<T, E> {
    fn result_type() -> DataType {
        T::result_type()
    }

    fn column(values: Vec<Option<Self>>) -> Result<ArrayRef, String> {
        let values = values.into_iter().map(Option::transpose);
        T::column(values.collect::<Result<_, _>>().map_err(|error| error.to_string())?)
    }
}

/// A closure over the values of a row.
pub trait UdfClosure<Args> {
    #[doc(hidden)]
    fn arg_types() -> Vec<DataType>;
    #[doc(hidden)]
    fn result_type() -> DataType;
    #[doc(hidden)]
    fn over(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, String>;
}

macro_rules! closure {
    ($count:literal: $($arg:ident $at:tt),*) => {
        impl<R: UdfResult, $($arg: UdfArg,)* F: Fn($($arg),*) -> R> UdfClosure<($($arg,)*)> for F {
            fn arg_types() -> Vec<DataType> {
                vec![$($arg::arg_type()),*]
            }

            fn result_type() -> DataType {
                R::result_type()
            }

            fn over(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, String> {
                if args.len() != $count {
                    return Err(format!("it takes {} arguments, and was given {}", $count, args.len()));
                }
                let mut columns = ($($arg::values(&args[$at]).into_iter(),)*);
                let one = |_| {
                    // All columns go on by one row, before a NULL ends this one.
                    let row = ($(columns.$at.next().flatten(),)*);
                    Some(self($(row.$at?),*))
                };
                R::column((0..rows).map(one).collect())
            }
        }
    };
}

closure!(1: A 0);
closure!(2: A 0, B 1);
closure!(3: A 0, B 1, C 2);
closure!(4: A 0, B 1, C 2, D 3);

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn nulls_pass_a_closure_by_unless_it_takes_them() {
        let (a, b): (ArrayRef, ArrayRef) = (
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3), None])),
            Arc::new(Int64Array::from(vec![Some(10), Some(20), None, None])),
        );
        let sums = (|a: i64, b: i64| a + b).over(&[a.clone(), b.clone()], 4).unwrap();
        assert_eq!(
            sums.as_primitive::<Int64Type>(),
            &Int64Array::from(vec![Some(11), None, None, None])
        );
        let first = |a: Option<i64>, b: Option<i64>| a.or(b);
        let first = first.over(&[a, b], 4).unwrap();
        let expected = Int64Array::from(vec![Some(1), Some(20), Some(3), None]);
        assert_eq!(first.as_primitive::<Int64Type>(), &expected);
    }

    #[test]
    fn an_error_names_itself() {
        let column: ArrayRef = Arc::new(StringViewArray::from(vec!["1", "x"]));
        let error = (|text: String| text.parse::<i32>()).over(&[column], 2).unwrap_err();
        assert_eq!(error, "invalid digit found in string");
    }
}
