//! The arguments of a built-in function, read by kind: kernels see strings and integers by row and do not ask
//! whether an argument is a column or one value for all rows.

use arrow::array::{Array, AsArray, BooleanArray, Int64Array, PrimitiveArray, StringViewArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Int64Type};
use millstream_planner::expr::ScalarFn;

use super::cast::cast;
use super::error::{EvalError, type_name};
use super::value::Value;

/// What a function is called with.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    pub(super) function: ScalarFn,
    pub(super) values: &'a [Value],
    pub(super) rows: usize,
}

impl<'a> Arguments<'a> {
    /// An argument that must be there.
    pub(super) fn get(&self, position: usize) -> Result<&'a Value, EvalError> {
        self.values.get(position).ok_or_else(|| {
            self.error(format!(
                "argument {} is missing: there are {} only",
                position + 1,
                self.values.len()
            ))
        })
    }

    /// A string argument.
    pub(super) fn strings(&self, position: usize) -> Result<Strings<'a>, EvalError> {
        let value = self.get(position)?;
        let array =
            value.array().as_string_view_opt().ok_or_else(|| self.wrong(position, "a string"))?;
        Ok(Strings { array, constant: value.is_constant() })
    }

    /// A string argument, if it is there.
    pub(super) fn strings_at(&self, position: usize) -> Result<Option<Strings<'a>>, EvalError> {
        (position < self.values.len()).then(|| self.strings(position)).transpose()
    }

    /// An argument of any integer type.
    pub(super) fn integers(&self, position: usize) -> Result<Integers, EvalError> {
        let value = self.get(position)?;
        if !value.data_type().is_integer() {
            return Err(self.wrong(position, "an integer"));
        }
        let array = cast(value.array(), &DataType::Int64, false)?;
        Ok(Integers {
            array: array.as_primitive::<Int64Type>().clone(),
            constant: value.is_constant(),
        })
    }

    /// An argument of any integer type, if it is there.
    pub(super) fn integers_at(&self, position: usize) -> Result<Option<Integers>, EvalError> {
        (position < self.values.len()).then(|| self.integers(position)).transpose()
    }

    /// The rows in which an argument is NULL.
    pub(super) fn nulls(&self) -> Option<NullBuffer> {
        let nulls = |value: &Value| match value {
            Value::Constant(array) if array.is_null(0) => Some(NullBuffer::new_null(self.rows)),
            Value::Constant(_) => None,
            Value::Array(array) => array.logical_nulls(),
        };
        self.values
            .iter()
            .fold(None, |all, value| NullBuffer::union(all.as_ref(), nulls(value).as_ref()))
    }

    /// That the function cannot take what it was given.
    pub(super) fn error(&self, why: impl Into<String>) -> EvalError {
        EvalError::argument(self.function.name(), why)
    }

    /// That an argument is of no type the function has been made for.
    pub(super) fn wrong(&self, position: usize, wanted: &str) -> EvalError {
        let given = self.values.get(position).map(|value| type_name(value.data_type()));
        EvalError::unsupported(format!(
            "{} of {} as argument {}, which must be {wanted}",
            self.function.name(),
            given.as_deref().unwrap_or("nothing"),
            position + 1
        ))
    }

    /// A column of numbers, computed for the rows in which no argument is NULL.
    pub(super) fn primitives<T: ArrowPrimitiveType>(
        &self,
        mut of: impl FnMut(usize) -> Result<T::Native, EvalError>,
    ) -> Result<PrimitiveArray<T>, EvalError> {
        let nulls = self.nulls();
        let mut values = vec![T::Native::default(); self.rows];
        for_each_valid(self.rows, nulls.as_ref(), |row| {
            values[row] = of(row)?;
            Ok(())
        })?;
        Ok(PrimitiveArray::new(values.into(), nulls))
    }

    /// A column of truth values, likewise.
    pub(super) fn booleans(&self, mut of: impl FnMut(usize) -> bool) -> BooleanArray {
        let nulls = self.nulls();
        let holds = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) && of(row);
        BooleanArray::new(BooleanBuffer::collect_bool(self.rows, holds), nulls)
    }
}

/// Calls for each row that is not NULL, in order.
pub(super) fn for_each_valid(
    rows: usize,
    nulls: Option<&NullBuffer>,
    mut f: impl FnMut(usize) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => (0..rows).try_for_each(f),
        Some(nulls) => nulls.valid_indices().try_for_each(&mut f),
    }
}

/// The characters of a string that a message shows.
const SHOWN: usize = 100;

/// A string as messages show it: in quotes, and not all of a long one.
pub(super) fn quoted(string: &str) -> String {
    match string.char_indices().nth(SHOWN) {
        None => format!("{string:?}"),
        Some((end, _)) => format!("{:?}... ({} bytes)", &string[..end], string.len()),
    }
}

/// A string argument.
#[derive(Clone, Copy)]
pub(super) struct Strings<'a> {
    /// The column, or an array of length 1.
    pub(super) array: &'a StringViewArray,
    constant: bool,
}

impl<'a> Strings<'a> {
    /// The string of a row; something where it is NULL.
    #[inline]
    pub(super) fn get(&self, row: usize) -> &'a str {
        self.array.value(self.index(row))
    }

    /// Where in the array the string of a row is.
    #[inline]
    pub(super) fn index(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    /// The string of all rows, if there is one.
    pub(super) fn constant(&self) -> Option<&'a str> {
        (self.constant && self.array.is_valid(0)).then(|| self.array.value(0))
    }
}

/// An integer argument.
pub(super) struct Integers {
    array: Int64Array,
    constant: bool,
}

impl Integers {
    /// The number of a row; something where it is NULL.
    #[inline]
    pub(super) fn get(&self, row: usize) -> i64 {
        self.array.value(if self.constant { 0 } else { row })
    }
}
