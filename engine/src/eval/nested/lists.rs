//! Lists as arguments, and lists that are made of elements of others.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::take;
use arrow::datatypes::{DataType, FieldRef};

use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;
use crate::eval::value::Value;

/// An argument whose values are parts of a column of elements: a list, or a map and its entries.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a> {
    value: &'a Value,
    offsets: &'a OffsetBuffer<i32>,
}

impl<'a> Lists<'a> {
    /// A list or map.
    pub(super) fn of(args: Arguments<'a>, position: usize) -> Result<Self, EvalError> {
        let value = args.get(position)?;
        let array = value.array();
        let offsets = match array.data_type() {
            DataType::List(_) => array.as_list::<i32>().offsets(),
            DataType::Map(..) => array.as_map().offsets(),
            _ => return Err(args.wrong(position, "a list or map")),
        };
        Ok(Self { value, offsets })
    }

    /// A list, and its elements.
    pub(super) fn with_elements(
        args: Arguments<'a>,
        position: usize,
    ) -> Result<(Self, &'a ArrayRef), EvalError> {
        let lists = Self::of(args, position)?;
        let array = lists.value.array().as_list_opt::<i32>();
        Ok((lists, array.ok_or_else(|| args.wrong(position, "a list"))?.values()))
    }

    /// Where the elements of a row are; something where it is NULL.
    #[inline]
    pub(super) fn elements(&self, row: usize) -> Range<usize> {
        let index = self.value.index(row);
        self.offsets[index] as usize..self.offsets[index + 1] as usize
    }
}

/// Collects lists of elements that are in another column.
pub(super) struct Gather {
    indices: Vec<u32>,
    offsets: Vec<i32>,
}

impl Gather {
    pub(super) fn new(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self { indices: Vec::new(), offsets }
    }

    /// Appends an element to the list that is being made. There are no more than 2^31 to choose from.
    #[inline]
    pub(super) fn push(&mut self, element: usize) {
        self.indices.push(element as u32);
    }

    /// The elements of the list that is being made.
    pub(super) fn current(&mut self) -> &mut [u32] {
        let start = self.offsets.last().map_or(0, |offset| *offset as usize);
        &mut self.indices[start..]
    }

    /// Ends a list.
    pub(super) fn end(&mut self, args: Arguments<'_>) -> Result<(), EvalError> {
        self.offsets.push(offset(args, self.indices.len())?);
        Ok(())
    }

    /// The elements that were chosen, and where the lists of them end.
    pub(super) fn finish(
        self,
        elements: &ArrayRef,
    ) -> Result<(ArrayRef, OffsetBuffer<i32>), EvalError> {
        let taken = take(elements, &UInt32Array::from(self.indices), None)?;
        Ok((taken, OffsetBuffer::new(self.offsets.into())))
    }

    /// The lists, of the same type as the argument.
    pub(super) fn into_lists(
        self,
        args: Arguments<'_>,
        elements: &ArrayRef,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, EvalError> {
        let (taken, offsets) = self.finish(elements)?;
        let field = item_field(args.get(0)?.data_type()).ok_or_else(|| args.wrong(0, "a list"))?;
        Ok(Arc::new(ListArray::try_new(field, offsets, taken, nulls)?))
    }
}

/// Where a list ends, if the lists of a batch do not have too many elements.
pub(super) fn offset(args: Arguments<'_>, elements: usize) -> Result<i32, EvalError> {
    i32::try_from(elements).map_err(|_| {
        args.error(format!(
            "the lists of a batch have {elements} elements, and {} is the most: make shorter ones",
            i32::MAX
        ))
    })
}

/// The field of the elements of a type of lists.
pub(super) fn item_field(data_type: &DataType) -> Option<FieldRef> {
    match data_type {
        DataType::List(item) => Some(Arc::clone(item)),
        _ => None,
    }
}
