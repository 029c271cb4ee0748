//! An operator with somebody who counts what it gives and how long it takes.

use std::rc::Rc;

use arrow::array::RecordBatch;
use millstream_planner::physical::OpId;

use super::{BatchStream, BoxBatches, row_bytes};
use crate::executor::{Meter, TaskError};

/// The batches of an operator, counted.
pub(super) struct Metered {
    meter: Rc<Meter>,
    operator: usize,
    rows: BoxBatches,
}

impl Metered {
    /// Opens an operator: some do their work then.
    pub(super) fn open(
        meter: &Rc<Meter>,
        OpId(operator): OpId,
        open: impl FnOnce() -> Result<BoxBatches, TaskError>,
    ) -> Result<Self, TaskError> {
        let operator = operator as usize;
        let rows = meter.during(operator, open)?;
        Ok(Self { meter: Rc::clone(meter), operator, rows })
    }
}

impl BatchStream for Metered {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        let next = self.meter.during(self.operator, || self.rows.next())?;
        if let Some(batch) = &next {
            self.meter.gave(self.operator, batch.num_rows(), row_bytes(batch));
        }
        Ok(next)
    }
}
