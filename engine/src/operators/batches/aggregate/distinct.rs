//! The different values of each group: as a list, and as the input of another aggregate.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StructArray, UInt32Array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::filter;
use arrow::datatypes::{DataType, UInt32Type};
use millstream_planner::physical::{AggregateCall, set_item};

use super::super::keys::{KeyForm, KeyTable, hash_keys};
use super::accumulator::Accumulator;
use super::lists::{Lists, flatten};
use super::make::accumulator;
use crate::eval::EvalError;

/// The different values, in the order in which they come.
pub(super) struct CollectSet {
    lists: Lists,
    /// Of groups and values.
    form: KeyForm,
    table: KeyTable,
    hashes: Vec<u64>,
    numbers: Vec<u32>,
}

impl CollectSet {
    pub(super) fn new(item: DataType) -> Result<Self, EvalError> {
        let form = KeyForm::new(&[DataType::UInt32, item.clone()])?;
        let table = KeyTable::new(&form);
        let (hashes, numbers) = (Vec::new(), Vec::new());
        Ok(Self { lists: Lists::new(item), form, table, hashes, numbers })
    }

    /// Adds values that are not NULL.
    fn push(&mut self, groups: ArrayRef, values: &ArrayRef) -> Result<(), EvalError> {
        let before = self.table.len();
        let columns = self.form.normal(&[Arc::clone(&groups), Arc::clone(values)])?;
        hash_keys(&columns, values.len(), &mut self.hashes);
        self.table.intern(&columns, &self.hashes, &mut self.numbers)?;
        if self.table.len() == before {
            return Ok(());
        }
        let mut next = before as u32;
        let new = self.numbers.iter().map(|number| {
            let new = *number == next;
            next += u32::from(new);
            new
        });
        let new = BooleanArray::new(BooleanBuffer::from_iter(new), None);
        let (groups, values) = (filter(&groups, &new)?, filter(values, &new)?);
        self.lists.push(groups.as_primitive::<UInt32Type>().values(), &values)
    }
}

impl Accumulator for CollectSet {
    fn resize(&mut self, groups: usize) {
        self.lists.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        let groups: ArrayRef = Arc::new(UInt32Array::from(groups.to_vec()));
        match args[0].logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            None => self.push(groups, &args[0]),
            Some(nulls) => {
                let some = BooleanArray::new(nulls.into_inner(), None);
                self.push(filter(&groups, &some)?, &filter(&args[0], &some)?)
            }
        }
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        let (groups, values) = flatten(groups, &states[0]);
        self.push(Arc::new(UInt32Array::from(groups)), &values)
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        Ok(vec![self.finish(groups)?])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        Ok(Arc::new(self.lists.lists(groups)?))
    }

    fn weights(&self) -> Option<&[u32]> {
        Some(self.lists.lengths())
    }

    fn bytes(&self) -> usize {
        self.lists.bytes() + self.table.bytes()
    }
}

/// Another aggregate, of different values. Rows with a NULL among the arguments are passed over.
pub(super) struct Distinct {
    set: CollectSet,
    item: DataType,
    call: AggregateCall,
}

impl Distinct {
    pub(super) fn new(call: &AggregateCall) -> Result<Self, EvalError> {
        let (item, call) = (set_item(call), AggregateCall { distinct: false, ..call.clone() });
        Ok(Self { set: CollectSet::new(item.clone())?, item, call })
    }
}

impl Accumulator for Distinct {
    fn resize(&mut self, groups: usize) {
        self.set.resize(groups);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        let DataType::Struct(fields) = &self.item else { return self.set.update(groups, args) };
        if args.len() == 1 {
            return self.set.update(groups, args);
        }
        let nulls = args.iter().fold(None, |nulls: Option<NullBuffer>, arg| {
            NullBuffer::union(nulls.as_ref(), arg.logical_nulls().as_ref())
        });
        let rows: ArrayRef = Arc::new(StructArray::try_new(fields.clone(), args.to_vec(), nulls)?);
        self.set.update(groups, &[rows])
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.set.merge(groups, states)
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        self.set.states(groups)
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let places: Vec<u32> = (0..groups.len() as u32).collect();
        let (of, values) = flatten(&places, &self.set.finish(groups)?);
        let mut inner = accumulator(&self.call)?;
        inner.resize(groups.len());
        match self.call.arg_types.len() {
            1 => inner.update(&of, &[values])?,
            _ => inner.update(&of, values.as_struct().columns())?,
        }
        inner.finish(&places)
    }

    fn weights(&self) -> Option<&[u32]> {
        self.set.weights()
    }

    fn bytes(&self) -> usize {
        self.set.bytes()
    }
}
