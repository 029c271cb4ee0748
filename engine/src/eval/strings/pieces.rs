//! Strings that are parts of the strings of one column: views of the same bytes, which are not copied.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, ByteView, StringViewArray, make_view};
use arrow::buffer::{Buffer, NullBuffer};

use crate::eval::arguments::{Arguments, for_each_valid};
use crate::eval::error::EvalError;

/// The longest string that a view holds in itself.
const INLINE: usize = 12;

/// Collects parts of the strings of a column.
pub(super) struct Pieces<'a> {
    source: &'a StringViewArray,
    views: Vec<u128>,
    /// Whether a view refers to the source's buffers.
    refers: bool,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(source: &'a StringViewArray, capacity: usize) -> Self {
        Self { source, views: Vec::with_capacity(capacity), refers: false }
    }

    /// The number of parts so far.
    pub(super) fn len(&self) -> usize {
        self.views.len()
    }

    /// Appends the bytes `range` of the string at `index`; they must begin and end between characters.
    #[inline]
    pub(super) fn push(&mut self, index: usize, range: Range<usize>) {
        let view = self.source.views()[index];
        if range.len() == view as u32 as usize {
            self.refers |= range.len() > INLINE;
            return self.views.push(view);
        }
        let bytes = &self.source.value(index).as_bytes()[range.clone()];
        if bytes.len() <= INLINE {
            return self.views.push(make_view(bytes, 0, 0));
        }
        self.refers = true;
        let view = ByteView::from(view);
        self.views.push(make_view(bytes, view.buffer_index, view.offset + range.start as u32));
    }

    /// Appends an empty string, also for a row that is NULL.
    #[inline]
    pub(super) fn push_empty(&mut self) {
        self.views.push(0);
    }

    pub(super) fn finish(self, nulls: Option<NullBuffer>) -> Result<StringViewArray, EvalError> {
        let none: Arc<[Buffer]> = Arc::new([]);
        let buffers = if self.refers { self.source.data_buffers().clone() } else { none };
        Ok(StringViewArray::try_new(self.views.into(), buffers, nulls)?)
    }
}

/// Of each string of the first argument the bytes that `range` says, for the rows in which no argument is NULL.
pub(super) fn cut(
    args: Arguments<'_>,
    mut range: impl FnMut(usize, &str) -> Result<Range<usize>, EvalError>,
) -> Result<ArrayRef, EvalError> {
    let strings = args.strings(0)?;
    let nulls = args.nulls();
    let mut pieces = Pieces::of(strings.array, args.rows);
    for_each_valid(args.rows, nulls.as_ref(), |row| {
        // NULLs that were passed over.
        pieces.views.resize(row, 0);
        pieces.push(strings.index(row), range(row, strings.get(row))?);
        Ok(())
    })?;
    pieces.views.resize(args.rows, 0);
    Ok(Arc::new(pieces.finish(nulls)?))
}
