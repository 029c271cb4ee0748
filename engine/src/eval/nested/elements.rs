//! Elements of lists: found, ordered, told apart.

use std::cmp::Ordering;
use std::sync::Arc;

use ahash::AHashSet;
use arrow::array::{
    Array, ArrayRef, BooleanBuilder, DynComparator, Int32Array, UInt32Array, make_comparator,
};
use arrow::compute::{SortOptions, take};
use arrow::datatypes::{DataType, Int32Type};
use arrow::row::{RowConverter, Rows, SortField};

use super::lists::{Gather, Lists};
use crate::eval::arguments::Arguments;
use crate::eval::canonical::canonical_floats;
use crate::eval::error::EvalError;

/// The number of elements, or of entries of a map.
pub(super) fn length(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let lists = Lists::of(args, 0)?;
    let lengths: Int32Array =
        args.primitives::<Int32Type>(|row| Ok(lists.elements(row).len() as i32))?;
    Ok(Arc::new(lengths))
}

/// The element at a place, from 0; NULL beyond the ends.
pub(super) fn get(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (lists, elements) = Lists::with_elements(args, 0)?;
    let places = args.integers(1)?;
    choose(args, elements, |row| {
        let place = usize::try_from(places.get(row)).ok()?;
        lists.elements(row).nth(place)
    })
}

/// The largest or smallest element; NULLs are passed over.
pub(super) fn extreme(args: Arguments<'_>, wanted: Ordering) -> Result<ArrayRef, EvalError> {
    let (lists, elements) = Lists::with_elements(args, 0)?;
    let order = order(elements, elements)?;
    choose(args, elements, |row| {
        let known = lists.elements(row).filter(|element| elements.is_valid(*element));
        known.reduce(|best, element| if order(element, best) == wanted { element } else { best })
    })
}

/// One element a row, or NULL.
pub(super) fn choose(
    args: Arguments<'_>,
    elements: &ArrayRef,
    mut of: impl FnMut(usize) -> Option<usize>,
) -> Result<ArrayRef, EvalError> {
    let nulls = args.nulls();
    let index = |row: usize| {
        let known = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        known.then(|| of(row)).flatten().map(|element| element as u32)
    };
    let indices: UInt32Array = (0..args.rows).map(index).collect();
    Ok(take(elements, &indices, None)?)
}

/// Whether a value is in a list; NULL if it is not, but a NULL is.
pub(super) fn contains(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (lists, elements) = Lists::with_elements(args, 0)?;
    let wanted = args.get(1)?;
    let order = order(elements, wanted.array())?;
    let nulls = args.nulls();
    let mut found = BooleanBuilder::with_capacity(args.rows);
    for row in 0..args.rows {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            found.append_null();
            continue;
        }
        let (range, index) = (lists.elements(row), wanted.index(row));
        let equal = |element: usize| order(element, index).is_eq() && elements.is_valid(element);
        let has_null = || range.clone().any(|element| elements.is_null(element));
        if range.clone().any(equal) {
            found.append_value(true);
        } else if elements.null_count() > 0 && has_null() {
            found.append_null();
        } else {
            found.append_value(false);
        }
    }
    Ok(Arc::new(found.finish()))
}

/// Elements in order, NULLs first. Those that are equal stay in the order in which they come.
pub(super) fn sort(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (lists, elements) = Lists::with_elements(args, 0)?;
    let order = order(elements, elements)?;
    rearrange(args, elements, |row, out| {
        lists.elements(row).for_each(|element| out.push(element));
        out.current().sort_by(|a, b| order(*a as usize, *b as usize));
    })
}

/// The elements from back to front.
pub(super) fn reverse(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (lists, elements) = Lists::with_elements(args, 0)?;
    rearrange(args, elements, |row, out| {
        lists.elements(row).rev().for_each(|element| out.push(element));
    })
}

/// Each different element where it first comes.
pub(super) fn distinct(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let (lists, elements) = Lists::with_elements(args, 0)?;
    let keys = keys(elements)?;
    let mut seen = AHashSet::new();
    rearrange(args, elements, |row, out| {
        seen.clear();
        for element in lists.elements(row) {
            if seen.insert(keys.row(element).data()) {
                out.push(element);
            }
        }
    })
}

/// Lists of elements of the lists that are there.
fn rearrange(
    args: Arguments<'_>,
    elements: &ArrayRef,
    mut fill: impl FnMut(usize, &mut Gather),
) -> Result<ArrayRef, EvalError> {
    let nulls = args.nulls();
    let mut out = Gather::new(args.rows);
    for row in 0..args.rows {
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
            fill(row, &mut out);
        }
        out.end(args)?;
    }
    out.into_lists(args, elements, nulls)
}

/// The order of the values of two columns, NULLs first.
pub(super) fn order(left: &ArrayRef, right: &ArrayRef) -> Result<DynComparator, EvalError> {
    if *left.data_type() == DataType::Null {
        return Ok(Box::new(|_, _| Ordering::Equal));
    }
    let nulls_first = SortOptions { descending: false, nulls_first: true };
    Ok(make_comparator(&canonical_floats(left)?, &canonical_floats(right)?, nulls_first)?)
}

/// Bytes that are equal for values that are.
pub(super) fn keys(values: &ArrayRef) -> Result<Rows, EvalError> {
    let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
    Ok(converter.convert_columns(&[canonical_floats(values)?])?)
}
