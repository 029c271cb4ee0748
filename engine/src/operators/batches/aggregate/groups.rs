//! Groups in memory.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter;
use millstream_planner::physical::AggregateMode;

use super::super::SpillWriter;
use super::super::keys::{ABSENT, KeyTable, RADIX, RadixOrder};
use super::accumulator::Accumulator;
use super::make::accumulator;
use super::output::Room;
use super::part::{Of, Part, Shape};
use crate::eval::EvalError;
use crate::executor::TaskError;

/// Groups, and what aggregates keep of them.
pub(super) struct Groups {
    shape: Rc<Shape>,
    /// `None` if there are no keys: all rows are one group, even if there are none.
    table: Option<KeyTable>,
    accumulators: Vec<Box<dyn Accumulator>>,
    numbers: Vec<u32>,
}

impl Groups {
    pub(super) fn new(shape: &Rc<Shape>) -> Result<Self, EvalError> {
        let table = (shape.keys > 0).then(|| KeyTable::new(&shape.form));
        let accumulators = shape.calls.iter().map(accumulator).collect::<Result<_, _>>()?;
        let mut groups = Self { shape: Rc::clone(shape), table, accumulators, numbers: Vec::new() };
        groups.resize();
        Ok(groups)
    }

    pub(super) fn len(&self) -> usize {
        self.table.as_ref().map_or(1, KeyTable::len)
    }

    pub(super) fn bytes(&self) -> usize {
        let accumulators = self.accumulators.iter().map(|accumulator| accumulator.bytes());
        self.table.as_ref().map_or(0, KeyTable::bytes) + accumulators.sum::<usize>()
    }

    /// Bytes that so many more rows may make it allocate for a while: all grows at about the same time.
    pub(super) fn growth(&self, rows: usize) -> usize {
        match self.table.as_ref().map_or(0, |table| table.growth(rows)) {
            0 => 0,
            table => {
                let accumulators = self.accumulators.iter().map(|accumulator| accumulator.bytes());
                table + accumulators.sum::<usize>()
            }
        }
    }

    /// How many values are kept of each of some groups.
    pub(super) fn weights<'a>(
        &'a self,
        numbers: &'a [u32],
    ) -> impl Iterator<Item = usize> + use<'a> {
        let kept = self.accumulators.iter().filter_map(|accumulator| accumulator.weights());
        let kept: Vec<&[u32]> = kept.collect();
        numbers.iter().map(move |number| {
            kept.iter().map(|lengths| lengths[*number as usize] as usize).sum::<usize>()
        })
    }

    /// Adds rows.
    pub(super) fn add(&mut self, part: &Part) -> Result<(), EvalError> {
        let mut numbers = std::mem::take(&mut self.numbers);
        match &mut self.table {
            Some(table) => table.intern(&part.keys, &part.hashes, &mut numbers)?,
            None => {
                numbers.clear();
                numbers.resize(part.rows, 0);
            }
        }
        self.resize();
        self.feed(&part.of, &numbers)?;
        self.numbers = numbers;
        Ok(())
    }

    /// Adds the rows of groups that are there. Which others there are is the result.
    pub(super) fn add_known(&mut self, part: &Part) -> Result<BooleanArray, EvalError> {
        let mut numbers = std::mem::take(&mut self.numbers);
        if let Some(table) = &self.table {
            table.find(&part.keys, &part.hashes, &mut numbers);
        }
        let known = numbers.iter().map(|number| *number != ABSENT);
        let known = BooleanArray::new(BooleanBuffer::from_iter(known), None);
        self.feed(&part.of.filter(&known)?, filter_numbers(&numbers, &known)?.values())?;
        self.numbers = numbers;
        Ok(arrow::compute::not(&known)?)
    }

    fn resize(&mut self) {
        let len = self.len();
        self.accumulators.iter_mut().for_each(|accumulator| accumulator.resize(len));
    }

    fn feed(&mut self, of: &Of, numbers: &[u32]) -> Result<(), EvalError> {
        match of {
            Of::Rows(inputs) => {
                for (accumulator, (args, kept)) in self.accumulators.iter_mut().zip(inputs) {
                    match kept {
                        None => accumulator.update(numbers, args)?,
                        Some(kept) => {
                            let args = args.iter().map(|arg| filter(arg, kept));
                            let args = args.collect::<Result<Vec<ArrayRef>, _>>()?;
                            let numbers = filter_numbers(numbers, kept)?;
                            accumulator.update(numbers.values(), &args)?;
                        }
                    }
                }
            }
            Of::States(states) => {
                for (accumulator, states) in self.accumulators.iter_mut().zip(states) {
                    accumulator.merge(numbers, states)?;
                }
            }
        }
        Ok(())
    }

    /// The numbers of all groups, ordered by partition.
    pub(super) fn by_partition(&self) -> RadixOrder {
        match &self.table {
            Some(table) => table.by_partition(),
            None => RadixOrder::of_one(),
        }
    }

    /// Some groups as they are given.
    pub(super) fn give(&mut self, numbers: &[u32]) -> Result<RecordBatch, EvalError> {
        let keys = self.keys(numbers)?;
        let values = match self.shape.mode {
            AggregateMode::Partial => self.states(numbers)?.into_iter().flatten().collect(),
            AggregateMode::Final | AggregateMode::Single => {
                let all = self.accumulators.iter_mut();
                all.map(|accumulator| accumulator.finish(numbers)).collect::<Result<_, _>>()?
            }
        };
        self.shape.to_give(keys, values, numbers.len())
    }

    /// Spills all groups, each to its partition.
    pub(super) fn spill(mut self, to: &mut SpillWriter) -> Result<(), TaskError> {
        let order = self.by_partition();
        to.begin_run();
        for partition in 0..RADIX {
            let mut rest = order.partition(partition);
            while !rest.is_empty() {
                let (taken, _) = Room::of_batch().take(self.weights(rest));
                let numbers;
                (numbers, rest) = rest.split_at(taken);
                let (keys, states) = (self.keys(numbers)?, self.states(numbers)?);
                let batch = self.shape.to_spill(keys, states, numbers.len())?;
                to.write(partition as u32, batch)?;
            }
        }
        Ok(())
    }

    /// The keys of some groups, in their form.
    pub(super) fn keys(&self, numbers: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(self.table.as_ref().map_or(Ok(vec![]), |table| table.keys(numbers))?)
    }

    fn states(&mut self, numbers: &[u32]) -> Result<Vec<Vec<ArrayRef>>, EvalError> {
        self.accumulators.iter_mut().map(|accumulator| accumulator.states(numbers)).collect()
    }

    /// The states of rows that are each a group of its own, as they are given.
    pub(super) fn give_each(shape: &Rc<Shape>, part: &Part) -> Result<RecordBatch, EvalError> {
        let numbers: Vec<u32> = (0..part.rows as u32).collect();
        let accumulators = shape.calls.iter().map(accumulator).collect::<Result<_, _>>()?;
        let mut each =
            Self { shape: Rc::clone(shape), table: None, accumulators, numbers: Vec::new() };
        each.accumulators.iter_mut().for_each(|accumulator| accumulator.resize(part.rows));
        each.feed(&part.of, &numbers)?;
        let states = each.states(&numbers)?.into_iter().flatten().collect();
        shape.to_give(part.keys.clone(), states, part.rows)
    }
}

fn filter_numbers(numbers: &[u32], kept: &BooleanArray) -> Result<UInt32Array, EvalError> {
    let numbers: ArrayRef = Arc::new(UInt32Array::from(numbers.to_vec()));
    Ok(filter(&numbers, kept)?.as_primitive().clone())
}
