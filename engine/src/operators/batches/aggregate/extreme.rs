//! The least and the largest of strings, bytes and whatever has no fixed width.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, StringViewArray};
use arrow::datatypes::DataType;

use super::super::keys::RowCoder;
use super::accumulator::Accumulator;
use super::cells::Cells;
use crate::eval::{EvalError, canonical_floats};

/// The least or the largest value by group.
pub(super) struct Extreme {
    cells: Cells,
    /// `Less` for the least.
    wanted: Ordering,
    form: Form,
}

enum Form {
    Strings,
    Bytes,
    Rows(RowCoder),
}

impl Extreme {
    pub(super) fn new(data_type: &DataType, wanted: Ordering) -> Result<Self, EvalError> {
        let form = match data_type {
            DataType::Utf8View => Form::Strings,
            DataType::BinaryView => Form::Bytes,
            other => Form::Rows(RowCoder::new(other)?),
        };
        Ok(Self { cells: Cells::default(), wanted, form })
    }

    fn each<'a>(&mut self, groups: &[u32], values: impl Iterator<Item = Option<&'a [u8]>>) {
        for (group, value) in groups.iter().zip(values) {
            let Some(value) = value else { continue };
            if self.cells.get(*group).is_none_or(|known| value.cmp(known) == self.wanted) {
                self.cells.set(*group, value);
            }
        }
    }
}

impl Accumulator for Extreme {
    fn resize(&mut self, groups: usize) {
        self.cells.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        match &self.form {
            Form::Strings => {
                let strings = args[0].as_string_view().iter();
                self.each(groups, strings.map(|string| string.map(str::as_bytes)));
            }
            Form::Bytes => self.each(groups, args[0].as_binary_view().iter()),
            Form::Rows(coder) => {
                let (rows, nulls) =
                    (coder.encode(&canonical_floats(&args[0])?)?, args[0].logical_nulls());
                let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                let values = (0..groups.len()).map(|row| valid(row).then(|| rows.row(row).data()));
                self.each(groups, values);
            }
        }
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        if let Form::Rows(_) = self.form {
            self.each(groups, states[0].as_binary::<i32>().iter());
            return Ok(());
        }
        self.update(groups, states)
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        if let Form::Rows(_) = self.form {
            return Ok(vec![Arc::new(BinaryArray::from_iter(self.cells.iter(groups)))]);
        }
        Ok(vec![self.finish(groups)?])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let cells = self.cells.iter(groups);
        Ok(match &self.form {
            Form::Strings => {
                let bytes = BinaryViewArray::from_iter(cells);
                let strings: StringViewArray = bytes.to_string_view()?;
                Arc::new(strings)
            }
            Form::Bytes => Arc::new(BinaryViewArray::from_iter(cells)),
            Form::Rows(coder) => coder.decode(cells)?,
        })
    }

    fn bytes(&self) -> usize {
        self.cells.bytes()
    }
}
