//! Aggregates that pick the value of one row: the first, the last, and that of the least or largest of another column.
//!
//! NULL is a value like any other here.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray};
use arrow::datatypes::DataType;

use super::super::keys::RowCoder;
use super::accumulator::Accumulator;
use super::cells::Cells;
use crate::eval::{EvalError, canonical_floats};

/// The first or the last value by group.
pub(super) struct Edge {
    coder: RowCoder,
    cells: Cells,
    last: bool,
}

impl Edge {
    pub(super) fn new(data_type: &DataType, last: bool) -> Result<Self, EvalError> {
        Ok(Self { coder: RowCoder::new(data_type)?, cells: Cells::default(), last })
    }

    #[inline]
    fn add(&mut self, group: u32, row: &[u8]) {
        if self.last || self.cells.get(group).is_none() {
            self.cells.set(group, row);
        }
    }
}

impl Accumulator for Edge {
    fn resize(&mut self, groups: usize) {
        self.cells.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        let rows = self.coder.encode(&args[0])?;
        for (group, row) in groups.iter().zip(rows.iter()) {
            self.add(*group, row.data());
        }
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        for (group, row) in groups.iter().zip(states[0].as_binary::<i32>()) {
            if let Some(row) = row {
                self.add(*group, row);
            }
        }
        Ok(())
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(vec![Arc::new(BinaryArray::from_iter(self.cells.iter(groups)))])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        Ok(self.coder.decode(self.cells.iter(groups))?)
    }

    fn bytes(&self) -> usize {
        self.cells.bytes()
    }
}

/// The value beside the least or the largest of another column, the first of several. Rows that have NULL there are
/// passed over.
pub(super) struct Beside {
    coder: RowCoder,
    by_coder: RowCoder,
    cells: Cells,
    by: Cells,
    /// `Less` for the least.
    wanted: Ordering,
}

impl Beside {
    pub(super) fn new(
        data_type: &DataType,
        by: &DataType,
        wanted: Ordering,
    ) -> Result<Self, EvalError> {
        let (coder, by_coder) = (RowCoder::new(data_type)?, RowCoder::new(by)?);
        Ok(Self { coder, by_coder, cells: Cells::default(), by: Cells::default(), wanted })
    }

    fn add(&mut self, group: u32, by: &[u8], row: &[u8]) {
        if self.by.get(group).is_none_or(|known| by.cmp(known) == self.wanted) {
            self.by.set(group, by);
            self.cells.set(group, row);
        }
    }
}

impl Accumulator for Beside {
    fn resize(&mut self, groups: usize) {
        self.cells.resize(groups);
        self.by.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        let rows = self.coder.encode(&args[0])?;
        let by = self.by_coder.encode(&canonical_floats(&args[1])?)?;
        let nulls = args[1].logical_nulls();
        for (row, group) in groups.iter().enumerate() {
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                self.add(*group, by.row(row).data(), rows.row(row).data());
            }
        }
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        let (by, rows) = (states[0].as_binary::<i32>(), states[1].as_binary::<i32>());
        for ((group, by), row) in groups.iter().zip(by).zip(rows) {
            if let (Some(by), Some(row)) = (by, row) {
                self.add(*group, by, row);
            }
        }
        Ok(())
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        let column =
            |cells: &Cells| -> ArrayRef { Arc::new(BinaryArray::from_iter(cells.iter(groups))) };
        Ok(vec![column(&self.by), column(&self.cells)])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        Ok(self.coder.decode(self.cells.iter(groups))?)
    }

    fn bytes(&self) -> usize {
        self.cells.bytes() + self.by.bytes()
    }
}
