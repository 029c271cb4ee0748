//! What an aggregation reads and gives, and the rows it reads with keys and arguments evaluated.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use millstream_planner::physical::{Aggregate, AggregateCall, AggregateMode, state_types};

use super::super::batch_of;
use super::super::keys::{KeyForm, hash_keys};
use crate::eval::{EvalError, Evaluator, RowOrigin, truth};
use crate::executor::TaskError;

/// An aggregation, prepared.
pub(super) struct Shape {
    pub(super) mode: AggregateMode,
    pub(super) calls: Vec<AggregateCall>,
    pub(super) form: KeyForm,
    /// How many keys.
    pub(super) keys: usize,
    /// What is given.
    pub(super) schema: SchemaRef,
    /// What is spilled: keys in their form, and states.
    spill_schema: SchemaRef,
    /// How many columns the state of each aggregate has.
    widths: Vec<usize>,
    evaluator: Option<Evaluator>,
}

/// Rows, or states, and the keys of their groups.
pub(super) struct Part {
    pub(super) rows: usize,
    /// In their form.
    pub(super) keys: Vec<ArrayRef>,
    pub(super) hashes: Vec<u64>,
    pub(super) of: Of,
}

/// What the rows of a part are.
pub(super) enum Of {
    /// Arguments and the filter of each aggregate.
    Rows(Vec<(Vec<ArrayRef>, Option<BooleanArray>)>),
    /// State columns of each aggregate.
    States(Vec<Vec<ArrayRef>>),
}

impl Shape {
    pub(super) fn new(
        spec: &Aggregate,
        schema: SchemaRef,
        input: &Schema,
    ) -> Result<Self, TaskError> {
        let keys = spec.keys as usize;
        let types: Vec<DataType> = match spec.mode {
            AggregateMode::Final => {
                input.fields()[..keys].iter().map(|field| field.data_type().clone()).collect()
            }
            _ => {
                let roots = spec.columns.roots[..keys].iter();
                roots.filter_map(|root| Some(spec.columns.get(*root)?.data_type.clone())).collect()
            }
        };
        let form = KeyForm::new(&types).map_err(EvalError::from)?;
        let states: Vec<Vec<Field>> = spec.functions.iter().map(state_types).collect();
        let evaluator = match spec.mode {
            AggregateMode::Final => None,
            _ => Some(Evaluator::new(&spec.columns)?),
        };
        let key = |(at, data_type)| Field::new(format!("key{at}"), data_type, true);
        let spilled: Vec<Field> =
            form.types().enumerate().map(key).chain(states.iter().flatten().cloned()).collect();
        Ok(Self {
            mode: spec.mode,
            calls: spec.functions.clone(),
            keys,
            schema,
            spill_schema: Arc::new(Schema::new(spilled)),
            widths: states.iter().map(Vec::len).collect(),
            evaluator,
            form,
        })
    }

    /// A batch of the input.
    pub(super) fn part(&self, batch: &RecordBatch, at: RowOrigin) -> Result<Part, TaskError> {
        let Some(evaluator) = &self.evaluator else {
            let (keys, states) = batch.columns().split_at(self.keys);
            let keys = self.form.normal(keys).map_err(EvalError::from)?;
            return Ok(Part::new(batch.num_rows(), keys, Of::States(self.by_call(states))));
        };
        let columns = evaluator.columns(batch, at)?;
        let keys = self.form.normal(&columns[..self.keys]).map_err(EvalError::from)?;
        let input = |call: &AggregateCall| {
            let args = call.args.iter().map(|arg| Arc::clone(&columns[*arg as usize])).collect();
            let kept = call.filter.map(|filter| truth(&columns[filter as usize])).transpose()?;
            Ok((args, kept))
        };
        let inputs = self.calls.iter().map(input).collect::<Result<_, EvalError>>()?;
        Ok(Part::new(batch.num_rows(), keys, Of::Rows(inputs)))
    }

    /// States as they have been spilled.
    pub(super) fn spilled_part(&self, batch: &RecordBatch) -> Part {
        let (keys, states) = batch.columns().split_at(self.keys);
        Part::new(batch.num_rows(), keys.to_vec(), Of::States(self.by_call(states)))
    }

    /// States as they are spilled.
    pub(super) fn to_spill(
        &self,
        keys: Vec<ArrayRef>,
        states: Vec<Vec<ArrayRef>>,
        rows: usize,
    ) -> Result<RecordBatch, EvalError> {
        let columns = keys.into_iter().chain(states.into_iter().flatten()).collect();
        Ok(batch_of(&self.spill_schema, columns, rows)?)
    }

    /// Rows as they are given.
    pub(super) fn to_give(
        &self,
        keys: Vec<ArrayRef>,
        values: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch, EvalError> {
        let mut columns = self.form.restore(keys)?;
        columns.extend(values);
        Ok(batch_of(&self.schema, columns, rows)?)
    }

    fn by_call(&self, mut states: &[ArrayRef]) -> Vec<Vec<ArrayRef>> {
        let next = |width: &usize| {
            let (these, rest) = states.split_at(*width);
            states = rest;
            these.to_vec()
        };
        self.widths.iter().map(next).collect()
    }
}

impl Of {
    /// The rows for which `kept` is true.
    pub(super) fn filter(&self, kept: &BooleanArray) -> Result<Self, EvalError> {
        let all = |columns: &[ArrayRef]| {
            columns.iter().map(|column| filter(column, kept)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match self {
            Self::Rows(inputs) => Self::Rows(
                inputs
                    .iter()
                    .map(|(args, more)| {
                        let more = more.as_ref().map(|more| filter(more, kept)).transpose()?;
                        Ok((all(args)?, more.map(|more| more.as_boolean().clone())))
                    })
                    .collect::<Result<_, ArrowError>>()?,
            ),
            Self::States(states) => {
                Self::States(states.iter().map(|state| all(state)).collect::<Result<_, _>>()?)
            }
        })
    }
}

impl Part {
    fn new(rows: usize, keys: Vec<ArrayRef>, of: Of) -> Self {
        let mut hashes = Vec::new();
        hash_keys(&keys, rows, &mut hashes);
        Self { rows, keys, hashes, of }
    }
}
