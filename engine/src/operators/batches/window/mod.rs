//! Window functions, over input in the order of the partition keys, then the order keys.
//!
//! ```text
//!  mod        cuts the input into window partitions
//!  peers      which rows of a partition are equal in the order keys
//!  frame      which rows each row sees
//!  rank       functions of the place of a row
//!  value      functions that pick a row
//!  aggregate  aggregates of frames, by a segment tree (Leis et al., Efficient Processing of Window Functions, 2015)
//! ```
//!
//! One window partition is held at a time.

mod aggregate;
mod frame;
mod peers;
mod rank;
mod value;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::row::Rows;
use millstream_planner::expr::WindowFn;
use millstream_planner::physical::{SortOption, Window, WindowCall};

use self::frame::Frames;
use self::peers::Peers;
use super::sort::SortKeys;
use super::{BATCH_ROWS, BatchStream, BoxBatches, batch_of, row_bytes};
use crate::eval::{Evaluator, RowOrigin};
use crate::executor::{Task, TaskError};

/// Appends the results of window functions to a stream.
pub(crate) fn open(
    spec: &Window,
    schema: SchemaRef,
    input: BoxBatches,
    task: &Task,
) -> Result<BoxBatches, TaskError> {
    let types: Vec<DataType> = spec
        .columns
        .roots
        .iter()
        .filter_map(|root| spec.columns.get(*root))
        .map(|node| node.data_type.clone())
        .collect();
    let split = (spec.partition_keys as usize).min(types.len());
    let order_end = (split + spec.order.len()).min(types.len());
    let any = SortOption { descending: false, nulls_first: true };
    let partition_keys = SortKeys::new(&types[..split], &vec![any; split])?;
    let order_keys = SortKeys::new(&types[split..order_end], &spec.order)?;
    let computed = types.iter().map(|data_type| Field::new("", data_type.clone(), true));
    Ok(Box::new(WindowStream {
        task: Rc::clone(task),
        input,
        schema,
        columns: Evaluator::new(&spec.columns)?,
        computed: Arc::new(Schema::new(computed.collect::<Vec<_>>())),
        partition_keys,
        order_keys,
        split,
        order_end,
        spec: spec.clone(),
        held: Vec::new(),
        key: None,
        ready: VecDeque::new(),
        ended: false,
    }))
}

/// Rows with what was computed of them.
struct Held {
    rows: RecordBatch,
    computed: RecordBatch,
}

struct WindowStream {
    task: Task,
    input: BoxBatches,
    schema: SchemaRef,
    columns: Evaluator,
    /// The columns of the program: partition keys, order keys, arguments.
    computed: SchemaRef,
    partition_keys: SortKeys,
    order_keys: SortKeys,
    /// Where the order keys begin, and where they end.
    split: usize,
    order_end: usize,
    spec: Window,
    /// The window partition at hand, and its key.
    held: Vec<Held>,
    key: Option<Box<[u8]>>,
    ready: VecDeque<RecordBatch>,
    ended: bool,
}

impl WindowStream {
    /// Takes a batch apart at the edges of window partitions.
    fn push(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let rows = batch.num_rows();
        let columns = self.columns.columns(batch, RowOrigin::default())?;
        let computed = batch_of(&self.computed, columns, rows)?;
        let keys = self.keys_of(&computed)?;
        let mut start = 0;
        for row in 0..rows {
            let key = keys.as_ref().map_or(&[][..], |keys| keys.row(row).data());
            if self.key.as_deref() == Some(key) {
                continue;
            }
            let next: Box<[u8]> = key.into();
            self.hold(batch, &computed, start, row);
            start = row;
            if self.key.is_some() {
                self.close()?;
            }
            self.key = Some(next);
        }
        self.hold(batch, &computed, start, rows);
        self.check_room()
    }

    /// Fails if the window partition at hand takes more than this task's share of memory and there is no more: it cannot
    /// be spilled. Within the share, it is others who have to give way.
    fn check_room(&self) -> Result<(), TaskError> {
        let own: usize =
            self.held.iter().map(|held| row_bytes(&held.rows) + row_bytes(&held.computed)).sum();
        self.task.holds(own);
        if own as u64 <= 2 * self.task.runtime.budget.floor() {
            return Ok(());
        }
        self.task.demand(|| {
            let rows: usize = self.held.iter().map(|held| held.rows.num_rows()).sum();
            format!("a window partition of more than {rows} rows has to be held as a whole")
        })
    }

    /// None where all rows are one partition.
    fn keys_of(&self, computed: &RecordBatch) -> Result<Option<Rows>, TaskError> {
        match self.split {
            0 => Ok(None),
            split => Ok(Some(self.partition_keys.encode(&computed.columns()[..split])?)),
        }
    }

    fn hold(&mut self, rows: &RecordBatch, computed: &RecordBatch, start: usize, end: usize) {
        if start < end {
            let (rows, computed) =
                (rows.slice(start, end - start), computed.slice(start, end - start));
            self.held.push(Held { rows, computed });
        }
    }

    /// Computes the functions over the partition at hand.
    fn close(&mut self) -> Result<(), TaskError> {
        let held = std::mem::take(&mut self.held);
        let Some(first) = held.first() else { return Ok(()) };
        let rows = concat_batches(&first.rows.schema(), held.iter().map(|held| &held.rows))?;
        let computed = concat_batches(&self.computed, held.iter().map(|held| &held.computed))?;
        drop(held);
        let partition = Partition::new(
            &computed,
            self.split..self.order_end,
            &self.order_keys,
            &self.spec.order,
        )?;
        let mut columns = rows.columns().to_vec();
        for call in &self.spec.functions {
            columns.push(partition.compute(call)?);
        }
        let whole = batch_of(&self.schema, columns, rows.num_rows())?;
        for start in (0..whole.num_rows()).step_by(BATCH_ROWS) {
            let count = BATCH_ROWS.min(whole.num_rows() - start);
            self.ready.push_back(whole.slice(start, count));
        }
        Ok(())
    }
}

impl BatchStream for WindowStream {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if self.ended {
                return Ok(None);
            }
            match self.input.next()? {
                Some(batch) => self.push(&batch)?,
                None => {
                    self.ended = true;
                    self.close()?;
                }
            }
        }
    }
}

/// One window partition.
struct Partition<'a> {
    computed: &'a RecordBatch,
    peers: Peers,
    /// The one order key, for frames by value.
    order_key: Option<(ArrayRef, SortOption)>,
}

impl<'a> Partition<'a> {
    fn new(
        computed: &'a RecordBatch,
        order: std::ops::Range<usize>,
        keys: &SortKeys,
        options: &[SortOption],
    ) -> Result<Self, TaskError> {
        let columns = &computed.columns()[order];
        let peers = match columns.is_empty() {
            true => Peers::all_equal(computed.num_rows()),
            false => Peers::of_keys(&keys.encode(columns)?),
        };
        let order_key = match (columns, options) {
            ([key], [option]) => Some((Arc::clone(key), *option)),
            _ => None,
        };
        Ok(Self { computed, peers, order_key })
    }

    fn compute(&self, call: &WindowCall) -> Result<ArrayRef, TaskError> {
        let args: Vec<ArrayRef> =
            call.args.iter().map(|arg| Arc::clone(self.computed.column(*arg as usize))).collect();
        match call.function {
            WindowFn::RowNumber
            | WindowFn::Rank
            | WindowFn::DenseRank
            | WindowFn::PercentRank
            | WindowFn::CumeDist
            | WindowFn::Ntile => rank::compute(call.function, &args, &self.peers),
            WindowFn::Lag | WindowFn::Lead => value::shifted(call, &args),
            WindowFn::FirstValue | WindowFn::LastValue | WindowFn::NthValue => {
                value::picked(call, &args, &self.frames(call)?)
            }
            WindowFn::Aggregate(function) => {
                aggregate::compute(function, call, &args, &self.frames(call)?)
            }
        }
    }

    fn frames(&self, call: &WindowCall) -> Result<Frames, TaskError> {
        let key = self.order_key.as_ref().map(|(key, option)| (key, *option));
        frame::frames(&call.frame, &self.peers, key)
    }
}
