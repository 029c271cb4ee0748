//! The build side in memory: its rows, and the table over their keys.

use std::rc::Rc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;

use super::columns::{Columns, Gatherer};
use super::plan::Plan;
use super::side::Layout;
use super::table::Table;
use crate::executor::{Task, TaskError};
use crate::operators::batches::BatchStream;

/// A build side that is there as a whole, or one part of it.
pub(super) struct Built {
    pub(super) table: Table,
    pub(super) columns: Columns,
    pub(super) seen: Seen,
}

impl Built {
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.columns.bytes()
    }
}

/// What there was on the build side.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    /// Any row.
    pub(super) rows: bool,
    /// A key that is NULL.
    pub(super) null: bool,
}

/// Passes the rows of the build side that can match, or are given without a match.
pub(super) struct Sieve {
    plan: Rc<Plan>,
    layout: Layout,
    pub(super) seen: Seen,
}

impl Sieve {
    /// `None` if no row is left.
    pub(super) fn pass(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>, TaskError> {
        self.seen.rows |= batch.num_rows() > 0;
        let live = self.plan.form.live(&self.layout.keys(&batch));
        self.seen.null |= live.is_some();
        let batch = match live.filter(|_| !self.plan.gives.right_alone) {
            None => batch,
            Some(live) => filter_record_batch(&batch, &BooleanArray::new(live, None))?,
        };
        Ok((batch.num_rows() > 0).then_some(batch))
    }
}

/// Collects stored batches of the build side until memory is refused.
pub(super) struct Loader {
    sieve: Sieve,
    rows: Gatherer,
    /// What the table will take.
    table_bytes: usize,
}

impl Loader {
    pub(super) fn new(plan: &Rc<Plan>, layout: &Layout) -> Self {
        let (plan, layout) = (Rc::clone(plan), layout.clone());
        let rows = Gatherer::new(&layout.schema);
        Self { sieve: Sieve { plan, layout, seen: Seen::default() }, rows, table_bytes: 0 }
    }

    /// Reads on. Returns whether the input has come to its end; if not, there is no room for more.
    pub(super) fn load(
        &mut self,
        task: &Task,
        input: &mut dyn BatchStream,
    ) -> Result<bool, TaskError> {
        while let Some(batch) = input.next()? {
            task.check()?;
            self.push(batch)?;
            if self.is_full(task) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn push(&mut self, batch: RecordBatch) -> Result<(), TaskError> {
        if let Some(batch) = self.sieve.pass(batch)? {
            let keys = self.sieve.layout.keys(&batch);
            let width = self.sieve.plan.form.width(&keys, batch.num_rows());
            self.table_bytes += batch.num_rows() * (Table::ROW_BYTES + 2 * width);
            self.rows.push(batch)?;
        }
        Ok(())
    }

    fn is_full(&self, task: &Task) -> bool {
        let bytes = self.rows.bytes() + self.table_bytes;
        let growth = self.table_bytes + self.rows.growth();
        task.holds(bytes);
        self.rows.rows() + self.sieve.plan.rows_max > Table::ROWS_MAX
            || bytes > worth_spilling(task) && task.pressed_by(bytes, growth)
    }

    /// The table of what has been read.
    pub(super) fn finish(self) -> Result<Built, TaskError> {
        let mut columns = self.rows.finish()?;
        let chunks = columns.chunks_of(&self.sieve.layout.keys);
        let keys = chunks.iter().map(|(keys, rows)| self.sieve.plan.form.keys(keys, *rows));
        let keys = keys.collect::<Result<_, _>>()?;
        drop(chunks);
        columns.truncate(self.sieve.layout.kept + usize::from(self.sieve.layout.number.is_some()));
        Ok(Built { table: Table::new(keys, columns.bits()), columns, seen: self.sieve.seen })
    }

    /// What has been read, in order, and what passes the rest.
    pub(super) fn into_batches(self) -> Result<(Vec<RecordBatch>, Sieve), TaskError> {
        Ok((self.rows.into_batches()?, self.sieve))
    }
}

/// State of fewer bytes is not worth a spill.
pub(super) fn worth_spilling(task: &Task) -> usize {
    const BYTES: usize = 1 << 20;
    const PART_OF_FLOOR: u64 = 16;
    BYTES.min((task.runtime.budget.floor() / PART_OF_FLOOR) as usize)
}
