//! About how many different values there are: within 1.6 % (standard error), and nearly exact for few.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder, Int64Array};
use arrow::datatypes::DataType;

use super::super::keys::{KeyForm, hash_keys};
use super::accumulator::Accumulator;
use super::hll::{REGISTERS, estimate, place};
use crate::eval::EvalError;

/// Registers that are kept as a list.
const FEW: usize = 512;

/// The ranks of registers: few with their registers, in the order of these, or all.
enum Sketch {
    Few(Vec<(u16, u8)>),
    All(Box<[u8; REGISTERS]>),
}

impl Sketch {
    fn raise(&mut self, register: u16, rank: u8) {
        match self {
            Self::All(ranks) => {
                let known = &mut ranks[usize::from(register)];
                *known = rank.max(*known);
            }
            Self::Few(known) => match known.binary_search_by_key(&register, |known| known.0) {
                Ok(at) => known[at].1 = rank.max(known[at].1),
                Err(at) if known.len() < FEW => known.insert(at, (register, rank)),
                Err(_) => {
                    let mut ranks = Box::new([0; REGISTERS]);
                    known.iter().for_each(|(register, rank)| ranks[usize::from(*register)] = *rank);
                    *self = Self::All(ranks);
                    self.raise(register, rank);
                }
            },
        }
    }

    fn estimate(&self) -> i64 {
        let about = match self {
            Self::Few(known) => estimate(known.iter().map(|known| known.1), REGISTERS),
            Self::All(ranks) => estimate(ranks.iter().copied(), REGISTERS),
        };
        about.round() as i64
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Few(known) => known.capacity() * size_of::<(u16, u8)>(),
            Self::All(_) => REGISTERS,
        }
    }
}

/// Sketches by group.
pub(super) struct ApproxDistinct {
    form: KeyForm,
    sketches: Vec<Sketch>,
    hashes: Vec<u64>,
    held: usize,
}

impl ApproxDistinct {
    pub(super) fn new(data_type: &DataType) -> Result<Self, EvalError> {
        let form = KeyForm::new([data_type])?;
        Ok(Self { form, sketches: Vec::new(), hashes: Vec::new(), held: 0 })
    }

    fn raise(&mut self, group: u32, register: u16, rank: u8) {
        let sketch = &mut self.sketches[group as usize];
        let before = sketch.bytes();
        sketch.raise(register, rank);
        self.held = self.held + sketch.bytes() - before;
    }
}

impl Accumulator for ApproxDistinct {
    fn resize(&mut self, groups: usize) {
        self.sketches.resize_with(groups, || Sketch::Few(Vec::new()));
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        let values = self.form.normal(args)?;
        let mut hashes = std::mem::take(&mut self.hashes);
        hash_keys(&values, groups.len(), &mut hashes);
        let nulls = args[0].logical_nulls();
        for (row, (group, hash)) in groups.iter().zip(&hashes).enumerate() {
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                let (register, rank) = place(*hash);
                self.raise(*group, register, rank);
            }
        }
        self.hashes = hashes;
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        for (group, state) in groups.iter().zip(states[0].as_binary::<i32>()) {
            let state = state.unwrap_or_default();
            if state.len() == REGISTERS {
                for (register, rank) in state.iter().enumerate() {
                    self.raise(*group, register as u16, *rank);
                }
                continue;
            }
            for [low, high, rank] in state.as_chunks::<3>().0 {
                self.raise(*group, u16::from_le_bytes([*low, *high]), *rank);
            }
        }
        Ok(())
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        let mut states = BinaryBuilder::new();
        for group in groups {
            match &self.sketches[*group as usize] {
                Sketch::All(ranks) => states.append_value(ranks.as_slice()),
                Sketch::Few(known) => {
                    let bytes = known.iter().flat_map(|(register, rank)| {
                        let [low, high] = register.to_le_bytes();
                        [low, high, *rank]
                    });
                    states.append_value(bytes.collect::<Vec<u8>>());
                }
            }
        }
        Ok(vec![Arc::new(states.finish())])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let counts = groups.iter().map(|group| self.sketches[*group as usize].estimate());
        Ok(Arc::new(Int64Array::from_iter_values(counts)))
    }

    fn bytes(&self) -> usize {
        self.held + self.sketches.capacity() * size_of::<Sketch>()
    }
}
